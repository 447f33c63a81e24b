"""Solvers and base classes that only the baselines use."""
