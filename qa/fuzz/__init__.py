"""Generated inputs by the hundred thousand, each checked; see docs/trust/fuzzing.md."""
