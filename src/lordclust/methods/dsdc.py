"""DSDC: k-means on distances scaled to a doubly stochastic matrix."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import lstsq
from scipy.sparse.linalg import LinearOperator, cg

from lordclust._core.typing import FloatArray, Seed
from lordclust._core.validation import check_choice
from lordclust.methods._base import EmbeddingMixin, RestartClusterer, Rngs
from lordclust.result import Run
from lordclust.rounding.labels import kmeans_labels

#: Plain scalings before Newton's method.
START_STEPS = 5
#: Maximum number of conjugate gradient steps; a few suffice when B is well scaled.
CG_STEPS = 50
#: Largest change of log c in a step.
MAX_STEP = 2.0
#: Relative rounding error of the minimised function.
ROUNDING = 1e-13
BLOCK_ROWS = 4096


@dataclass(eq=False, repr=False)
class DSDC(EmbeddingMixin, RestartClusterer):
    """Doubly stochastic distance clustering.

    The squared distances A of the samples are scaled to B = diag(c) A diag(c) with
    row sums 1, c > 0. B holds the squared distances of points P on a sphere, and
    these are clustered by k-means:

        min sum_i ||p_i - m_(y_i)||^2   over labels y and centres m.

    The steps are the authors', read in their code [1]_. Two are solved differently:
    c is found by Newton's method from products with A alone, instead of sweeps over
    the n x n matrix, and the sphere is given in closed form instead of fitted (see
    Notes).

    Parameters
    ----------
    n_clusters
    sphere : {"exact", "lstsq"}, default="exact"
        How P is found. "lstsq" is the authors' least squares for centre and radius:
        the same P in general position. With n < d + 2 samples, or samples that lie on
        a sphere (binary or unit-length ones), their equations have many solutions,
        and for the one of least norm the distances of P are not B. "exact" always
        fits.
    n_init : int or "auto", default="auto"
        Starts of k-means ("auto": 20); the one with the least inertia is kept.
    max_iter : int, default=100
        Maximum number of Newton steps for c.
    tol : float, default=1e-10
        Tolerance on the largest error of a row sum of B.
    random_state : int, RandomState or None, default=None
        Seed for the starts of k-means.
    verbose

    Attributes
    ----------
    labels_ : ndarray of int, shape (n,)
        Cluster of each sample, 0 to k-1, ordered by decreasing size.
    sizes_
    scaling_ : ndarray of shape (n,)
        c.
    embedding_ : ndarray of shape (n, d + 1)
        P: squared distances are B (up to rounding, for "exact").
    residual_ : float
        Largest error of a row sum of B.
    objective_ : float
        Inertia of k-means on P.
    n_iter_, converged_
        Newton steps, and whether c reached ``tol``.

    Notes
    -----
    A product with A is ``A v = r (1'v) + 1 (r'v) - 2 X (X'v)``, r the squared norms:
    O(nd) time and memory. With w = 1'c, m = X'c / w and h = sqrt(sum_j c_j
    ||x_j - m||^2 / w), the row sums imply 1/c_i = w (||x_i - m||^2 + h^2), so

        p_i = c_i (x_i - m, ||x_i - m||^2 / h)

    has the squared distances B: the inversion of the samples at the point h above
    m. So m is the foot of the sphere, sqrt(1/(2n)) its radius, and no equation
    remains to be solved.

    No c exists if half of the samples or more are copies of one, unless the others
    are copies as well: such samples raise an error.

    References
    ----------
    .. [1] He and Zhang, "Doubly stochastic distance clustering", IEEE Transactions
       on Circuits and Systems for Video Technology, 2023.
       Code: LiHeUA/Doubly-Stochastic-Distance-Clustering.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust.methods import DSDC
    >>> model = DSDC(3, random_state=0).fit(load_iris().data)
    >>> model.residual_ < 1e-10
    True
    """

    takes_graph = False
    takes_sparse = False

    n_clusters: int = 8
    _: KW_ONLY
    sphere: str = "exact"
    n_init: int | str = "auto"
    max_iter: int = 100
    tol: float = 1e-10
    random_state: Seed = None
    verbose: int = 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.sphere, ("exact", "lstsq"), "sphere")

    def _solve(self, data: FloatArray, k: int, rngs: Rngs) -> Iterable[Run]:
        check_copies(data)
        X = data.astype(np.float64)
        X -= X.mean(axis=0)
        unit = 1 / float(np.abs(X).max())
        X *= unit
        c, residual, n_iter = scale_distances(X, tol=self.tol, max_iter=self.max_iter)
        P = (sphere_points if self.sphere == "exact" else fitted_sphere_points)(X, c)
        found = kmeans_labels(P, k, rngs[0], n_init=self._n_starts())
        yield Run(
            found.labels, found.inertia, n_iter, residual <= self.tol,
            fitted={"scaling_": c * unit, "embedding_": P, "residual_": residual},
        )  # fmt: skip


class Scaling(NamedTuple):
    """c with the row sums of diag(c) A diag(c) near 1."""

    c: FloatArray
    residual: float
    n_iter: int


def scale_distances(
    X: FloatArray, *, tol: float = 1e-10, max_iter: int = 100
) -> Scaling:
    """Return c > 0 with c_i sum_j ||x_i - x_j||^2 c_j = 1 for all i.

    Minimises the convex function c'Ac/2 - sum log c of log c by Newton's method, with
    conjugate gradients for the steps. X is centred, with entries of size 1.
    """
    squares = (X * X).sum(axis=1)
    c = np.full(len(X), 1 / np.sqrt(len(X)))
    for _ in range(START_STEPS):  # these find the magnitude of c
        c = np.sqrt(c / distance_sums(X, c))
    for step in range(max_iter + 1):
        rows = c * distance_sums(X, c)
        residual = float(np.abs(rows - 1).max())
        if residual <= tol or step == max_iter:
            break
        d = _newton_direction(X, squares, c, rows)
        c = _line_search(X, c, rows, d)
    return Scaling(c, residual, step)


def distance_sums(X: FloatArray, c: FloatArray) -> FloatArray:
    """Return sum_j ||x_i - x_j||^2 c_j for c >= 0: a sum without cancellation."""
    _, squares = _spread(X, c)
    return np.asarray(c.sum() * squares + c @ squares)


def sphere_points(X: FloatArray, c: FloatArray) -> FloatArray:
    """Return points with squared distances c_i c_j ||x_i - x_j||^2, on a sphere."""
    m, squares = _spread(X, c)
    h = np.sqrt(c @ squares / c.sum())
    return np.column_stack([c[:, None] * (X - m), c * squares / h])


def fitted_sphere_points(X: FloatArray, c: FloatArray) -> FloatArray:
    """Return the authors' points: centre and radius of the sphere by least squares."""
    n, d = X.shape
    radius = np.sqrt(1 / (2 * n))
    H = np.column_stack([2 * X, 2 * radius / c, -np.ones(n)])
    Y = lstsq(H, (X * X).sum(axis=1))[0]
    size = Y[d] / (2 * radius)  # of the sphere of P before it is scaled to B
    R = radius * size
    A = X - Y[:d]
    squares = (A * A).sum(axis=1)
    t = 1 / (4 * R * R + squares)
    P = np.column_stack([4 * R * R * t[:, None] * A, 2 * R * t * squares])
    return np.asarray(P / abs(size))


def check_copies(X: FloatArray) -> None:
    """Raise an error if no c can scale the distances to row sums 1."""
    n = len(X)
    _, counts = np.unique(X, axis=0, return_counts=True)
    halves = len(counts) == 2 and counts[0] == counts[1]
    if 2 * counts.max() >= n and not halves:
        raise ValueError(
            f"DSDC requires that less than half of the samples are equal, but "
            f"{counts.max()} of {n} rows of X are. Remove duplicates."
        )


def _spread(X: FloatArray, c: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean with weights c, and the squared distances to it."""
    m = X.T @ c / c.sum()
    squares = np.empty(len(X))
    for start in range(0, len(X), BLOCK_ROWS):  # no second n x d array
        rows = slice(start, start + BLOCK_ROWS)
        squares[rows] = ((X[rows] - m) ** 2).sum(axis=1)
    return m, squares


def _newton_direction(
    X: FloatArray, squares: FloatArray, c: FloatArray, rows: FloatArray
) -> FloatArray:
    """Return the step of log c: (diag(B1) + B) d = 1 - B1, B = diag(c) A diag(c)."""
    n = len(c)

    def product(v: FloatArray) -> FloatArray:
        v = v.ravel()
        u = c * v
        Au = squares * u.sum() + squares @ u - 2 * (X @ (X.T @ u))
        return np.asarray(rows * v + c * Au)

    H = LinearOperator((n, n), matvec=product, dtype=np.float64)
    M = LinearOperator((n, n), matvec=lambda v: v.ravel() / rows, dtype=np.float64)
    # More accurate near the solution, so that Newton's method converges quadratically.
    rtol = min(0.1, float(np.abs(rows - 1).max()))
    return np.asarray(cg(H, 1 - rows, rtol=rtol, maxiter=CG_STEPS, M=M)[0])


def _line_search(
    X: FloatArray, c: FloatArray, rows: FloatArray, d: FloatArray
) -> FloatArray:
    """Return c exp(t d) with t halved until the function falls."""
    value, slope = rows.sum() / 2 - np.log(c).sum(), (rows - 1) @ d
    t = min(1.0, MAX_STEP / float(np.abs(d).max()))
    for _ in range(60):
        new = c * np.exp(t * d)
        change = new @ distance_sums(X, new) / 2 - np.log(new).sum() - value
        if change <= 1e-4 * t * slope + ROUNDING * abs(value):
            return np.asarray(new)
        t /= 2
    return c
