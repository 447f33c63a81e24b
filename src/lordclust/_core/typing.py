"""Aliases for the arrays and parameters that several packages share."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike as ArrayLike

FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
#: A symmetric similarity: a dense array or any scipy sparse matrix or array.
Graph: TypeAlias = Any
#: How X becomes S: the name of an affinity, or f(X) -> S such as a KNNGraph.
Affinity: TypeAlias = str | Callable[..., Graph]
#: What scikit-learn's check_random_state accepts.
Seed: TypeAlias = int | np.random.RandomState | None
