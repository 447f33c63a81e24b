"""Hours of mixed tasks in one process, to check that memory does not grow."""
