"""Checks of what users pass: each refusal is one clear sentence.

The bottom layer: every room may use it, and it uses none of them.
"""

import difflib
import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from lordclust._typing import FloatArray, Graph

#: Asymmetry relative to max|S| that counts as rounding, and is averaged away.
SYMMETRY_TOL = 1e-8
#: Largest distance of sum(proportions) from 1 that counts as rounding.
SUM_TOL = 1e-6

_BLOCK_ROWS = 256


def check_similarity(
    S: Any, *, name: str = "S", nonnegative: bool | str = False
) -> Graph:
    """Return S as a symmetric floating-point array or canonical CSR array.

    Parameters
    ----------
    S : array-like or sparse, shape (n, n)
        Numbers of any real type; any scipy sparse matrix or array.
    name : str, default="S"
        What to call S in messages.
    nonnegative : bool or str, default=False
        Refuse negative entries. A string says who needs this, such as
        ``"SymNMF"``, and goes into the message.

    Returns
    -------
    S : ndarray or scipy.sparse.csr_array, shape (n, n)
        float32 stays float32, everything else becomes float64. A dense S is
        C-contiguous; a sparse one has sorted indices without duplicates, of int32
        where they fit. The input is never changed, and copied only when needed.

    Notes
    -----
    Asymmetry up to 1e-8 max|S| (8 units of rounding in float32) is averaged away.

    Examples
    --------
    >>> check_similarity([[0, 1], [1, 0]])
    array([[0., 1.],
           [1., 0.]])
    """
    S = S if sparse.issparse(S) else _to_array(S, name)
    _check_square(S.shape, name)
    S = _to_csr(S, name) if sparse.issparse(S) else _to_dense(S, name)
    values = S.data if sparse.issparse(S) else S
    _check_finite(values, name)
    if nonnegative:
        _check_nonnegative(values, name, nonnegative)
    return _to_symmetric(S, name)


def check_proportions(proportions: Any, n_clusters: int) -> FloatArray:
    """Return the shares of the clusters: positive, summing to exactly one.

    Parameters
    ----------
    proportions : array-like, shape (n_clusters,), or None
        None stands for equal shares.
    n_clusters : int
        Length that proportions must have.

    Returns
    -------
    proportions : ndarray of float64, shape (n_clusters,)

    Examples
    --------
    >>> check_proportions(None, 4)
    array([0.25, 0.25, 0.25, 0.25])
    """
    if proportions is None:
        return np.full(n_clusters, 1.0 / n_clusters)
    shares = _to_vector(proportions, n_clusters, "proportions", "n_clusters")
    if shares.min() <= 0:
        where = int(np.argmin(shares))
        raise ValueError(
            f"proportions must be positive, but they contain {shares[where]:g} at "
            f"position {where}. Lower n_clusters to leave out an empty cluster."
        )
    total = shares.sum()
    if abs(total - 1.0) > SUM_TOL:
        raise ValueError(
            f"proportions must sum to 1, got a sum of {total:.6g}. "
            "Divide them by their sum."
        )
    return np.asarray(shares / total)


def check_n_clusters(n_clusters: Any, n_samples: int) -> int:
    """Return n_clusters as an int from 1 to n_samples.

    Examples
    --------
    >>> check_n_clusters(3, n_samples=10)
    3
    """
    if not _is_integer(n_clusters):
        raise TypeError(
            f"n_clusters must be an integer from 1 to n_samples={n_samples}, "
            f"got {n_clusters!r}. Pass a whole number of clusters."
        )
    if not 1 <= n_clusters <= n_samples:
        raise ValueError(
            f"n_clusters must be an integer from 1 to n_samples={n_samples}, "
            f"got {n_clusters}. Ask for fewer clusters or give more samples."
        )
    return int(n_clusters)


def check_tau(tau: Any) -> float:
    """Return tau as a float in [0, 1].

    Examples
    --------
    >>> check_tau(1)
    1.0
    """
    if isinstance(tau, bool | np.bool_) or not isinstance(tau, numbers.Real):
        raise TypeError(
            f"tau must be a number in [0, 1], got {tau!r}. "
            "0 is softest, 1 is hardest; try 0.4."
        )
    if not 0.0 <= float(tau) <= 1.0:
        raise ValueError(
            f"tau must be a number in [0, 1], got {tau}. "
            "0 is softest, 1 is hardest; try 0.4."
        )
    return float(tau)


