"""Injected faults: kills, Ctrl-C, full disks. See ``python -m qa.faults --help``."""
