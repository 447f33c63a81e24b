"""Faults on purpose: kills, Ctrl-C, full disks. See ``python -m faults --help``."""
