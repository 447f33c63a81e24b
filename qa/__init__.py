"""Fuzzing, fault injection, soak test, checks of the wheel; not part of the wheel."""
