"""Aliases for the arrays that travel between packages."""

import os
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
ArrayLike: TypeAlias = npt.ArrayLike
#: A symmetric similarity: a dense array or any scipy sparse matrix or array.
Graph: TypeAlias = Any
PathLike: TypeAlias = str | os.PathLike[str]
Json: TypeAlias = dict[str, object]
