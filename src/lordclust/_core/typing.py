"""Type aliases shared by all packages."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike as ArrayLike

FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
#: A symmetric similarity: a dense array or any scipy sparse matrix or array.
Graph: TypeAlias = Any
#: Samples, one per row: array-like, or any scipy sparse matrix or array.
Samples: TypeAlias = Any
#: An estimator that is compatible with scikit-learn.
Estimator: TypeAlias = Any
#: A matplotlib Axes, of a library that is optional and loaded late.
Axes: TypeAlias = Any
