"""Validation of user input, with error messages that state what to do.

The bottom layer: every package may use it, and it uses none of them.
"""

import difflib
import itertools
import numbers
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt
from numpy.typing import DTypeLike
from scipy import sparse

from lordclust._core.memory import check_dense_memory
from lordclust._core.typing import ArrayLike, FloatArray, Graph, IntArray

#: Asymmetry relative to max|S| that counts as rounding error, and is averaged away.
SYMMETRY_TOL = 1e-8
#: Largest distance of sum(proportions) from 1 that counts as rounding error.
SUM_TOL = 1e-6
#: Margin between squared similarities and the limits of a type's range, for sums.
SPARE_RANGE = 1e-3

_BLOCK_ROWS = 256


def check_similarity(
    S: Graph,
    *,
    name: str = "S",
    nonnegative: bool | str = False,
    any_unit: bool = False,
) -> Graph:
    """Return S as a symmetric floating-point array or canonical CSR array.

    float32 stays float32, everything else becomes float64. A dense S is C-contiguous; a
    sparse one has sorted indices without duplicates, of int32 if they fit. The input is
    never changed, and copied only when needed. Asymmetry up to 1e-8 max|S| (8 units of
    rounding in float32) is averaged away.

    ``name`` is that of S in messages. ``nonnegative`` forbids negative entries, and may
    name the method that needs this. ``any_unit`` accepts numbers of any magnitude, for
    computations without squares.
    """
    S = check_square(S, name)
    values = S.data if sparse.issparse(S) else S
    _check_finite(values, name)
    if not any_unit:
        check_range(values, name, values.dtype)
    if nonnegative and values.size and values.min() < 0:
        reason = f" for {nonnegative}" if isinstance(nonnegative, str) else ""
        raise ValueError(
            f"{name} must be nonnegative{reason}, got a smallest entry of "
            f"{values.min():.2g}. Shift or clip it, or use another affinity."
        )
    return _to_symmetric(S, name)


def check_columns(X: Any) -> None:
    """Raise an error for texts, or for the first column of a dataframe with text."""
    if isinstance(X, list | np.ndarray) and len(X) and isinstance(X[0], str):
        raise ValueError(
            f"X must hold numbers, got texts such as {X[0][:40]!r}. Pass embeddings "
            "of them, for example from sklearn's TfidfVectorizer."
        )
    for name in getattr(X, "columns", ()):
        cells = np.asarray(X[name])
        if cells.dtype.kind in "mM":
            raise ValueError(
                f"The column {name!r} of X holds dates or times, but features must be "
                "numbers. Leave the column out, or pass days, for example by "
                "frame['date'].astype('datetime64[s]').astype(int) / 86_400."
            )
        try:
            cells.astype(np.float64)
        except (TypeError, ValueError):
            odd = next(cell for cell in cells.tolist() if not _is_number(cell))
            raise ValueError(
                f"The column {name!r} of X holds {odd!r}, but features must be "
                "numbers. Leave the column out, or encode it, for example with "
                "sklearn.preprocessing.OneHotEncoder."
            ) from None


def _is_number(cell: object) -> bool:
    """Return whether NumPy converts a value to a number."""
    try:
        np.float64(cell)  # type: ignore[arg-type]  # anything
    except (TypeError, ValueError):
        return False
    return True


def check_square(S: Graph, name: str = "S") -> Graph:
    """Return a square matrix as a floating-point array or canonical CSR array."""
    S = S if sparse.issparse(S) else to_array(S, name)
    if S.ndim != 2 or S.shape[0] != S.shape[1]:
        raise ValueError(
            f"{name} must be a square matrix, got shape {S.shape}. Pass the "
            'similarities of all pairs of samples, or X with affinity="knn".'
        )
    if S.shape[0] == 0:
        raise ValueError(
            f"{name} must not be empty, got shape {S.shape}. Pass samples."
        )
    if sparse.issparse(S):
        return _to_csr(S, name)
    return np.ascontiguousarray(_to_float(S, name))


def check_indices(X: Graph) -> None:
    """Raise an error for a CSR or CSC array with indices out of bounds."""
    X.check_format(full_check=True)
    # SciPy skips this check if the last entry of indptr is 0 or less, and its
    # differences of indptr may overflow.
    if np.any(X.indptr[1:] < X.indptr[:-1]):
        raise ValueError("indptr must be a non-decreasing sequence")


