"""How many threads to use."""

from numbers import Integral
from typing import Any

from joblib import effective_n_jobs


def count_threads(n_jobs: Any) -> int:
    """Return the threads to use; None means all cores, one inside a joblib worker.

    Results do not depend on the number, so using the machine is a safe default.

    Examples
    --------
    >>> count_threads(3)
    3
    """
    if n_jobs is None:
        n_jobs = -1
    whole = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
    if not whole or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be a whole number other than 0, got {n_jobs!r}. Pass how "
            "many threads to use, or None for all cores."
        )
    return int(effective_n_jobs(int(n_jobs)))
