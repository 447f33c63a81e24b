"""Steps of kernel k-means, from labels and products with S alone (KKM, GKKM)."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from scipy import sparse

from lordclust._core.typing import BoolArray, FloatArray, Graph, IntArray

#: A sample changes its cluster if it gains more than this fraction of its largest cost.
MARGIN = 1e-12
#: The first shift after a step that raised E, as a fraction of the largest |(S Y)_ij|.
FIRST_SHIFT = 1 / 256

Result = TypeVar("Result")
#: A computation that requests products T S by yielding the sparse T, so that several
#: queries are answered by one pass over S.
Asking: TypeAlias = Generator[Graph, FloatArray, Result]


class Partition(NamedTuple):
    """Clusters, and how their means relate to the samples."""

    labels: IntArray
    sums: FloatArray  # Y' W S, (k, n): weighted similarities of a sample to a cluster
    mass: FloatArray  # weight of each cluster
    norms: FloatArray  # ||c_j||^2
    objective: float  # E


class Descent(NamedTuple):
    """The result of the steps from one start."""

    end: Partition
    n_iter: int
    converged: bool
    history: list[float]


@dataclass(frozen=True)
class KernelSteps:
    """Steps of kernel k-means for given weights and a given diagonal of S.

    ``shift`` is added to the diagonal of S (divided by w, so that E changes by a
    constant); None: found when needed. The other limits are those of :class:`KKM`.
    """

    w: FloatArray
    diagonal: FloatArray
    max_iter: int
    tol: float = 0.0
    shift: float | None = None

    def measure(self, labels: IntArray, sums: FloatArray) -> Partition:
        """Return the partition with its means and E."""
        k = len(sums)
        mass: FloatArray = np.bincount(labels, self.w, k).astype(np.float64)
        to_own = sums[labels, np.arange(len(labels))] / mass[labels]
        share = self.w / mass[labels]
        norms: FloatArray = np.bincount(labels, share * to_own, k).astype(np.float64)
        E = float(self.w @ self.diagonal - mass @ norms)
        return Partition(labels, sums, mass, norms, E)

    def costs(self, P: Partition, shift: float = 0.0) -> FloatArray:
        """Return ||phi_i - c_j||^2 - S_ii for all clusters j (rows) and samples i."""
        C = P.sums * (-2 / P.mass[:, None])
        C += P.norms[:, None]
        if shift:
            C += shift / P.mass[:, None]
            C[P.labels, np.arange(len(P.labels))] -= 2 * shift / P.mass[P.labels]
        return C

    def nearest(self, P: Partition, shift: float = 0.0) -> IntArray:
        """Return the nearest mean of every sample; no cluster is left empty."""
        C = self.costs(P, shift)
        samples = np.arange(len(P.labels))
        best = C.argmin(axis=0)
        gain = C[P.labels, samples] - C[best, samples]
        # A tie, or rounding, moves no sample: steps end in the same way everywhere.
        labels = np.where(gain > MARGIN * np.abs(C).max(axis=0), best, P.labels)
        misfit = self.diagonal + C[labels, samples]
        return fill_empty(labels, self.w * misfit, self.w > 0, len(C))

    def move(self, P: Partition, labels: IntArray) -> Asking[Partition]:
        """Return the partition with other labels, by the cheaper of two sums."""
        k = len(P.mass)
        if 2 * np.count_nonzero(labels != P.labels) < len(labels):
            sums = yield difference(P.labels, labels, self.w, k)
            sums += P.sums
        else:
            sums = yield indicator(labels, self.w, k)
        return self.measure(labels, sums)

    def descend(
        self, P: Partition, seen: set[bytes] | None = None
    ) -> Asking[Descent | None]:
        """Return the result of the steps from P.

        ``seen`` collects the partitions visited. None is returned when one of them
        is met again, because the steps would continue as before.
        """
        shift, history = self.shift or 0.0, [P.objective]
        for n_iter in range(1, self.max_iter + 1):
            labels = self.nearest(P, shift)
            if np.array_equal(labels, P.labels):
                return Descent(P, n_iter, True, history)
            if seen is not None and labels.tobytes() in seen:
                return None
            Q = yield from self.move(P, labels)
            gain = P.objective - Q.objective
            small = abs(gain) <= self.tol * self.scale(P)
            if gain > 0:
                P = Q
                history.append(P.objective)
                if seen is not None:
                    seen.add(labels.tobytes())
            if small or (gain <= 0 and self.shift is not None):
                return Descent(P, n_iter, True, history)
            if gain <= 0:
                shift = max(2 * shift, FIRST_SHIFT * float(np.abs(P.sums).max()))
                seen = None  # what follows depends on the shift too
        return Descent(P, self.max_iter, False, history)

    def scale(self, P: Partition) -> float:
        """Return the magnitude of E that changes are compared with."""
        return max(abs(P.objective), float(self.w @ np.abs(self.diagonal)))


def side_by_side(runs: list[Asking[Result]], S: Graph) -> list[Result]:
    """Return the results of computations whose queries are answered together."""
    results: dict[int, Result] = {}
    answers: dict[int, FloatArray | None] = dict.fromkeys(range(len(runs)))
    while answers:
        queries = {}
        for i, answer in answers.items():
            try:
                queries[i] = runs[i].send(answer)  # type: ignore[arg-type]  # None first
            except StopIteration as end:
                results[i] = end.value
        answers = dict(zip(queries, _products(list(queries.values()), S), strict=True))
    return [results[i] for i in range(len(runs))]


def _products(queries: list[Graph], S: Graph) -> list[FloatArray]:
    """Return T S for each query T, from one pass over S."""
    if not queries:
        return []
    stack = queries[0] if len(queries) == 1 else sparse.vstack(queries, format="csr")
    product = stack @ S
    product = product.toarray() if sparse.issparse(product) else product
    ends = np.cumsum([query.shape[0] for query in queries])
    return [product[e - q.shape[0] : e] for q, e in zip(queries, ends, strict=True)]


def indicator(labels: IntArray, w: FloatArray, k: int) -> Graph:
    """Return Y' W as a sparse array of shape (k, n)."""
    return _sparse(labels, np.arange(len(labels)), w, (k, len(labels)))


def difference(old: IntArray, new: IntArray, w: FloatArray, k: int) -> Graph:
    """Return Y' W for the new labels minus that for the old ones."""
    moved = np.flatnonzero(new != old)
    rows = np.concatenate([new[moved], old[moved]])
    values = np.concatenate([w[moved], -w[moved]])
    return _sparse(rows, np.concatenate([moved, moved]), values, (k, len(old)))


def _sparse(
    rows: IntArray, cols: IntArray, values: FloatArray, shape: tuple[int, int]
) -> Graph:
    """Return a CSR array from its entries, three times as fast as through COO."""
    order = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))])
    return sparse.csr_array((values[order], cols[order], indptr), shape=shape)


def fill_empty(
    labels: IntArray, misfit: FloatArray, counts: BoolArray, k: int
) -> IntArray:
    """Return labels in which each empty cluster gets the sample that fits worst.

    Only samples with a weight are moved, and none that is alone in its cluster.
    """
    sizes = np.bincount(labels[counts], minlength=k)
    for j in np.flatnonzero(sizes == 0):
        free = counts & (sizes[labels] > 1)
        worst = int(np.argmax(np.where(free, misfit, -np.inf)))
        sizes[labels[worst]] -= 1
        sizes[j] = 1
        labels[worst] = j
    return labels