def in_dtype(S: Graph, dtype: DTypeLike) -> Graph:
    """Return a checked S as it is, or in float32 if that type can hold it."""
    if check_dtype(dtype) == np.float64 or S.dtype == np.float32:
        return S
    values = S.data if sparse.issparse(S) else S
    check_range(values, "S", np.float32)
    return S.astype(np.float32)


def check_range(values: FloatArray, name: str, dtype: DTypeLike = np.float64) -> None:
    """Raise an error for numbers whose squares leave the type's range."""
    if not values.size:
        return
    kind = np.dtype(dtype)
    top = max(float(values.max()), -float(values.min()))
    low = float(np.finfo(kind).tiny) ** 0.5 / SPARE_RANGE
    high = float(np.finfo(kind).max) ** 0.5 * SPARE_RANGE
    if top > high or 0 < top < low:
        raise ValueError(
            f"{name} must have a largest entry from {low:.0e} to {high:.0e} in {kind}, "
            f"got {top:.3g}. Divide {name} by it."
        )


def check_proportions(proportions: ArrayLike | None, n_clusters: int) -> FloatArray:
    """Return the shares of the clusters, positive and of sum 1; None means equal."""
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
    # Numbers of at least 1 are counts or percentages, for which any sum is right.
    if shares.min() < 1 and min(abs(total - 1), abs(total - 100)) > SUM_TOL:
        raise ValueError(
            f"proportions must sum to 1, got a sum of {total:.6g}. "
            "Divide them by their sum."
        )
    return np.asarray(shares / total)


def is_auto(value: object) -> bool:
    """Return whether a parameter is to be chosen automatically."""
    return isinstance(value, str) and value == "auto"


def split_proportions(proportions: Any) -> tuple[ArrayLike | None, float]:
    """Return the shares and their strength, which is infinite by default.

    A pair ``(prior, strength)`` differs from two shares in its first part, which is
    None or an array.
    """
    if not isinstance(proportions, tuple | list) or len(proportions) != 2:
        return proportions, float("inf")
    prior, strength = proportions
    if np.ndim(strength) > 0 or (prior is not None and np.ndim(prior) == 0):
        return proportions, float("inf")
    is_number = isinstance(strength, numbers.Real) and not isinstance(strength, bool)
    if not is_number or not float(strength) >= 0:
        raise (ValueError if is_number else TypeError)(
            f"strength must be a number of 0 or more, got {strength!r}. Try 1, or "
            "leave it out for exact proportions."
        )
    return prior, float(strength)


def check_n_clusters(n_clusters: object, n_samples: int) -> int:
    """Return n_clusters as an int from 1 to n_samples."""
    allowed = f"n_clusters must be an integer from 1 to n_samples={n_samples}"
    if not _is_integer(n_clusters):
        raise TypeError(f"{allowed}, got {n_clusters!r}.")
    if not 1 <= n_clusters <= n_samples:
        raise ValueError(
            f"{allowed}, got {n_clusters}. Pass a smaller n_clusters or more samples."
        )
    return int(n_clusters)


