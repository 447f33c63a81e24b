"""Faults on purpose: kills, Ctrl-C, full disks. See ``python -m qa.faults --help``."""
