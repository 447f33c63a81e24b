"""OpenMP in forked children.

Its threads do not live on in a child that a process forks, and a child that has work
for them waits for ever: scikit-learn and faiss do, if the parent has used them. One
thread works alone, and gives the same results.
"""

import os
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from threadpoolctl import threadpool_limits

#: The process that imported this.
HOME = os.getpid()


def is_forked() -> bool:
    """Tell whether this process was forked after the import."""
    return os.getpid() != HOME


def openmp() -> AbstractContextManager[Any]:
    """Return a context for work of scikit-learn: a forked child does it alone.

    Examples
    --------
    >>> with openmp():
    ...     pass
    """
    return threadpool_limits(1, "openmp") if is_forked() else nullcontext()
