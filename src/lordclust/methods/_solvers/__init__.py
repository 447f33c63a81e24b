"""Solvers that only baselines use."""
