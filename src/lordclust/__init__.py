"""Graph-based clustering with honest probabilities and the proportions you ask for."""

from lordclust._version import __version__

__all__ = ["__version__"]
