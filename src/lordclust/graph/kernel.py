"""Full kernels, and the self-tuning weights that neighbour graphs use too."""

import numbers

import numpy as np
from scipy import sparse

from lordclust._core.memory import check_dense_memory
from lordclust._core.typing import FloatArray, Samples
from lordclust._core.validation import check_count

#: Local scales are at least this fraction of their median.
SCALE_FLOOR = 1e-3
#: Squared distances below this fraction of the squared norms are rounding error.
ROUNDING = 8.0 * float(np.finfo(np.float64).eps)


def linear_kernel(X: Samples) -> FloatArray:
    """Return S = X X', the inner products of all samples.

    Parameters
    ----------
    X : array-like or sparse, shape (n, d)
        One sample per row.

    Returns
    -------
    S : ndarray of float64, shape (n, n)
        Exactly symmetric; may hold negative numbers.

    Raises
    ------
    ValueError
        If a product overflows.

    Examples
    --------
    >>> linear_kernel([[1, 0], [1, 2]])
    array([[1., 1.],
           [1., 5.]])
    """
    X = check_samples(X)
    with np.errstate(over="ignore", invalid="ignore"):
        S = _gram(X)
    if not np.all(np.isfinite(S)):
        raise ValueError(
            "The inner products of the samples in X overflow. "
            "Divide X by its largest entry."
        )
    return S


def gaussian_kernel(X: Samples, bandwidth: float | None = None) -> FloatArray:
    """Return S_ij = exp(-||x_i - x_j||^2 / (2 bandwidth^2)) for all samples.

    Parameters
    ----------
    X : array-like or sparse, shape (n, d)
        One sample per row.
    bandwidth : float, optional
        In units of X. By default the median of the positive distances.

    Returns
    -------
    S : ndarray of float64, shape (n, n)
        Exactly symmetric, diagonal 1.

    Examples
    --------
    >>> gaussian_kernel([[0.0], [1.0]], bandwidth=1.0).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """
    X = check_samples(X)
    unit = unit_scale(X)
    D2 = _squared_distances(X, unit)
    if bandwidth is None:
        width = _median_distance(D2)
    elif isinstance(bandwidth, numbers.Real) and 0 < bandwidth < np.inf:
        width = unit * float(bandwidth)
    else:
        raise ValueError(
            f"bandwidth must be a positive number, got {bandwidth!r}. "
            "Pass None for the median distance."
        )
    width = max(width, np.finfo(np.float64).tiny)  # a product may underflow
    with np.errstate(over="ignore", divide="ignore", under="ignore"):
        S: FloatArray = np.exp(-0.5 * (np.sqrt(D2) / width) ** 2)
    return S


def self_tuning_kernel(X: Samples, scale_neighbor: int = 7) -> FloatArray:
    """Return S_ij = exp(-||x_i - x_j||^2 / (sigma_i sigma_j)) for all samples.

    sigma_i is the distance from x_i to its 7th neighbour, itself not counted [1]_.

    Parameters
    ----------
    X : array-like or sparse, shape (n, d)
        One sample per row.
    scale_neighbor : int, default=7
        The neighbour that sets the local scale; the last one if there are fewer.

    Returns
    -------
    S : ndarray of float64, shape (n, n)
        Exactly symmetric, diagonal 1.

    References
    ----------
    .. [1] Zelnik-Manor and Perona, "Self-tuning spectral clustering", 2004.

    Examples
    --------
    >>> self_tuning_kernel([[0.0], [1.0]]).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """
    X = check_samples(X, distinct=True)
    D = np.sqrt(_squared_distances(X, unit_scale(X)))
    nth = min(check_count(scale_neighbor, "scale_neighbor"), len(D) - 1)
    # Position 0 of a sorted row is a zero: the point itself or a copy of it.
    sigma = np.partition(D, nth, axis=1)[:, nth]
    sigma = local_scales(sigma, typical_scale(sigma, D))
    return self_tuning_weights(D, sigma[:, None], sigma[None, :])


def self_tuning_weights(
    d: FloatArray, sigma_i: FloatArray, sigma_j: FloatArray
) -> FloatArray:
    """Return exp(-d^2 / (sigma_i sigma_j)) without overflow or underflow of d^2."""
    # The factors commute, so that w_ij and w_ji are equal bit for bit.
    with np.errstate(over="ignore", under="ignore"):
        weights: FloatArray = np.exp(-((d / sigma_i) * (d / sigma_j)))
    return weights


