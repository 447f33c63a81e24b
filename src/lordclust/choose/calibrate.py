"""Memberships whose certainty is as large as the labels are often right.

Labels say nothing about how sure they are. Two kinds of doubt are measured:

- Within a partition: a random walk starts at a sample, leaves it, and stops after about
  the time in which a walk inside a cluster forgets where it began. A cluster that holds
  the walk for that long is real; one that loses it before is an arbitrary cut.
- Between partitions: other methods may divide the same samples differently, and cut
  no more of the graph. Then the partition itself is in doubt.

docs/calibration.md explains the rule, and what it was measured against.
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from scipy import sparse

from lordclust._core.typing import BoolArray, FloatArray, Graph, IntArray
from lordclust.choose.elliptical import Mixture
from lordclust.graph.row_blocks import slices
from lordclust.rounding.labels import named_like, row_blocks

#: Longest time of a walk, in steps: it bounds the number of products with the graph.
LONGEST = 100.0
#: Relative residual at which the linear systems are solved.
ACCURATE = 0.01
#: From this many entries of P on, threads pay.
THREADS_FROM = 1_000_000
#: Columns of a linear system that are solved at a time.
COLUMNS = 16
#: Partitions that agree on this share of the samples are the same.
SAME = 0.999
#: Weight of the shares in each row, so that every share can be met.
FLOOR = 1e-9
#: Relative error of the column means.
EXACT = 1e-13


class Walk(NamedTuple):
    """The random walk on a graph: from i to j with probability A_ij / degree_i.

    Attributes
    ----------
    A : ndarray or csr_array of shape (n, n)
        Similarities without negative entries and diagonal; columns times weights.
    degree : ndarray of shape (n,)
        Row sums of A; 1 for a sample without neighbours.
    weight : ndarray of shape (n,)
        Weights of the samples: diag(weight) A is symmetric.
    alone : ndarray of bool, shape (n,)
        Samples without neighbours.
    n_threads : int
        Threads of large products; they do not change a bit.
    """

    A: Graph
    degree: FloatArray
    weight: FloatArray
    alone: BoolArray
    n_threads: int = 1

    @classmethod
    def of(cls, S: Graph, weight: FloatArray, n_threads: int = 1) -> "Walk":
        """Return the walk on a graph; a sample is not its own neighbour."""
        if sparse.issparse(S):
            A = sparse.coo_array(S)
            kept = (A.row != A.col) & (A.data > 0) & (weight[A.col] > 0)
            row, col, data = A.row[kept], A.col[kept], A.data[kept]
            A = sparse.csr_array((data * weight[col], (row, col)), shape=S.shape)
        else:
            A = np.maximum(S, 0) * weight
            np.fill_diagonal(A, 0.0)
        degree = np.asarray(A.sum(axis=1), dtype=np.float64).ravel()
        alone = ~(degree > 0)
        return cls(A, np.where(alone, 1.0, degree), weight, alone, n_threads)

    def within(self, labels: IntArray) -> "Walk":
        """Return the walk that never leaves a cluster."""
        if sparse.issparse(self.A):
            A = sparse.coo_array(self.A)
            kept = labels[A.row] == labels[A.col]
            A = sparse.csr_array(
                (A.data[kept], (A.row[kept], A.col[kept])), shape=A.shape
            )
        else:
            A = self.A * (labels[:, None] == labels)
        degree = np.asarray(A.sum(axis=1), dtype=np.float64).ravel()
        alone = ~(degree > 0)
        return Walk(A, np.where(alone, 1.0, degree), self.weight, alone)

    def step(self, P: FloatArray) -> FloatArray:
        """Return the expected row of P after one step."""
        if self.n_threads == 1 or P.size < THREADS_FROM:
            mean = np.asarray(self.A @ P)
            mean /= self.degree[:, None]
            return mean
        out = np.empty(P.shape)

        def work(some: slice) -> None:
            np.divide(self.A[some] @ P, self.degree[some, None], out=out[some])

        with ThreadPoolExecutor(self.n_threads) as pool:
            list(pool.map(work, slices(len(P), -(-len(P) // (4 * self.n_threads)))))
        return out


def calibrated(
    S: Graph,
    labels: IntArray,
    mu: FloatArray,
    weight: FloatArray | None = None,
    stability: float = 1.0,
    *,
    known: IntArray | None = None,
    mixture: Mixture | None = None,
    n_threads: int = 1,
) -> FloatArray:
    """Return memberships of given labels that are as certain as they should be.

    Parameters
    ----------
    S : ndarray or csr_array of shape (n, n)
        The graph, symmetric. Negative entries and the diagonal count as 0.
    labels : ndarray of int, shape (n,)
        The partition, labels from 0 to k - 1.
    mu : ndarray of shape (k,)
        Square roots of the shares, usually those of the labels. A cluster of share 0
        has no members.
    weight : ndarray of shape (n,), optional
        Weights of the samples; 1 by default.
    stability : float
        How far other partitions agree with this one, from 0 to 1: see
        :func:`partition_stability`.
    known : ndarray of int, shape (n,), optional
        Clusters that are certain, -1 if unknown.
    mixture : Mixture, optional
        Posteriors of elliptical clusters, which count as far as clusters are so.
    n_threads : int, default=1
        Threads of large products.

    Returns
    -------
    P : ndarray of shape (n, k)
        Memberships. Rows sum to 1, and column means, weighted, are mu^2. The label is
        nearly always the largest entry of its row.

    Examples
    --------
    >>> from lordclust.datasets import block_graph
    >>> S, y = block_graph([30, 30], p_in=0.5, p_out=0.05)
    >>> P = calibrated(S, y, np.sqrt([0.5, 0.5]))
    >>> P.shape, P.mean(axis=0).round(6)
    ((60, 2), array([0.5, 0.5]))
    """
    labels, k = np.asarray(labels, dtype=np.int64), len(mu)
    weight = np.ones(len(labels)) if weight is None else np.asarray(weight, np.float64)
    shares = mu**2 / (mu**2).sum()
    walk = Walk.of(S, weight, n_threads)
    time = forgetting_times(walk, labels, k)[labels]
    P, sure = _visited(walk, labels, time, k), stability * (1 - FLOOR)
    for rows in row_blocks(*P.shape):
        # Two independent walks, given that they agree.
        Q = _with_unit_rows(P[rows] * P[rows], shares)
        Q[walk.alone[rows]] = shares
        Q = sure * Q + (1 - sure) * shares
        if mixture is not None:
            Q = mixture.trust * mixture.posterior[rows] + (1 - mixture.trust) * Q
        P[rows] = np.where(shares > 0, Q, 0.0)
    if known is not None:
        sure_of = np.flatnonzero(known >= 0)
        P[sure_of] = 0.0
        P[sure_of, known[sure_of]] = 1.0
    return scaled_to_shares(P, shares, weight)


def forgetting_times(walk: Walk, labels: IntArray, k: int) -> FloatArray:
    """Return how many steps a walk inside each cluster takes to forget its start.

    x is the share of a sample's similarity that lies in its cluster, less the mean of
    the cluster: what a walk must forget to leave from anywhere with equal chance. With
    the Laplacian L of the walk inside clusters, y = (L + 1/LONGEST)^-1 x sums x over
    all steps, and the time is <y, y> / <y, x>. For a single eigenvector x it is
    1 / eigenvalue; in general large groups of samples count more than small ones.
    """
    inside = walk.within(labels)
    mass = np.where(inside.alone, 0.0, walk.weight * inside.degree)
    total = np.bincount(labels, mass, minlength=k)
    x = np.where(inside.alone, 0.0, inside.degree / walk.degree)
    mean = np.bincount(labels, mass * x, minlength=k) / np.where(total > 0, total, 1.0)
    x = np.where(inside.alone, 0.0, x - mean[labels])
    if not np.abs(x).max(initial=0.0) > 1e-12:
        return np.ones(k)
    rate, start = np.full(len(x), 1 / LONGEST), x[:, None].copy()
    y = solve(inside, rate, start.copy(), start)[:, 0]
    yx = np.bincount(labels, mass * y * x, minlength=k)
    yy = np.bincount(labels, mass * y * y, minlength=k)
    flat = yx <= 1e-20 * (total + 1e-300)
    return np.asarray(np.where(flat, 1.0, yy / np.where(flat, 1.0, yx)))


def solve(walk: Walk, rate: FloatArray, B: FloatArray, X: FloatArray) -> FloatArray:
    """Return the solution of (L + diag(rate)) X = B by conjugate gradients from X.

    L = I - W is the Laplacian of the walk. Multiplied by weights and degrees the matrix
    is symmetric and positive definite; its diagonal is the preconditioner. X becomes
    the solution, and B what is left of it: arrays may be large, so there are few.
    """
    mass = (walk.weight * walk.degree)[:, None]
    diagonal = 1 + rate[:, None]
    enough = ACCURATE**2 * (mass * B * B / diagonal).sum(axis=0)
    AD = diagonal * X
    AD -= walk.step(X)
    B -= AD
    Z = B / diagonal
    D, rz = Z.copy(), (mass * B * Z).sum(axis=0)
    for _ in range(int(10 * np.sqrt(LONGEST))):
        if np.all(rz <= enough):
            break
        np.multiply(diagonal, D, out=AD)
        AD -= walk.step(D)
        np.multiply(mass, D, out=Z)
        Z *= AD
        curve = Z.sum(axis=0)
        ahead = np.where(curve > 0, rz / np.where(curve > 0, curve, 1.0), 0.0)
        np.multiply(ahead, D, out=Z)
        X += Z
        AD *= ahead
        B -= AD
        np.divide(B, diagonal, out=Z)
        np.multiply(mass, B, out=AD)
        AD *= Z
        new = AD.sum(axis=0)
        D *= np.where(rz > 0, new / np.where(rz > 0, rz, 1.0), 0.0)
        D += Z
        rz = new
    return X


def _visited(walk: Walk, labels: IntArray, time: FloatArray, k: int) -> FloatArray:
    """Return the probabilities that a walk is in each cluster when it stops.

    It leaves the sample, and then stops in each step with a probability of
    1 / (1 + time) of the cluster where it is. The columns are independent: some at a
    time need less memory.
    """
    P = np.empty((len(labels), k))
    groups = np.split(np.arange(k), range(COLUMNS, k, COLUMNS))
    alone = walk if len(groups) == 1 else walk._replace(n_threads=1)

    def find(columns: IntArray) -> None:
        hard = (labels[:, None] == columns).astype(np.float64)
        found = solve(alone, 1 / time, hard / time[:, None], hard)
        P[:, columns] = np.maximum(alone.step(found), 0.0)

    with ThreadPoolExecutor(min(walk.n_threads, len(groups))) as pool:
        list(pool.map(find, groups))
    return P


def partition_stability(
    S: Graph,
    labels: IntArray,
    others: Iterable[IntArray],
    k: int,
    weight: FloatArray | None = None,
) -> float:
    """Return the share of samples on which other partitions agree with the labels.

    ``others`` are a few finished partitions of the same samples by other methods; names
    do not matter, and steps on the way to a partition are not finished. Each counts
    with one over the similarity that it cuts, relative to a random partition with the
    same shares. Equal partitions, and the labels, count once.
    """
    walk = Walk.of(S, np.ones(len(labels)) if weight is None else weight)
    seen = [labels]
    for other in others:
        named = named_like(np.asarray(other, dtype=np.int64), labels, k)
        if all(np.mean(named == one) < SAME for one in seen):
            seen.append(named)
    if len(seen) == 1:
        return 1.0
    worth = np.array([1 / _relative_cut(walk, one, k) for one in seen])
    agree = [np.average(one == labels, weights=walk.weight) for one in seen]
    return float(worth @ agree / worth.sum())


def _relative_cut(walk: Walk, labels: IntArray, k: int) -> float:
    """Return the mean chance to leave a cluster in one step, relative to chance."""
    inside = walk.within(labels)
    stays = np.where(inside.alone, 0.0, inside.degree / walk.degree)
    leaves = np.average(np.where(walk.alone, 0.0, 1 - stays), weights=walk.weight)
    shares = np.bincount(labels, walk.weight, minlength=k) / walk.weight.sum()
    chance = max(1 - float((shares**2).sum()), 1 / len(labels))
    return float(max(leaves, 0.0) / chance + 1 / len(labels))


def _with_unit_rows(P: FloatArray, shares: FloatArray) -> FloatArray:
    """Return P with rows that sum to 1; a row of zeros becomes the shares."""
    total = P.sum(axis=1)
    empty = ~(total > 0)
    P = P / np.where(empty, 1.0, total)[:, None]
    P[empty] = shares
    return P


def scaled_to_shares(
    P: FloatArray, shares: FloatArray, weight: FloatArray
) -> FloatArray:
    """Scale rows and columns of P in place: rows sum to 1, column means are shares.

    A column of share 0 must be zero.

    The logarithms a of the column scales minimise the convex function
    sum_i p_i log sum_j P_ij exp(a_j) - sum_j shares_j a_j, here by Newton's method.
    """
    used = np.flatnonzero(shares > 0)
    p, s = weight / weight.sum(), shares[used]
    Q = P if len(used) == len(shares) else P[:, used]
    for rows in row_blocks(*Q.shape):
        Q[rows] = _with_unit_rows(Q[rows], s)
    for _ in range(100):
        error = s - p @ Q
        if np.abs(error / s).max() <= EXACT:
            break
        _newton_step(Q, p, s, error)
    if Q is not P:
        P[:, used] = Q
    return P


def _newton_step(
    Q: FloatArray, p: FloatArray, s: FloatArray, error: FloatArray
) -> None:
    """Scale the columns of Q by a Newton step, shorter if need be, in place."""
    H, blocks = np.diag(p @ Q), row_blocks(*Q.shape)
    for rows in blocks:
        H -= Q[rows].T @ (p[rows, None] * Q[rows])
    # Scales have a common factor; a cluster that nothing leaves can have any.
    ridge = 1e-14 * np.trace(H) / len(H) + 1e-300
    H += ridge * np.eye(len(H)) + np.full(H.shape, 1 / len(H) ** 2)
    move = np.linalg.lstsq(H, error, rcond=None)[0]
    move = move - move.mean()  # the change of the logarithms of the scales
    slope = float(error @ move)
    length = min(1.0, 20 / max(np.abs(move).max(), 1e-300))
    for _ in range(40):
        scale = np.exp(length * (move - move.max()))
        total = np.concatenate([(Q[rows] * scale).sum(axis=1) for rows in blocks])
        rise = float(p @ np.log(total)) + length * float(move.max() - s @ move)
        if rise <= -1e-4 * length * slope + 1e-15:
            break
        length /= 2
    for rows in blocks:
        Q[rows] = _with_unit_rows(Q[rows] * scale, s)
