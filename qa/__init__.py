"""Fuzzing, fault injection, soak test, and checks of the packages we build."""
