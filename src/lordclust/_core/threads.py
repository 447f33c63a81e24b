"""The number of threads to use."""

from numbers import Integral

from joblib import effective_n_jobs


def count_threads(n_jobs: object) -> int:
    """Return the number of threads; None means all cores, one inside a joblib worker.

    Results do not depend on it, so all cores are a safe default.
    """
    if n_jobs is None:
        n_jobs = -1
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be an integer other than 0, got {n_jobs!r}. Pass the number "
            "of threads, or None for all cores."
        )
    return int(effective_n_jobs(int(n_jobs)))
