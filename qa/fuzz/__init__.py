"""Hundreds of thousands of generated inputs; see docs/trust/fuzzing.md."""