def check_k_range(k_range: object, n_samples: int) -> IntArray:
    """Return increasing numbers of clusters from 1 to n_samples.

    None stands for 2 to 20, or to n_samples / 2 if that is less.
    """
    if k_range is None:
        k_range = range(2, min(20, max(2, n_samples // 2)) + 1)
    ks: list[Any] = list(k_range) if isinstance(k_range, Iterable) else [None]
    message = (
        f"k_range must hold increasing integers from 1 to n_samples={n_samples}, got "
        f"{k_range!r}. Pass for example range(1, {min(20, n_samples) + 1})."
    )
    if not all(_is_integer(k) for k in ks):
        raise TypeError(message)
    rising = all(a < b for a, b in itertools.pairwise(ks))
    if not ks or not rising or ks[0] < 1 or ks[-1] > n_samples:
        raise ValueError(message)
    return np.array(ks, dtype=np.int64)


def check_tau(tau: object) -> float:
    """Return tau as a float in [0, 1]."""
    if isinstance(tau, bool) or not isinstance(tau, numbers.Real):
        raise TypeError(f"tau must be a number in [0, 1], got {tau!r}. Try 0.4.")
    if not 0.0 <= float(tau) <= 1.0:
        raise ValueError(
            f"tau must be a number in [0, 1], got {tau!r}. 0 is softest, 1 is hardest; "
            "try 0.4."
        )
    return float(tau)


def check_weights(sample_weight: ArrayLike | None, n: int) -> FloatArray | None:
    """Return p = w / sum(w) of n nonnegative weights w, or None for equal weights."""
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


def check_known_labels(
    known_labels: ArrayLike | None, n: int, n_clusters: int
) -> IntArray | None:
    """Return the clusters of samples, -1 where unknown, or None if all are unknown."""
    if known_labels is None:
        return None
    labels = to_array(known_labels, "known_labels")
    if labels.shape != (n,):
        raise ValueError(
            f"known_labels must hold n_samples={n} numbers, got shape {labels.shape}. "
            "Pass one for each sample, -1 if it is unknown."
        )
    if labels.dtype.kind not in "iu":
        raise TypeError(
            f"known_labels must hold integers, got {labels.dtype}. Use -1 for "
            "unknown, and number the clusters from 0."
        )
    labels = labels.astype(np.int64)
    bad = (labels < -1) | (labels >= n_clusters)
    if bad.any():
        where = int(bad.argmax())
        raise ValueError(
            f"known_labels must be from 0 to n_clusters-1={n_clusters - 1}, or -1 for "
            f"unknown, got {labels[where]} at position {where}. Number the clusters "
            "from 0."
        )
    return labels if (labels >= 0).any() else None


def check_known_shares(known: IntArray, shares: FloatArray, p: FloatArray) -> None:
    """Raise an error if the known labels of a cluster exceed its proportion."""
    has = known >= 0
    taken = np.bincount(known[has], p[has], minlength=len(shares))
    worst = int((taken - shares).argmax())
    if taken[worst] > shares[worst] + 1e-12:
        raise ValueError(
            f"known_labels assign a share of {taken[worst]:.4g} of the samples to "
            f"cluster {worst}, more than its proportion {shares[worst]:.4g}. Pass a "
            "larger proportion, or soft ones such as proportions=(None, 1)."
        )


def check_pairs(pairs: ArrayLike | None, n: int, name: str) -> IntArray:
    """Return pairs of different samples as an array of shape (m, 2)."""
    found = to_array([] if pairs is None else pairs, name)
    if found.ndim > 0 and len(found) == 0:
        return np.empty((0, 2), dtype=np.int64)
    if found.ndim != 2 or found.shape[1] != 2 or found.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must hold pairs of sample numbers, shape (m, 2), got "
            f"{found.dtype} of shape {found.shape}. Pass for example [[0, 5], [3, 7]]."
        )
    bad = (
        (found < 0).any(axis=1)
        | (found >= n).any(axis=1)
        | (found[:, 0] == found[:, 1])
    )
    if bad.any():
        i, j = found[bad.argmax()]
        raise ValueError(
            f"{name} must hold pairs of two different samples from 0 to {n - 1}, got "
            f"({i}, {j}). Count the samples from 0."
        )
    return np.asarray(found, dtype=np.int64)


def check_count(value: object, name: str) -> int:
    """Return value as a positive int."""
    if not _is_integer(value) or int(value) < 1:
        raise ValueError(
            f"{name} must be a positive integer, got {value!r}. Pass 1 or more."
        )
    return int(value)


def check_dense_size(n: int, max_dense: object, who: str) -> None:
    """Raise an error if n exceeds max_dense, for methods with n x n matrices."""
    if n > check_count(max_dense, "max_dense"):
        raise ValueError(
            f"{who} holds n x n matrices ({8e-9 * n * n:.1f} GB each for {n} samples) "
            f"and takes at most max_dense={max_dense} samples, got {n}. Raise "
            "max_dense if they fit in memory, cluster a part of the samples, or use "
            "a method for large graphs such as BLoRD."
        )
    check_dense_memory(n, who)


def check_positive(value: object, name: str, *, or_zero: bool = False) -> float:
    """Return value as a finite float above 0, or of 0 or more with ``or_zero``."""
    what = "of 0 or more" if or_zero else "above 0"
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number {what}, got {value!r}.")
    number = float(value)
    if not 0 <= number < float("inf") or (number == 0 and not or_zero):
        raise ValueError(f"{name} must be a finite number {what}, got {value!r}.")
    return number


def check_nonnegative(value: object, name: str) -> float:
    """Return value as a finite float of 0 or more."""
    return check_positive(value, name, or_zero=True)


def check_dtype(dtype: DTypeLike) -> np.dtype:
    """Return float32 or float64 as a NumPy type."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = None
    if dtype is None or found not in (np.float32, np.float64):
        raise ValueError(
            f'dtype must be "float64" or "float32", got {dtype!r}. Pass "float32" to '
            "halve the memory."
        )
    return found


def check_choice(value: object, known: Iterable[str], name: str) -> str:
    """Return value if it is one of the known names; raise an error otherwise."""
    if not isinstance(value, str) or value not in known:
        raise unknown_name(name, value, known)
    return value


def check_not_both(other: object, name: str, given: str) -> None:
    """Raise an error if two parameters are given that determine each other."""
    if other is not None:
        raise ValueError(
            f"{name} and {given} were both given, but one determines the other. "
            "Pass only one of them."
        )


def missing_extra(package: str, extra: str) -> ImportError:
    """Return the error that says how to install an optional package."""
    return ImportError(
        f'{package} is not installed. Run: pip install "lordclust[{extra}]"'
    )


@contextmanager
def extra(package: str, name: str) -> Iterator[None]:
    """Import an optional package, or say how to install it."""
    try:
        yield
    except ImportError:
        raise missing_extra(package, name) from None


def unknown_name(kind: str, name: object, known: Iterable[str]) -> ValueError:
    """Return the error for a name that is not in a table of choices."""
    known = list(known)
    close = difflib.get_close_matches(str(name).lower(), known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return ValueError(f"Unknown {kind} {name!r}.{hint} Known: {', '.join(known)}.")


def _is_integer(value: object) -> TypeGuard[int]:
    """Return whether value is of an integer type; True and False are not."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def to_array(values: ArrayLike, name: str) -> npt.NDArray[Any]:
    """Return values as an ndarray, whatever its type."""
    try:
        return np.asarray(values)
    except ValueError:
        raise ValueError(
            f"{name} must be an array of numbers, got rows of different lengths. "
            "Give every row the same length."
        ) from None


def _to_vector(values: ArrayLike, length: int, name: str, owner: str) -> FloatArray:
    """Return values as finite float64 of shape (length,)."""
    v = to_array(values, name)
    if v.shape != (length,):
        raise ValueError(
            f"{name} must hold {owner}={length} numbers, got shape {v.shape}. "
            "Pass one number for each."
        )
    v = np.asarray(_to_float(v, name), dtype=np.float64)
    _check_finite(v, name)
    return np.asarray(v)


def _to_float(values: Graph, name: str) -> Graph:
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


def _object_to_float(values: Graph, name: str) -> Graph:
    """Return float64 numbers from an object array; strings are not numbers."""
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


def _check_finite(values: FloatArray, name: str) -> None:
    """Raise an error for NaN and infinite numbers."""
    bad = values.size - int(np.count_nonzero(np.isfinite(values)))
    if bad:
        raise ValueError(
            f"{name} must be finite, but it contains NaN or infinity in {bad} of "
            f"{values.size} entries. Replace or remove them."
        )


def _to_csr(S: Graph, name: str) -> sparse.csr_array:
    """Return S as a canonical CSR array; S itself is not changed."""
    csr = sparse.csr_array(_to_float(S, name))
    check_indices(csr)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return narrowed(csr)


def narrowed(csr: Graph) -> Graph:
    """Return a CSR array with indices of int32 if they fit, as scikit-learn needs."""
    fits = max(csr.nnz, *csr.shape) <= np.iinfo(np.int32).max
    index = np.int32 if fits else np.int64
    if csr.indices.dtype == csr.indptr.dtype == index:
        return csr
    indices, indptr = csr.indices.astype(index), csr.indptr.astype(index)
    return type(csr)((csr.data, indices, indptr), shape=csr.shape)


def _to_symmetric(S: Graph, name: str) -> Graph:
    """Return S, or (S + S') / 2 if rounding made it asymmetric."""
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


def _asymmetry(S: Graph) -> tuple[float, float]:
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


def check_mu(mu: Any) -> FloatArray:
    """Return mu as a positive vector of length 1 (in the Euclidean sense)."""
    mu = np.asarray(mu, dtype=np.float64)
    if mu.ndim != 1 or mu.size == 0 or not np.all(np.isfinite(mu)) or np.any(mu <= 0):
        raise ValueError(
            f"mu must be a vector of positive numbers, got shape {mu.shape} with "
            f"minimum {mu.min() if mu.size else 'none'}. Pass the square roots of the "
            "cluster proportions."
        )
    norm = float(np.linalg.norm(mu))
    if abs(norm - 1) > 1e-6:
        raise ValueError(
            f"mu must have Euclidean norm 1, got {norm:.6g}. Pass the square roots of "
            "proportions that sum to 1."
        )
    return np.asarray(mu / norm)
