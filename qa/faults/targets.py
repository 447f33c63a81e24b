"""What is struck: commands, the files they write, and what must be true of these."""

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

#: What a run may say differently: how long it took, and when.
CLOCK = re.compile(
    rb'"(seconds|finished|began|t_[a-z]+|time)": ("[^"]*"|[0-9.e+-]+)|'
    rb"<td>[0-9.]+ ?s</td>"
)


@dataclass(frozen=True)
class Target:
    """A command to strike.

    Attributes
    ----------
    key : str
        What it is called on the command line.
    name : str
        What is done.
    arguments : tuple of str
        Of ``lordclust``, in a folder with ``samples.npy``.
    outputs : tuple of str
        Files that are there when it is done; read back and compared.
    before : tuple of tuple of str
        Commands that are run first, undisturbed.
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
        """Write what the command reads."""
        (folder / self.watched).mkdir(parents=True)
        np.save(folder / "samples.npy", samples())


def samples(n: int = 400, k: int = 6) -> Any:
    """Return samples of Gaussians that touch."""
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


# -- what must be true of files, whatever happened ------------------------------------


def check_folder(folder: Path) -> list[str]:
    """Return what is wrong with the files of a folder; hidden parts are no files."""
    faults = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.startswith("."):
            fault = check_file(path)
            if fault:
                faults.append(f"{path.name}: {fault}")
    return faults


def parts(folder: Path) -> list[str]:
    """Return the names of hidden files that were left behind."""
    return [p.name for p in folder.rglob(".lordclust-*")]


def check_file(path: Path) -> str:
    """Return why a file is not whole, or nothing."""
    try:
        CHECKS[path.suffix](path.read_bytes(), path)
    except Exception as error:  # whatever a reader says of a damaged file
        return f"{type(error).__name__}: {error}"
    return ""


def _csv(data: bytes, path: Path) -> None:
    rows = list(csv.reader(io.StringIO(data.decode())))
    assert data.endswith(b"\n"), "the last line is cut"
    assert len(rows) > 1, "no rows"
    assert len({len(row) for row in rows}) == 1, "rows of different lengths"


def _archive(data: bytes, path: Path) -> None:
    read_archive(path)


def _lines(data: bytes, path: Path) -> None:
    whole, _, _ = data.rpartition(b"\n")  # a torn last line is dropped by the reader
    for line in whole.splitlines():
        json.loads(line)


def _page(data: bytes, path: Path) -> None:
    assert data.rstrip().endswith(b"</html>"), "the page is cut"


def _text(data: bytes, path: Path) -> None:
    assert data.endswith(b"\n"), "the last line is cut"


CHECKS: dict[str, Callable[[bytes, Path], None]] = {
    ".csv": _csv,
    ".json": lambda data, path: json.loads(data),
    ".jsonl": _lines,
    ".lord": _archive,
    ".ckpt": _archive,
    ".html": _page,
    ".md": _text,
    ".npy": lambda data, path: np.load(path),
}


def content(folder: Path, names: tuple[str, ...]) -> dict[str, Any]:
    """Return what is in the files, but for what clocks say."""
    return {name: _content(folder / name) for name in names}


def _content(path: Path) -> Any:
    if not path.exists():
        return None
    data = CLOCK.sub(b"", path.read_bytes())
    # Cells are in the order in which they were finished.
    return sorted(data.splitlines()) if path.suffix == ".jsonl" else data
