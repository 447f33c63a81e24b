"""The paper's study, repeated: its protocol, its numbers, and ours next to them."""