def local_scales(sigma: FloatArray, typical: float | None) -> FloatArray:
    """Return the local scales of samples, given those of their distances.

    A sample with seven copies has sigma = 0, which says nothing about how far its other
    neighbours are: it gets the typical scale, as a small one would cut it off from all
    of them. Other scales are at least 1e-3 of that. ``typical`` is that of
    :func:`typical_scale`.
    """
    if typical is None:  # only copies among the neighbours: all weights are 1
        return np.ones_like(sigma)
    floor = max(SCALE_FLOOR * typical, np.nextafter(0.0, 1.0))
    return np.where(sigma > 0, np.maximum(sigma, floor), typical)


def typical_scale(sigma: FloatArray, distances: FloatArray) -> float | None:
    """Return the median positive scale, or distance, or None if all are 0."""
    for lengths in (sigma, distances):
        positive = lengths[lengths > 0]
        if positive.size:
            # Half of each: the sum of the two in the middle might overflow.
            typical = 2 * float(np.median(positive / 2)) or float(positive.min())
            return min(typical, float(np.finfo(np.float64).max))
    return None


def check_samples(
    X: Samples, *, distinct: bool = False, missing: bool = False
) -> Samples:
    """Return X as a finite (n, d) array or CSR array of real numbers.

    With ``distinct``, X must have two different samples, to define a scale. With
    ``missing``, entries may be NaN, but not all of a sample.
    Small integers keep their type, because distances convert them anyway.
    """
    from sklearn.utils import check_array

    with np.errstate(invalid="ignore"):  # check_array sums all numbers
        X = check_array(
            X, accept_sparse=False if missing else "csr", dtype="numeric", order="C",
            ensure_all_finite="allow-nan" if missing else True,
        )  # fmt: skip
    if missing and np.isnan(X).all(axis=1).any():
        empty = int(np.isnan(X).all(axis=1).argmax())
        raise ValueError(
            f"Each sample needs an observed feature, but sample {empty} has only "
            "NaN. Remove such samples."
        )
    if X.dtype.kind == "b" or X.dtype == np.float16:
        X = X.astype(np.float32)
    X = sparse.csr_array(X) if sparse.issparse(X) else X
    if not distinct:
        return X
    if X.shape[0] < 2:
        raise ValueError(
            "X must hold at least 2 samples, got 1. Pass one sample per row."
        )
    low, high = X.min(axis=0), X.max(axis=0)
    if sparse.issparse(low):
        low, high = low.toarray(), high.toarray()
    if np.array_equal(low, high):
        raise ValueError(
            f"X must hold at least two different samples, but all {X.shape[0]} rows "
            "are equal. Remove constant data or pass a precomputed similarity."
        )
    return X


def unit_scale(X: Samples) -> float:
    """Return the power of two that brings the largest |X_ij| into [1/2, 1).

    A power of two causes no rounding, so weights do not depend on the unit of X.
    """
    values = X.data if sparse.issparse(X) else X
    largest = max(float(values.max(initial=0)), -float(values.min(initial=0)))
    if np.isnan(largest):
        largest = float(np.nanmax(np.abs(values)))
    exponent = int(np.frexp(largest)[1])
    # 2**1023 is the largest power of two; subnormal data stay small then.
    return float(np.ldexp(1.0, min(-exponent, 1023)))


def _median_distance(D2: FloatArray) -> float:
    """Return the median of the positive distances."""
    positive = D2[D2 > 0]  # every pair twice: the same median
    if positive.size == 0:
        raise ValueError(
            "bandwidth=None uses the median positive distance, but all samples in X "
            "are equal. Pass a positive bandwidth."
        )
    return float(np.median(np.sqrt(positive)))


def _gram(X: Samples) -> FloatArray:
    """Return X X' in float64, exactly symmetric."""
    check_dense_memory(X.shape[0], "A full kernel")
    X = X.astype(np.float64)
    G = (X @ X.T).toarray() if sparse.issparse(X) else X @ X.T
    # BLAS may sum the two triangles in different orders.
    symmetric: FloatArray = np.maximum(G, G.T)
    return symmetric


def _squared_distances(X: Samples, unit: float) -> FloatArray:
    """Return the squared distances of unit * X, exactly symmetric."""
    X = X.astype(np.float64) * unit
    if not sparse.issparse(X):
        X = X - X.mean(axis=0)  # a distant origin would lose precision
    G = _gram(X)
    norms = np.diag(G)
    total = norms[:, None] + norms[None, :]
    D2 = total - 2.0 * G
    D2[ROUNDING * total >= D2] = 0.0  # copies of a point differ only by rounding
    np.fill_diagonal(D2, 0.0)
    return D2
