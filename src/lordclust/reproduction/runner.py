"""Run cells on several processes; what is finished is on disk."""

import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

from joblib import Parallel, delayed, parallel_config

from lordclust.reproduction.machine import facts
from lordclust.reproduction.store import Cell, Record, Store
from lordclust.reproduction.work import KINDS


def missing(cells: Iterable[Cell], path: Path) -> list[Cell]:
    """Return the cells that the file does not hold yet, each once, in their order."""
    done = Store(path).records()
    wanted = {cell.key: cell for cell in cells}
    return [cell for key, cell in wanted.items() if key not in done]


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
    todo = missing(cells, path)
    with (
        Store(path).writing() as writer,
        parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1),
    ):
        parallel = Parallel(return_as="generator_unordered", batch_size=1)
        finished = parallel(delayed(_run)(cell) for cell in todo)
        for left, (cell, record) in zip(range(len(todo))[::-1], finished, strict=True):
            if "error" not in record:
                writer.append(cell, record)
            report(cell, record, left)


def _run(cell: Cell) -> tuple[Cell, Record]:
    """Return the record of a cell, or what went wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # converged or not is in the record
        try:
            record = KINDS[cell.kind](cell)
        except Exception as error:  # the cell says why, the others go on
            return cell, {"error": f"{type(error).__name__}: {error}"}
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return cell, {**cell.place, **record, "finished": when, "facts": facts()}
