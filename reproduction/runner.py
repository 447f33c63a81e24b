"""Run cells on several processes, and save each as soon as it is finished."""

import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits

from lordclust._core.versions import machine_facts
from reproduction.experiments import RUN
from reproduction.store import Cell, Record, Store


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
        The file of finished cells.
    jobs : int, default=1
        Processes, each with one thread.
    report : callable, optional
        Called after every cell with the cell, its record (with ``"error"`` if it
        failed), and the number of cells left.
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
    """Return the record of a cell, or its error."""
    # joblib limits the threads of other processes only, not those of jobs=1.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the record holds whether it converged
        try:
            record = RUN[cell.kind](cell)
        except Exception as error:  # the others go on
            return cell, {"error": f"{type(error).__name__}: {error}"}
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return cell, {**cell.place, **record, "finished": when, "facts": machine_facts()}
