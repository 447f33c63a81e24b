"""One BLAS thread, for a while.

The last bits of a BLAS result depend on its threads. For matrices of k columns further
threads cost more than they save: they wait for each other in a loop, 10 times as long
as the work itself takes if other programs run. After that they wait for work in a loop,
for some 30 ms, on processors that threads of other code need.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from typing import Any, TypeVar, cast

from threadpoolctl import ThreadpoolController

Method = TypeVar("Method", bound=Callable[..., Any])
#: From this many numbers on, products of samples are worth several BLAS threads.
LARGE = 5_000_000


class _Limit:
    """How many threads are inside the context, and what the last one restores."""

    def __init__(self, saved: Any = None) -> None:
        self.lock, self.inside, self.saved = threading.Lock(), 0, saved


_limit = _Limit()


def _forget_other_threads() -> None:
    """Begin again in a forked process, which has none of the threads inside."""
    global _limit
    _limit = _Limit(_limit.saved)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_other_threads)


@cache
def thread_pools(kind: str) -> Any:
    """Return the BLAS or OpenMP libraries of this process.

    To find them takes 30 ms; scikit-learn looks for them as well, and keeps them.
    """
    import scipy.linalg  # noqa: F401  (it loads a BLAS of its own)

    try:
        from sklearn.utils.parallel import _get_threadpool_controller as find
    except ImportError:  # pragma: no cover
        find = ThreadpoolController
    return find().select(user_api=kind)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread; the last to leave restores the number."""
    limit = _limit
    with limit.lock:
        if limit.inside == 0:
            if limit.saved is None:
                limit.saved = [
                    # Version 3.8 of threadpoolctl heeds only the first calling thread.
                    (getattr(one, "_real_set_num_threads", one.set_num_threads),
                     one.get_num_threads())
                    for one in thread_pools("blas").lib_controllers
                ]  # fmt: skip
            for set_threads, _ in limit.saved:
                set_threads(1)
        limit.inside += 1
    try:
        yield
    finally:
        with limit.lock:
            limit.inside -= 1
            if limit.inside == 0:
                for set_threads, count in limit.saved:
                    set_threads(count)
                limit.saved = None


def serial_if_small(method: Method) -> Method:
    """Let a method of an estimator use one BLAS thread if its X is not large.

    For an estimator with n x n matrices (``max_dense``) their size counts.
    """

    @wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        X = kwargs["X"] if len(args) < 2 else args[1]
        dense = hasattr(args[0], "max_dense")
        size = X.shape[0] ** 2 if dense else getattr(X, "size", 0)
        if isinstance(size, int) and size >= LARGE:
            return method(*args, **kwargs)
        with one_blas_thread():
            return method(*args, **kwargs)

    return cast(Method, wrapped)
