"""Read and write files: tables, arrays, graphs and archives of plain arrays.

>>> import tempfile
>>> from pathlib import Path
>>> from lordclust import files
>>> path = Path(tempfile.mkdtemp()) / "points.csv"
>>> files.write_table(path, {"id": ["a", "b"], "x": [0.5, 1.5], "y": [2.0, 3.0]})
>>> table = files.read(path)
>>> table.ids, table.names, table.X.tolist()
(['a', 'b'], ['x', 'y'], [[0.5, 2.0], [1.5, 3.0]])
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lordclust.files.archive import read_archive, write_archive
    from lordclust.files.atomic import all_or_none, atomic_file
    from lordclust.files.error import InputError
    from lordclust.files.reading import read
    from lordclust.files.table import Table
    from lordclust.files.writing import write_table

# Loaded on first use: the command line needs the error, but not numpy.
_HOME = {
    "InputError": "error",
    "Table": "table",
    "all_or_none": "atomic",
    "atomic_file": "atomic",
    "read": "reading",
    "read_archive": "archive",
    "write_archive": "archive",
    "write_table": "writing",
}
__all__ = ["InputError", "Table", "all_or_none", "atomic_file", "read", "read_archive",
           "write_archive", "write_table"]  # fmt: skip


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f"lordclust.files.{_HOME[name]}"), name)
    raise AttributeError(f"module 'lordclust.files' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
