"""Columns of few categories that tell nothing about the other columns.

Samples of different categories are far apart, whatever their other values. A column
that depends on no other one therefore splits each cluster into one part per category:
five kinds of customers and a random yes or no are ten clusters.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from scipy.stats import chi2, rankdata

from lordclust._core.typing import BoolArray, FloatArray, IntArray

#: The least number of samples that tell, and the largest number of columns: among
#: many, a single one weighs little.
FEWEST, MOST = 100, 64
#: A column with nearly all samples in one category splits nothing.
RARE = 0.05
#: Share of the variance (of ranks) that categories explain where there is a relation,
#: and the probability of a larger one by chance.
SHARE, CHANCE = 0.02, 0.01


def unrelated(X: FloatArray, columns: Mapping[str, Sequence[int]]) -> list[str]:
    """Return the names of columns of few categories that depend on no other column.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Numbers, and indicators of categories.
    columns : mapping of str to sequence of int
        Where each column of the table is in X: one feature if it has numbers, one per
        category otherwise.

    Examples
    --------
    >>> X = np.array([[i, i >= 50, i % 2] for i in range(100)], dtype=float)
    >>> unrelated(X, {"age": [0], "adult": [1], "even": [2]})
    ['even']
    """
    n, d = X.shape
    if n < FEWEST or not 1 < len(columns) <= MOST:
        return []
    ranks = rankdata(X, axis=0)
    spread = ranks.std(axis=0)
    Z = (ranks - ranks.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    found = []
    for name, codes in _categories(X, columns):
        others = np.setdiff1d(np.arange(d), columns[name])
        if not _related(codes, Z[:, others]).any():
            found.append(name)
    return found


def _categories(
    X: FloatArray, columns: Mapping[str, Sequence[int]]
) -> Iterator[tuple[str, IntArray]]:
    """Yield the columns of categories, and those of numbers with two values."""
    for name, own in columns.items():
        part = X[:, list(own)]
        codes = part.argmax(axis=1) if len(own) > 1 else part[:, 0]
        values, codes = np.unique(codes, return_inverse=True)
        splits = np.bincount(codes).max() <= (1 - RARE) * len(codes)
        if splits and (len(own) > 1 or len(values) == 2):
            yield name, codes


def _related(codes: IntArray, Z: FloatArray) -> BoolArray:
    """Return which standardised columns depend on categories, by Kruskal and Wallis."""
    n, sizes = len(codes), np.bincount(codes)
    means = (codes[:, None] == np.arange(len(sizes))).T @ Z / sizes[:, None]
    explained, free = sizes @ means**2 / n, len(sizes) - 1
    chance = chi2.sf((n - 1) * explained, free)
    sure = chance < CHANCE / max(1, Z.shape[1])
    return np.asarray(sure & (explained - free / (n - 1) > SHARE))
