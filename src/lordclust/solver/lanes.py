"""Sixteen numbers as one value: the type that the kernels are written in.

The value is an LLVM vector (_lanes_llvm.py) or, where internals of numba have changed
or ``LORDCLUST_PLAIN_LANES=1`` is set, an array (_lanes_plain.py). With arrays the
solver is slower and runs on one thread; results agree to rounding.
"""

import os
import warnings
from importlib import import_module
from types import ModuleType


def choose() -> ModuleType:
    """Return the implementation: LLVM vectors where they work, else arrays."""
    if os.environ.get("LORDCLUST_PLAIN_LANES") != "1":
        try:
            module = import_module("lordclust.solver._lanes_llvm")
            module.check()
            return module
        except Exception as error:  # whatever another numba may raise
            warnings.warn(
                f"Vectors do not work with this version of numba ({error}): the solver "
                "runs more slowly, on one thread.",
                RuntimeWarning,
                stacklevel=2,
            )
    return import_module("lordclust.solver._lanes_plain")


implementation = choose()
LANES: int = implementation.LANES
#: Whether counters are atomic: without them there is one thread.
ATOMIC: bool = implementation.ATOMIC
#: Whether lanes are arrays, allocated by compiled code.
ALLOCATES: bool = implementation.ALLOCATES
load, store, splat = implementation.load, implementation.store, implementation.splat
maximum, minimum = implementation.maximum, implementation.minimum
where_positive = implementation.where_positive
sum_lanes, any_positive = implementation.sum_lanes, implementation.any_positive
fetch_add, yield_thread = implementation.fetch_add, implementation.yield_thread
row_product = implementation.row_product
