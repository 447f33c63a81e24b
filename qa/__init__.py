"""Quality assurance: what is run besides the tests; not part of the wheel."""
