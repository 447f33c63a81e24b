"""What the methods share that fit S by VV' with a nonnegative V."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np

from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust._core.validation import check_choice
from lordclust.methods._base import RestartClusterer, Rngs
from lordclust.methods._solvers.symnmf import (
    Factor,
    kkt_residual,
    random_start,
    square_norm,
)
from lordclust.result import Run
from lordclust.rounding.labels import labels_from, shares_of_rows
from lordclust.rounding.spectral import normalized_affinity


class SymmetricFactorClusterer(RestartClusterer):
    """Base: min 1/2 ||S - VV'||_F^2 over V >= 0, from random starts."""

    normalize: str | None

    @abstractmethod
    def _descend(self, S: Graph, V: FloatArray, square: float) -> Factor:
        """Return where the solver ends that starts at V; ``square`` is ||S||_F^2."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.normalize is not None:
            check_choice(self.normalize, ["ncut"], "normalize")

    def _solve(self, data: Any, k: int, rngs: Rngs) -> Iterable[Run]:
        S = data.astype(np.float64, copy=False)
        S = S if self.normalize is None else normalized_affinity(S)
        square = square_norm(S)
        for rng in rngs:
            factor = self._descend(S, random_start(S, k, rng), square)
            yield _as_run(S, factor)


def _as_run(S: Graph, factor: Factor) -> Run:
    """Return what the estimator keeps of a factor."""
    return Run(
        labels_of_rows(factor.V),
        float(factor.history[-1]),
        len(factor.history) - 1,
        factor.converged,
        factor.history,
        membership=shares_of_rows(factor.V),
        columns={"V_": factor.V},
        fitted={"residual_": kkt_residual(S, factor.V)},
    )


def labels_of_rows(V: FloatArray) -> IntArray:
    """Return the largest column of each row; zero rows join the largest cluster.

    The row of an isolated vertex is zero: nothing says where it belongs.
    """
    labels = labels_from(V)
    lost = ~V.any(axis=1)
    if lost.any() and not lost.all():
        labels[lost] = np.bincount(labels[~lost]).argmax()
    return labels
