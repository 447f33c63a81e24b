"""The number of threads to use."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Integral

from joblib import effective_n_jobs

#: Threads of the fit that is running, for work that has no parameter for it.
_OF_FIT: ContextVar[int | None] = ContextVar("threads of a fit", default=None)


@contextmanager
def fit_threads(n_jobs: object) -> Iterator[None]:
    """Let ``threads_of_fit`` return the number of threads of ``n_jobs``, for a while.

    Examples
    --------
    >>> with fit_threads(3):
    ...     threads_of_fit()
    3
    """
    before = _OF_FIT.set(count_threads(n_jobs))
    try:
        yield
    finally:
        _OF_FIT.reset(before)


def threads_of_fit() -> int:
    """Return the number of threads of the fit that is running, or joblib's."""
    found = _OF_FIT.get()
    return count_threads(None) if found is None else found


def count_threads(n_jobs: object) -> int:
    """Return the number of threads; -1 means all cores, one inside a joblib worker.

    None is one thread, or the number that a ``joblib.parallel_config`` context sets.
    Results do not depend on it, so that -1 is a safe default.
    """
    if n_jobs is None:
        return int(effective_n_jobs(None))
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be an integer other than 0, got {n_jobs!r}. Pass the number "
            "of threads, or -1 for all cores."
        )
    return int(effective_n_jobs(int(n_jobs)))
