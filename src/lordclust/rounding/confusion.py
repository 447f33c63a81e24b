"""Pairs of clusters that share samples."""

from itertools import combinations

import numpy as np
from scipy import sparse

from lordclust._core.typing import FloatArray, Graph
from lordclust.result import ConfusablePair


def confusable_pairs(
    P: Graph, weight: FloatArray, n_samples: int = 0
) -> list[ConfusablePair]:
    """Return all pairs of clusters with a common sample, the largest share first.

    Parameters
    ----------
    P : ndarray or csr_array of shape (n, k)
        Memberships.
    weight : ndarray of shape (n,)
        Sample weights.
    n_samples : int, default=0
        Largest number of samples to list for each pair.

    Examples
    --------
    >>> import numpy as np
    >>> P = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    >>> [(pair.a, pair.b, pair.share) for pair in confusable_pairs(P, np.ones(3))]
    [(0, 1, 0.3333333333333333)]
    """
    if sparse.issparse(P):
        return _in_sparse(P, weight, n_samples)
    mass = weight @ P
    columns = np.ascontiguousarray(P.T)
    pairs = []
    for a, b in combinations(range(len(columns)), 2):
        both = np.minimum(columns[a], columns[b])
        shared = float(weight @ both)
        if shared > 0:
            samples = np.flatnonzero(both) if n_samples else np.empty(0, np.intp)
            order = np.argsort(-both[samples], kind="stable")
            share = float(min(1.0, shared / min(mass[a], mass[b])))
            pairs.append(ConfusablePair(a, b, share, samples[order[:n_samples]]))
    return sorted(pairs, key=lambda pair: -pair.share)


def _in_sparse(P: Graph, weight: FloatArray, n_samples: int) -> list[ConfusablePair]:
    """Return the same for a sparse P, from the pairs of entries in its rows."""
    k, mass = P.shape[1], weight @ P
    counts = np.diff(P.indptr)
    keys, samples, least = [], [], []
    row = np.repeat(np.arange(len(counts)), counts)
    for gap in range(1, int(counts.max())):  # entries and those ``gap`` behind them
        first = np.arange(P.nnz - gap)
        first = first[row[first] == row[first + gap]]
        keys.append(P.indices[first].astype(np.int64) * k + P.indices[first + gap])
        samples.append(row[first])
        least.append(np.minimum(P.data[first], P.data[first + gap]))
    key = np.concatenate([*keys, np.empty(0, np.int64)])
    if not len(key):
        return []
    sample, both = np.concatenate(samples), np.concatenate(least)
    order = np.lexsort((sample, -both, key))
    key, sample, both = key[order], sample[order], both[order]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    shared = np.add.reduceat(weight[sample] * both, starts)
    pairs = []
    for at, total in zip(starts, shared, strict=True):
        a, b = divmod(int(key[at]), k)
        end = at + n_samples
        named = sample[at:end][key[at:end] == key[at]]
        share = float(min(1.0, total / min(mass[a], mass[b])))
        pairs.append(ConfusablePair(a, b, share, named))
    return sorted(pairs, key=lambda pair: -pair.share)
