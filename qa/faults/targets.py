"""The commands that are tested, the files they write, and how these are checked."""

import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lordclust.files import read_archive

#: Text that may differ between runs: durations and dates.
CLOCK = re.compile(
    rb'"(seconds|finished|began|t_[a-z]+|time)": ("[^"]*"|[0-9.e+-]+)|'
    rb"<td>[0-9.]+ ?s</td>"
)


@dataclass(frozen=True)
class Target:
    """A command to test.

    Attributes
    ----------
    key : str
        Its name on the command line of ``qa.faults``.
    name : str
        What it does.
    arguments : tuple of str
        Of ``lordclust``, or of ``python -m`` if the first one is "reproduction"; run
        in a folder with ``samples.npy``.
    outputs : tuple of str
        Files that exist when it is done; read back and compared.
    before : tuple of tuple of str
        Commands to run first, undisturbed.
    watched : str
        The folder in which files are written.
    """

    key: str
    name: str
    arguments: tuple[str, ...]
    outputs: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = ()
    watched: str = "."

    def prepare(self, folder: Path) -> None:
        """Write the input of the command."""
        (folder / self.watched).mkdir(parents=True)
        np.save(folder / "samples.npy", samples())


def samples(n: int = 400, k: int = 6) -> Any:
    """Return samples of overlapping Gaussians."""
    rng = np.random.default_rng(0)
    centres = 1.5 * rng.normal(size=(k, 8))
    return centres[np.arange(n) % k] + rng.normal(size=(n, 8))


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_FIT = "fit samples.npy -k 6 --proportions equal --jobs 1"
_FILES = "-o labels.csv --proba p.csv --model m.lord --json facts.json"

TARGETS = (
    Target(
        "fit",
        "fit --checkpoint",
        _words(f"{_FIT} --tau 1 {_FILES} --checkpoint run.ckpt"),
        ("labels.csv", "p.csv", "m.lord", "facts.json"),
    ),
    Target(
        "path",
        "path --checkpoint",
        _words(
            "path samples.npy -k 6 --jobs 1 -o path.csv --labels labels.csv "
            "--taus 0.02:1:0.02 --checkpoint run.ckpt"
        ),
        ("path.csv", "labels.csv"),
    ),
    Target(
        "reproduce",
        "reproduce",
        _words(
            "reproduction table-synthetic --only synthetic-50-50-50-50 --methods gmm "
            "--restarts 2 --jobs 1 -o out"
        ),
        (
            "out/cells.jsonl",
            "out/results.json",
            "out/table-synthetic.md",
            *(f"out/table-synthetic-{i}.csv" for i in (1, 2, 3, 4)),
        ),
        watched="out",
    ),
    Target(
        "report",
        "report",
        _words("report m.lord samples.npy -o page.html --force"),
        ("page.html",),
        before=(_words(f"{_FIT} --tau 0.3 -o labels.csv --model m.lord"),),
    ),
    Target(
        "model",
        "fit --model, over an earlier one",
        _words(f"{_FIT} --tau 0.3 {_FILES} --force"),
        ("labels.csv", "p.csv", "m.lord", "facts.json"),
        before=(_words(f"{_FIT} --tau 0.1 {_FILES}"),),
    ),
)


# -- checks of files ------------------------------------------------------------------


def check_folder(folder: Path) -> list[str]:
    """Return what is wrong with the files of a folder, except for hidden parts."""
    faults = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.startswith("."):
            fault = check_file(path)
            if fault:
                faults.append(f"{path.name}: {fault}")
    return faults


def parts(folder: Path) -> list[str]:
    """Return the names of hidden files that were left."""
    return [p.name for p in folder.rglob(".lordclust-*")]


def check_file(path: Path) -> str:
    """Return why a file is incomplete, or an empty text."""
    try:
        CHECKS[path.suffix](path.read_bytes(), path)
    except Exception as error:  # readers raise many errors for a damaged file
        return f"{type(error).__name__}: {error}"
    return ""


def _csv(data: bytes, path: Path) -> None:
    rows = list(csv.reader(io.StringIO(data.decode())))
    assert data.endswith(b"\n"), "the last line is incomplete"
    assert len(rows) > 1, "no rows"
    assert len({len(row) for row in rows}) == 1, "rows of different lengths"


def _archive(data: bytes, path: Path) -> None:
    read_archive(path)


def _lines(data: bytes, path: Path) -> None:
    complete, _, _ = data.rpartition(b"\n")  # a torn last line is dropped by the reader
    for line in complete.splitlines():
        json.loads(line)


def _page(data: bytes, path: Path) -> None:
    assert data.rstrip().endswith(b"</html>"), "the page is incomplete"


def _text(data: bytes, path: Path) -> None:
    assert data.endswith(b"\n"), "the last line is incomplete"


CHECKS: dict[str, Callable[[bytes, Path], None]] = {
    ".csv": _csv,
    ".json": lambda data, path: json.loads(data),
    ".jsonl": _lines,
    ".lord": _archive,
    ".ckpt": _archive,
    ".outputs": lambda data, path: json.loads(data),
    ".html": _page,
    ".md": _text,
    ".npy": lambda data, path: np.load(path),
}


def content(folder: Path, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the content of the files without durations and dates."""
    return {name: _content(folder / name) for name in names}


def _content(path: Path) -> Any:
    if not path.exists():
        return None
    data = CLOCK.sub(b"", path.read_bytes())
    # Cells are in the order in which they finished.
    return sorted(data.splitlines()) if path.suffix == ".jsonl" else data
