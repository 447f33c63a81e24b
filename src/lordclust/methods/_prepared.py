"""What the methods share that measure how far Z is from S: the scale of S matters."""

from typing import Any

import numpy as np
from scipy import sparse

from lordclust._core.typing import FloatArray, Graph
from lordclust._core.validation import check_choice
from lordclust.methods._learned import LearnedAffinityClusterer

NORMALIZATIONS = ("sym", "sum")
DIAGONALS = ("auto", "one", "zero")


class PreparedClusterer(LearnedAffinityClusterer):
    """Base: ``normalize`` and ``diagonal`` say which multiple of S Z is near to."""

    normalize: Any
    diagonal: str

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.normalize is not None:
            check_choice(self.normalize, NORMALIZATIONS, "normalize")
        check_choice(self.diagonal, DIAGONALS, "diagonal")

    def _prepare(self, S: Graph) -> FloatArray:
        return prepare(S, self.normalize, self.diagonal)


def prepare(
    S: Graph, normalize: str | None = "sym", diagonal: str = "auto"
) -> FloatArray:
    """Return a dense copy of S with its diagonal replaced, and scaled.

    Parameters
    ----------
    S : ndarray or sparse array, shape (n, n)
        Symmetric and nonnegative.
    normalize : {"sym", "sum"} or None, default="sym"
        "sym": D^-1/2 S D^-1/2. "sum": n S / 1'S1, rows of mean 1. None: as it is.
    diagonal : {"auto", "one", "zero"}, default="auto"
        "one": every sample is as similar to itself as the most similar pair (or 1 if
        no pair is similar). "zero": no self-similarity. "auto": "one" if S is
        normalised, "zero" if not.

    Returns
    -------
    A : ndarray of float64, shape (n, n)
        Exactly symmetric.

    Examples
    --------
    >>> import numpy as np
    >>> prepare(np.array([[0.0, 4.0], [4.0, 0.0]]))
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    A = np.array(S.toarray() if sparse.issparse(S) else S, dtype=np.float64)
    top = float(A.max())
    if normalize is not None and top > 0:
        A /= top  # sums of tiny or huge numbers lose digits, or overflow
        top = 1.0
    if diagonal == "auto":
        diagonal = "zero" if normalize is None else "one"
    np.fill_diagonal(A, (top or 1.0) if diagonal == "one" else 0.0)
    if normalize == "sym":
        degrees = A.sum(axis=1)
        root = 1 / np.sqrt(np.where(degrees > 0, degrees, 1.0))
        A *= np.outer(root, root)
    elif normalize == "sum" and A.any():
        A *= len(A) / A.sum()
    return A
