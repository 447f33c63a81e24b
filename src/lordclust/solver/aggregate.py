"""Fewer rows where V is soft: samples that are alike move together.

If V is the same for all samples of a group, B-LoRD is a smaller problem of the same
kind. With q the weights of the samples and Q_G = sum_{i in G} q_i those of the groups,

    sum_ij q_i q_j S_ij <V_i, V_j>  =  sum_GH Q_G Q_H M_GH <V_G, V_H>,

where M_GH is the weighted mean of S between G and H; |V|^2 and the sums of rows and
columns follow in the same way. So a V of the groups is a V of the samples with the
same objective. At small tau solutions are smooth on the graph, and little is lost.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust.solver.problem import Problem

#: How often samples are paired, and groups per cluster at the least.
PAIRINGS, GROUPS_PER_CLUSTER = 3, 4
#: How often those without a partner look for another one; a pairing that leaves more
#: than this part of the groups is not worth it.
SEARCHES, WORTH = 4, 0.9


@dataclass(frozen=True)
class Aggregate:
    """A problem whose rows are groups of the samples of another one.

    Attributes
    ----------
    problem : Problem
        The problem of the groups, with the spectrum of the samples' S.
    groups : ndarray of int, shape (n,)
        The group of each sample.
    weight : ndarray of shape (n,)
        The weights of the samples.
    """

    problem: Problem
    groups: IntArray
    weight: FloatArray

    @classmethod
    def of(cls, problem: Problem) -> "Aggregate | None":
        """Return the problem of groups of about eight, None if they do not suit it.

        Known labels, a dense S and one on other machines are left as they are.
        """
        omega = problem.omega
        if problem.lord or omega.known is not None or not sparse.issparse(problem.S):
            return None
        (n, k), S, weight = omega.shape, sparse.csr_array(problem.S), omega.weight
        groups: IntArray = np.arange(n)
        for _ in range(PAIRINGS):
            pairs = paired(S)
            count = int(pairs.max()) + 1
            if count > WORTH * len(pairs) or count < GROUPS_PER_CLUSTER * k:
                break
            S, weight = contracted(S, weight, pairs)
            groups = pairs[groups]
        if len(weight) == n:
            return None
        fewer = replace(
            omega,
            mass=np.full(len(weight), omega.mass[0]),
            weight=weight,
            width=omega.width * len(weight) / n,  # the same price of soft shares
        )
        return cls(replace(problem, S=S, omega=fewer), groups, omega.weight)

    def with_mu(self, mu: FloatArray) -> "Aggregate":
        """Return the same groups for other shares."""
        omega = replace(self.problem.omega, mu=mu)
        return replace(self, problem=replace(self.problem, omega=omega))

    def of_groups(self, V: FloatArray) -> FloatArray:
        """Return the weighted means of the rows of V over groups."""
        n, Q = len(self.groups), self.problem.omega.weight
        share = self.weight / np.where(Q > 0, Q, 1.0)[self.groups]
        shape = (n, len(Q))
        means = sparse.csr_array((share, self.groups, np.arange(n + 1)), shape=shape)
        return np.asarray(means.T @ V)

    def of_samples(self, V: FloatArray) -> FloatArray:
        """Return the V of the samples, whose rows are those of their groups."""
        return V[self.groups]


def paired(S: Graph) -> IntArray:
    """Return a number for each pair of similar rows of S, and for each row left over.

    Two rows are a pair if neither has a more similar one: the greedy matching by
    falling similarity, found in a few rounds. The order of the rows does not matter,
    except for equal similarities.
    """
    n = S.shape[0]
    every, rows, columns = (
        np.arange(n),
        np.repeat(np.arange(n), np.diff(S.indptr)),
        S.indices,
    )
    alone, similarity = every.copy(), S.data
    kept = (rows != columns) & (similarity > 0)
    for _ in range(SEARCHES):
        rows, columns, similarity = rows[kept], columns[kept], similarity[kept]
        if not len(rows):
            break
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        largest = np.maximum.reduceat(similarity, starts)
        counts = np.diff(starts, append=len(rows))
        best = np.full(n, -1)
        found = np.flatnonzero(similarity == np.repeat(largest, counts))[::-1]
        best[rows[found]] = columns[found]
        linked = rows[starts]
        mutual = linked[best[best[linked]] == linked]
        alone[mutual] = np.minimum(mutual, best[mutual])
        free = np.ones(n, dtype=bool)
        free[mutual] = False
        kept = free[rows] & free[columns]
    first = alone == every
    return (np.cumsum(first) - 1)[alone]


def contracted(
    S: Graph, weight: FloatArray, groups: IntArray
) -> tuple[Graph, FloatArray]:
    """Return the weighted means of S between groups, and the weights of the groups."""
    n, count = len(groups), int(groups.max()) + 1
    total = np.bincount(groups, weight, minlength=count)
    scale = 1 / np.where(total > 0, total, 1.0)
    means = sparse.csr_array(
        (weight * scale[groups], groups, np.arange(n + 1)), shape=(n, count)
    )
    M = sparse.csr_array(means.T @ sparse.csr_array(S @ means))
    M.sort_indices()
    return M, np.asarray(total, dtype=np.float64)
