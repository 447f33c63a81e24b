"""The paper's study made anew: its protocol, its figures, and ours beside them."""

from lordclust.reproduction.reproduce import Reproduction

__all__ = ["Reproduction"]
