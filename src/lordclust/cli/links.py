"""``--must-link`` and ``--cannot-link``: pairs of samples, named by their ids."""

from __future__ import annotations

import csv
from typing import Any, NamedTuple

import numpy as np

from lordclust._core.typing import IntArray
from lordclust.cli.samples import Samples
from lordclust.files.error import InputError
from lordclust.files.text import sniffed

#: Number of broken links that the summary names.
FEW = 5


class Pairs(NamedTuple):
    """The pairs of both options, as positions of samples; None if not given."""

    must: IntArray | None = None
    cannot: IntArray | None = None

    @property
    def n_links(self) -> int:
        """The number of links."""
        return sum(len(pairs) for pairs in self if pairs is not None)


#: No links.
NONE = Pairs()


def read_pairs(file: str, samples: Samples) -> IntArray:
    """Return the pairs of a csv file with two columns of ids, as an (m, 2) array.

    Ids are those of the output. A first line without an id is a header.
    """
    place: dict[str, int] = {}
    for i, name in enumerate(map(str, samples.ids)):
        place[name] = i if name not in place else -1
    pairs: list[list[int]] = []
    for number, cells in enumerate(_cells(file), 1):
        if number == 1 and not any(cell in place for cell in cells):
            continue
        if len(cells) != 2:
            raise InputError(
                file,
                f"line {number} must be two ids, separated by a comma, got "
                f"{', '.join(cells)!r}.",
            )
        pairs.append([_place(cell, place, file) for cell in cells])
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _cells(file: str) -> list[list[str]]:
    """Return the cells of each line that is not empty."""
    try:
        with open(file, encoding="utf-8-sig", newline="") as opened:
            lines = opened.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InputError(file, f"{why}. Pass a csv file of pairs of ids.") from None
    rows = csv.reader(lines, delimiter=sniffed(lines[:20]))
    return [[cell.strip() for cell in row] for row in rows if row]


def _place(cell: str, place: dict[str, int], file: str) -> int:
    """Return the position of the sample with an id."""
    found = place.get(cell)
    if found is None:
        raise InputError(
            file,
            f"{cell!r} is not the id of a sample. Ids are those in the first column of "
            f"the output, such as {next(iter(place))!r}.",
        )
    if found < 0:
        raise InputError(
            file,
            f"{cell!r} is the id of several samples. Use --id-column to name a column "
            "of unique ids, or --id-column none to number the samples from 0.",
        )
    return found


def kept(model: Any, pairs: Pairs, samples: Samples) -> str:
    """Return how many links the labels meet, and which they break."""
    broken, total = model.broken_links_, pairs.n_links
    text = f"{total - len(broken)} of {total} links are met"
    if not len(broken):
        return text
    names = [f"{samples.ids[i]} and {samples.ids[j]}" for i, j in broken[:FEW]]
    names += ["..."] if len(broken) > FEW else []
    return f"{text}; broken: {', '.join(names)}. To meet all, use --links hard"