def check_weights(sample_weight: Any, n: int) -> FloatArray | None:
    """Return p = w / sum(w), or None for equal weights.

    Parameters
    ----------
    sample_weight : array-like, shape (n,), or None
        Nonnegative weights w.
    n : int
        Number of samples.

    Returns
    -------
    p : ndarray of float64, shape (n,), or None

    Examples
    --------
    >>> check_weights([1, 3], n=2)
    array([0.25, 0.75])
    """
    if sample_weight is None:
        return None
    w = _to_vector(sample_weight, n, "sample_weight", "n_samples")
    if w.min() < 0:
        raise ValueError(
            f"sample_weight must be nonnegative, got {w.min():g} at position "
            f"{int(np.argmin(w))}. Use 0 to leave a sample out."
        )
    if w.max() == 0:
        raise ValueError(
            "sample_weight must have a positive sum, got only zeros. "
            "Give at least one sample a positive weight, or pass None."
        )
    w = w / w.max()  # the sum of huge weights would overflow
    return np.asarray(w / w.sum())


def check_count(value: Any, name: str) -> int:
    """Return value as a positive int.

    Examples
    --------
    >>> check_count(7, "scale_neighbor")
    7
    """
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or value < 1:
        raise ValueError(
            f"{name} must be a positive integer, got {value!r}. Pass 1 or more."
        )
    return int(value)


def check_dense_size(n: int, max_dense: Any, who: str) -> None:
    """Refuse n samples for a method that holds n x n matrices, if n > max_dense.

    Examples
    --------
    >>> check_dense_size(100, 5000, "SDP")
    """
    if n > check_count(max_dense, "max_dense"):
        raise ValueError(
            f"{who} holds n x n matrices ({8e-9 * n * n:.1f} GB each for {n} samples) "
            f"and takes at most max_dense={max_dense} samples, got {n}. Raise "
            "max_dense if they fit in memory, cluster a part of the samples, or use "
            "a method for large graphs such as BLoRD."
        )


def check_positive(value: Any, name: str) -> float:
    """Return a finite number above 0."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number above 0, got {value!r}.")
    if not 0 < float(value) < float("inf"):
        raise ValueError(f"{name} must be a finite number above 0, got {value!r}.")
    return float(value)


def check_nonnegative(value: Any, name: str) -> float:
    """Return a finite number of 0 or more."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number of 0 or more, got {value!r}.")
    if not 0 <= float(value) < float("inf"):
        raise ValueError(f"{name} must be a finite number of 0 or more, got {value!r}.")
    return float(value)


def check_choice(value: Any, known: Iterable[str], name: str) -> str:
    """Return one of the known words."""
    if not isinstance(value, str) or value not in known:
        raise unknown_name(name, value, known)
    return value


def missing_extra(package: str, extra: str) -> ImportError:
    """Return the error that says how to install an optional package.

    Examples
    --------
    >>> print(missing_extra("matplotlib", "plot"))
    matplotlib is not installed. Run: pip install "lordclust[plot]"
    """
    return ImportError(
        f'{package} is not installed. Run: pip install "lordclust[{extra}]"'
    )


