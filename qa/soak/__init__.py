"""Hours of mixed work in one process, to see whether memory stays flat."""
