"""Type aliases that the packages share."""

import os
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

#: Anything that ``numpy.asarray`` accepts.
ArrayLike: TypeAlias = npt.ArrayLike
FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
#: A dense array or any scipy sparse matrix or array, such as a similarity S.
Graph: TypeAlias = Any
#: Samples, one per row: array-like, or any scipy sparse matrix or array.
Samples: TypeAlias = Any
#: An estimator that is compatible with scikit-learn.
Estimator: TypeAlias = Any
#: A matplotlib Axes; matplotlib is optional and imported late.
Axes: TypeAlias = Any
#: How S is computed from X: a name, or f(X) -> S such as a KNNGraph.
Affinity: TypeAlias = str | Callable[..., Graph]
PathLike: TypeAlias = str | os.PathLike[str]
#: Values that ``random_state`` accepts.
Seed: TypeAlias = int | np.random.RandomState | None
Json: TypeAlias = dict[str, object]
