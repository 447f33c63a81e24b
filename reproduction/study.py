"""A study from its cells to results, tables and figures."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from lordclust._core.validation import unknown_name
from lordclust.datasets.synthetic import MIXTURES
from lordclust.files.atomic import atomic_file
from reproduction import inputs
from reproduction.experiments import collect
from reproduction.items import Item, chosen
from reproduction.paper import METHODS, SETS
from reproduction.plan import OTHERS, OWN, RESTARTS, Plan
from reproduction.results import Results, lacking, to_text
from reproduction.runner import missing, run_cells
from reproduction.store import Cell, Record, Store

#: Names of the files in the folder of a run.
CELLS, RESULTS = "cells.jsonl", "results.json"

Report = Callable[[Cell, Record, int], None]


class Study:
    """Tables and figures of the paper, computed again.

    Parameters
    ----------
    names : str or iterable of str
        Tables and figures, or "all": see ``reproduction.items.ITEMS``.
    folder : str or Path, default="reproduction-output"
        For the finished cells, the results, tables and figures. A run that was
        stopped, in whatever way, continues from what is there.
    only, methods : iterable of str, optional
        Data sets and methods; all by default.
    restarts : int, default=50
        Largest number of random starts, and of roundings of one solution.
    known : results, optional
        Only what these lack is run.

    Examples
    --------
    >>> import tempfile
    >>> run = Study("table-acc", tempfile.mkdtemp(), only=["wine"],
    ...                    methods=["sc"])
    >>> [cell.method for cell in run.cells()]
    ['sc']
    """

    def __init__(
        self,
        names: str | Iterable[str] = "all",
        folder: str | Path = "reproduction-output",
        *,
        only: Iterable[str] = (),
        methods: Iterable[str] = (),
        restarts: int = RESTARTS,
        known: Results | None = None,
    ) -> None:
        self.known = known
        self.items = chosen([names] if isinstance(names, str) else names)
        self.folder = Path(folder)
        self.plan = Plan(
            _known("data set", only, (*SETS, *MIXTURES)),
            _known("method", methods, (*METHODS, *OTHERS, *OWN, "gmm")),
            restarts,
        )

    @property
    def store(self) -> Path:
        """The file of finished cells."""
        return self.folder / CELLS

    def cells(self) -> list[Cell]:
        """Return the cells of all items, each once."""
        found = (cell for item in self.items for cell in item.cells(self.plan))
        cells = list({cell.key: cell for cell in found}.values())
        return cells if self.known is None else lacking(self.known, cells)

    def missing(self) -> list[Cell]:
        """Return the cells that are still to be run."""
        return missing(self.cells(), self.store)

    def check_data(self) -> None:
        """Raise if a data set that is still needed cannot be loaded."""
        for name in dict.fromkeys(cell.data for cell in self.missing()):
            if name not in MIXTURES:
                inputs.data(name)

    def run(self, jobs: int = 1, report: Report = lambda *_: None) -> None:
        """Run what is missing; each finished cell is saved at once."""
        run_cells(self.missing(), self.store, jobs=jobs, report=report)

    def results(self, *, complete: bool = False) -> Results:
        """Return the results of the finished cells.

        ``complete``: only of entries all of whose cells are finished.
        """
        cells, records = self.cells(), Store(self.store).records()
        if complete:
            waiting = {c.entry for c in cells if c.key not in records}
            cells = [c for c in cells if c.entry not in waiting]
        return collect(cells, records)

    def write(self) -> list[Path]:
        """Write results, tables and figures; return the files."""
        results = self.results()
        # As it will be read from the file, so that figures from both are the same.
        results = json.loads(to_text(results))
        written = [_text(self.folder / RESULTS, to_text(results))]
        for item in self.items:
            written += write_item(item, results, self.folder)
        return written


def write_item(item: Item, results: Results, folder: Path) -> list[Path]:
    """Write a table (Markdown and CSV) or a figure (PNG); return the files."""
    if not item.is_table:
        path = folder / f"{item.name}.png"
        with atomic_file(path, force=True) as out:
            item.make(results).savefig(out, format="png", dpi=130)
        return [path]
    made = item.tables(results)
    page = "\n\n".join(f"## {table.title}\n\n{table.markdown()}" for table in made)
    files = [_text(folder / f"{item.name}.md", page + "\n")]
    for place, table in enumerate(made):
        name = item.name if len(made) == 1 else f"{item.name}-{place + 1}"
        files.append(_text(folder / f"{name}.csv", table.csv()))
    return files


def _text(path: Path, text: str) -> Path:
    """Write a file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path, force=True, text=True) as out:
        out.write(text)
    return path


def _known(what: str, names: Iterable[str], all_names: Iterable[str]) -> list[str]:
    """Return the names, each one checked."""
    known, wanted = list(all_names), list(names)
    for name in wanted:
        if name not in known:
            raise unknown_name(what, name, known)
    return wanted
