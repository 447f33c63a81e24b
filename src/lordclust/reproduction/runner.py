"""Run cells on several processes; what is finished is on disk."""

import platform
import warnings
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path

from joblib import Parallel, delayed, parallel_config

from lordclust.reproduction import protocol
from lordclust.reproduction.store import Cell, Record, Store

PACKAGES = ("lordclust", "numpy", "scipy", "scikit-learn", "numba")


def run_cells(
    cells: Iterable[Cell],
    path: Path,
    *,
    jobs: int = 1,
    report: Callable[[Cell, Record, int], None] = lambda *_: None,
) -> None:
    """Run the cells that the file does not hold yet, and append them to it.

    Parameters
    ----------
    cells : iterable of Cell
        In the order to run them.
    path : Path
        The file of results.
    jobs : int, default=1
        Processes, each with one thread.
    report : callable, optional
        Told of every finished cell: the cell, its record (with ``"error"`` if it
        failed), and how many are left.
    """
    store = Store(path)
    done = store.records()
    todo = [cell for cell in cells if cell.key not in done]
    with parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1):
        parallel = Parallel(return_as="generator_unordered")
        finished = parallel(delayed(_run)(cell) for cell in todo)
        for left, (cell, record) in zip(range(len(todo))[::-1], finished, strict=True):
            if "error" not in record:
                store.append(cell, record)
            report(cell, record, left)


def facts() -> dict[str, str]:
    """Return the versions that figures depend on."""
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }


def _run(cell: Cell) -> tuple[Cell, Record]:
    """Return the record of a cell, or what went wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # converged or not is in the record
        try:
            return cell, {**protocol.run(cell), "facts": facts()}
        except Exception as error:  # the cell says why, the others go on
            return cell, {"error": f"{type(error).__name__}: {error}"}