def unknown_name(kind: str, name: object, known: Iterable[str]) -> ValueError:
    """Return the error for a name that is not in a table of choices.

    Examples
    --------
    >>> print(unknown_name("affinity", "kn", ["knn", "precomputed"]))
    Unknown affinity 'kn'. Did you mean 'knn'? Known: knn, precomputed.
    """
    known = list(known)
    close = difflib.get_close_matches(str(name).lower(), known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return ValueError(f"Unknown {kind} {name!r}.{hint} Known: {', '.join(known)}.")


def _is_integer(value: Any) -> bool:
    """Tell whether value is a whole number type; True and False are not."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _to_array(values: Any, name: str) -> Any:
    """Return values as an ndarray, whatever its type."""
    try:
        return np.asarray(values)
    except ValueError:
        raise ValueError(
            f"{name} must be an array of numbers, got rows of different lengths. "
            "Give every row the same length."
        ) from None


def _to_vector(values: Any, length: int, name: str, owner: str) -> FloatArray:
    """Return values as finite float64 of shape (length,)."""
    v = _to_array(values, name)
    if v.shape != (length,):
        raise ValueError(
            f"{name} must hold {owner}={length} numbers, got shape {v.shape}. "
            "Pass one number for each."
        )
    v = np.asarray(_to_float(v, name), dtype=np.float64)
    _check_finite(v, name)
    return np.asarray(v)


def _to_float(values: Any, name: str) -> Any:
    """Return an array or sparse array of numbers in float32 or float64."""
    kind = values.dtype.kind
    if kind == "c":
        raise ValueError(
            f"Complex data not supported: {name} must be real, got {values.dtype}. "
            "Pass its real part or its absolute value."
        )
    if kind == "O":
        return _object_to_float(values, name)
    if kind not in "biuf":
        raise _not_numbers(name, values.dtype)
    small = values.dtype in (np.float32, np.float16)
    return values.astype(np.float32 if small else np.float64, copy=False)


def _object_to_float(values: Any, name: str) -> Any:
    """Return float64 numbers from an object array; strings are no numbers."""
    items = values.data if sparse.issparse(values) else values
    text = next((v for v in np.ravel(items) if isinstance(v, str | bytes)), None)
    if text is not None:
        raise _not_numbers(name, f"the text {text!r}")
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        raise _not_numbers(name, "other objects") from None


def _not_numbers(name: str, got: object) -> ValueError:
    """Return the error for entries that are not numbers."""
    return ValueError(
        f"{name} must hold real numbers, got {got}. Convert it with "
        f"numpy.asarray({name}, dtype=float)."
    )


def _check_square(shape: tuple[int, ...], name: str) -> None:
    """Refuse what is not a square matrix with at least one row."""
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(
            f"{name} must be a square matrix, got shape {shape}. Pass similarities "
            'of all samples with all, or pass X with affinity="knn".'
        )
    if shape[0] == 0:
        raise ValueError(f"{name} must not be empty, got shape {shape}. Pass samples.")


def _check_finite(values: FloatArray, name: str) -> None:
    """Refuse NaN and infinite numbers."""
    bad = values.size - int(np.count_nonzero(np.isfinite(values)))
    if bad:
        raise ValueError(
            f"{name} must be finite, but it contains NaN or infinity in {bad} of "
            f"{values.size} entries. Replace or remove them."
        )


def _check_nonnegative(values: FloatArray, name: str, who: bool | str) -> None:
    """Refuse negative entries, naming who needs that."""
    if values.size and values.min() < 0:
        reason = f" for {who}" if isinstance(who, str) else ""
        raise ValueError(
            f"{name} must be nonnegative{reason}, got a smallest entry of "
            f"{values.min():.2g}. Shift or clip it, or use another affinity."
        )


def _to_dense(S: Any, name: str) -> FloatArray:
    """Return a C-contiguous float array."""
    return np.ascontiguousarray(_to_float(S, name))


def _to_csr(S: Any, name: str) -> Any:
    """Return a canonical CSR array that leaves the memory of S as it was."""
    csr = sparse.csr_array(_to_float(S, name))
    # Indices out of range would crash compiled code that trusts them.
    csr.check_format(full_check=True)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    fits = max(csr.nnz, csr.shape[0]) <= np.iinfo(np.int32).max
    index = np.int32 if fits else np.int64
    csr.indices = csr.indices.astype(index, copy=False)
    csr.indptr = csr.indptr.astype(index, copy=False)
    return csr


def _to_symmetric(S: Any, name: str) -> Any:
    """Return S, or (S + S') / 2 where rounding made it asymmetric."""
    gap, scale = _asymmetry(S)
    rounding = 8.0 * float(np.finfo(S.dtype).eps)
    if gap > max(SYMMETRY_TOL, rounding) * scale:
        raise ValueError(
            f"{name} must be symmetric: max|{name} - {name}.T| = {gap:.1e}. Use "
            f'({name} + {name}.T) / 2, or pass X with affinity="knn".'
        )
    if gap == 0.0:
        return S
    half = S.dtype.type(0.5)
    if sparse.issparse(S):
        return _to_csr(half * S + half * S.T, name)
    return half * S + half * S.T


def _asymmetry(S: Any) -> tuple[float, float]:
    """Return max|S - S'| and max|S|."""
    with np.errstate(over="ignore"):
        if sparse.issparse(S):
            scale = float(np.abs(S.data).max(initial=0.0))
            return float(np.abs((S - S.T).data).max(initial=0.0)), scale
        gap = scale = 0.0
        for start in range(0, len(S), _BLOCK_ROWS):  # no second n x n array
            rows = slice(start, start + _BLOCK_ROWS)
            gap = max(gap, float(np.abs(S[rows] - S[:, rows].T).max()))
            scale = max(scale, float(np.abs(S[rows]).max()))
    return gap, scale
