"""The number of threads to use."""

from numbers import Integral

from joblib import effective_n_jobs


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
