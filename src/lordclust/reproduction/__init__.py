"""The paper's study: its protocol, its figures, and ours beside them."""
