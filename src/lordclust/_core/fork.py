"""OpenMP threads of scikit-learn.

They do not survive a fork: if the parent has used them, a child that needs them waits
forever. They also wait for each other in a loop: if other programs run, k-means on a
few hundred samples takes 100 times as long as with one thread. Results are the same.
"""

import os
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from threadpoolctl import threadpool_limits

from lordclust._core.blas import thread_pools

#: The process that imported this module.
HOME = os.getpid()
#: From this many multiplications at a time on, several threads pay off.
LARGE = 2_000_000


def openmp(work: float = LARGE) -> AbstractContextManager[Any]:
    """Return a context for calls of scikit-learn, with one thread if work is small.

    ``work`` is the number of multiplications between two points where threads wait for
    each other. A forked process always has one thread.
    """
    if os.getpid() != HOME:
        forked: AbstractContextManager[Any] = threadpool_limits(1, "openmp")
        return forked
    if work >= LARGE:
        return nullcontext()
    limit: AbstractContextManager[Any] = thread_pools("openmp").limit(limits=1)
    return limit  # it holds from here on, not from __enter__ on
