"""OpenMP in forked processes.

OpenMP threads do not survive a fork: if the parent has used them, a child that needs
them waits forever, in scikit-learn for example. With one thread it works, and results
are the same.
"""

import os
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from threadpoolctl import threadpool_limits

#: The process that imported this module.
HOME = os.getpid()


def openmp() -> AbstractContextManager[Any]:
    """Return a context for calls of scikit-learn; one thread in a forked process."""
    return threadpool_limits(1, "openmp") if os.getpid() != HOME else nullcontext()
