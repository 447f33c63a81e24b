"""Graphs as lists of edges."""

from array import array
from collections.abc import Iterable, Sequence

import numpy as np
from scipy import sparse

from lordclust._core.typing import FloatArray, IntArray
from lordclust.files.error import ContentError
from lordclust.files.source import Source
from lordclust.files.table import Matrix, ReadOptions, Table


def read_edges(source: Source, options: ReadOptions) -> Table:
    """Read lines "a b" or "a b weight" as a symmetric graph.

    Lines that begin with # or % are comments. Words are separated by tabs if the line
    has one, so that ids may contain spaces, otherwise by blanks. Samples are numbered
    as they first appear. An edge without weight has weight 1. Of a -> b and b -> a the
    larger weight is used; duplicate edges raise an error, because it is unclear
    whether their weights should be added.
    """
    with source.lines() as lines:
        ids, ends, weights, places = _parsed(lines)
    if not weights:
        raise ContentError("there are no edges. Write lines 'a b weight'.")
    S = _joined(ids, np.array(ends).reshape(-1, 2), np.array(weights), places)
    return Table(S, ids=ids)


def _parsed(
    lines: Iterable[str],
) -> tuple[list[str], "array[int]", "array[float]", "array[int]"]:
    """Return samples, the two ends of each edge, the weights, and the lines.

    They are arrays, because lists of numbers take ten times the memory.
    """
    number: dict[str, int] = {}
    ends, weights, places = array("q"), array("d"), array("q")
    for place, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text[0] in "#%":
            continue
        words = text.split("\t") if "\t" in text else text.split()
        a, b, weight = _edge([word.strip() for word in words], place)
        ends.extend(number.setdefault(v, len(number)) for v in (a, b))
        weights.append(weight)
        places.append(place)
    return list(number), ends, weights, places


def _edge(words: list[str], place: int) -> tuple[str, str, float]:
    """Return the two samples of a line, and the weight."""
    if len(words) not in (2, 3) or not all(words):
        raise ContentError(
            f"line {place} has {len(words)} words, but an edge has 2 or 3: 'a b' or "
            "'a b weight'. Use tabs if ids contain spaces."
        )
    if len(words) == 2:
        return words[0], words[1], 1.0
    try:
        weight = float(words[2])
    except ValueError:
        weight = np.nan
    if not np.isfinite(weight):
        raise ContentError(
            f"a weight must be a finite number, got {words[2]!r} in line {place}. "
            "Correct it."
        )
    return words[0], words[1], weight


def _joined(
    ids: list[str], ends: IntArray, weights: FloatArray, places: Sequence[int]
) -> Matrix:
    """Return the symmetric graph with the larger weight of the two directions."""
    n = len(ids)
    low, high = ends.min(axis=1), ends.max(axis=1)
    backward = ends[:, 0] > ends[:, 1]
    key = low.astype(np.int64) * n + high
    order = np.lexsort((backward, key))
    key, backward = key[order], backward[order]
    again = np.flatnonzero((key[1:] == key[:-1]) & (backward[1:] == backward[:-1]))
    if again.size:
        first, second = sorted(places[order[again[0] + i]] for i in (0, 1))
        a, b = (ids[i] for i in ends[order[again[0]]])
        raise ContentError(
            f"the edge from {a!r} to {b!r} is in line {first} and again in line "
            f"{second}. Add their weights or leave one out."
        )
    starts = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    w = np.maximum.reduceat(weights[order], starts)
    i, j = low[order][starts], high[order][starts]
    apart = i != j
    rows, columns = np.append(i, j[apart]), np.append(j, i[apart])
    data = np.append(w, w[apart])
    return sparse.csr_array((data, (rows, columns)), shape=(n, n))
