"""Type aliases that the packages share."""

import os
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

#: Whatever NumPy makes an array of.
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
#: A matplotlib Axes, of a library that is optional and loaded late.
Axes: TypeAlias = Any
PathLike: TypeAlias = str | os.PathLike[str]
#: What ``random_state`` may be.
Seed: TypeAlias = int | np.random.RandomState | None
Json: TypeAlias = dict[str, object]
