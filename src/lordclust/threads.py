"""How many threads to use."""

from joblib import effective_n_jobs


def count_threads(n_jobs: int | None) -> int:
    """Return the threads to use; None means all cores, one inside a joblib worker.

    Results do not depend on the number, so using the machine is a safe default.
    """
    return int(effective_n_jobs(-1 if n_jobs is None else n_jobs))
