"""Changes to bytes and to JSON documents, drawn at random."""

import copy
import json
from collections.abc import Callable
from random import Random
from typing import Any

#: Numbers that often cause bugs.
ODD_NUMBERS: list[Any] = [
    0, -1, 1, 2, 127, 128, 255, 256, 65535, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63,
    2**64, 10**30, -(2**31), -(2**63), 0.5, -0.5, 1e-320, 1e308, -1e308, 1e-12,
    float("nan"), float("inf"), float("-inf"),
]  # fmt: skip
ODD_TEXTS = [
    "", " ", "nan", "inf", "-", "1e400", "1_000", "0x10", "None", "é", "\u0000",
    "\x1b[31m", "a\nb", "\ufeff", "9" * 400, "../../x", "%s", "{}", "auto", "id",
]  # fmt: skip
ODD_VALUES: list[Any] = [
    *ODD_NUMBERS, *ODD_TEXTS, None, True, False, [], {}, [[]], [1, [2]], {"": 0},
    {"array": "membership_"}, {"array": "no"}, {"tuple": []}, {"tuple": 5},
    {"float": "nan"}, {"float": "inf"}, {"csr": ["affinity_matrix_", 3, 3]},
    {"KNNGraph": {}}, {"KNNGraph": {"n_neighbors": -1}},
]  # fmt: skip
_WORDS = [
    *(str(number).encode() for number in ODD_NUMBERS),
    *(text.encode() for text in ODD_TEXTS),
    b",", b";", b"\t", b"\n", b"\r\n", b'"', b"'", b"\x00", b"\xff", b"\xff" * 4,
    b"\x00\x00\x00\x80", b"PK\x03\x04", b"\x93NUMPY", b"PAR1", b"\x89HDF\r\n",
    b"%%MatrixMarket", b"\x1f\x8b", b"(", b")", b"{", b"}", b"|O", b"<f8", b">i2",
]  # fmt: skip


def _flip(data: bytes, at: int, word: bytes, size: int) -> bytes:
    changed = bytearray(data)
    changed[at : at + 1] = (
        bytes([data[at] ^ (1 << size % 8)]) if at < len(data) else b""
    )
    return bytes(changed)


def _twice(data: bytes, at: int, word: bytes, size: int) -> bytes:
    part = data[at : at + size]
    return data[:at] + part * min(64, 2 + size % 63) + data[at + size :]


def _digits(data: bytes, at: int, word: bytes, size: int) -> bytes:
    """Replace the number at or after a place."""
    start = next((i for i in range(at, len(data)) if data[i : i + 1].isdigit()), None)
    if start is None:
        return data
    end = start
    while data[end : end + 1].isdigit():
        end += 1
    return data[:start] + word + data[end:]


#: Changes of bytes: from a place on, with a word and a length.
_CHANGES: dict[str, Callable[[bytes, int, bytes, int], bytes]] = {
    "flip": _flip,
    "cut": lambda data, at, word, size: data[:at],
    "drop": lambda data, at, word, size: data[:at] + data[at + size :],
    "insert": lambda data, at, word, size: data[:at] + word + data[at:],
    "overwrite": lambda data, at, word, size: data[:at] + word + data[at + len(word) :],
    "twice": _twice,
    "digits": _digits,
    "shift": lambda data, at, word, size: data[at:],
}
_NAMES = list(_CHANGES)


def changed(rng: Random, data: bytes, most: int = 6) -> bytes:
    """Return bytes changed at a few places, sometimes at none."""
    for _ in range(rng.randint(0, most)):
        change = _CHANGES[rng.choice(_NAMES)]
        at = rng.randrange(max(1, len(data)))
        word = rng.choice(_WORDS) if rng.random() < 0.7 else rng.randbytes(4)
        data = change(data, at, word, rng.randint(1, 64))[: 1 << 20]
    return data


def changed_document(rng: Random, document: Any, most: int = 3) -> Any:
    """Return a JSON document with a few values replaced, dropped or exchanged."""
    document = copy.deepcopy(document)
    for _ in range(rng.randint(1, most)):
        places = list(_places(document))
        if not places:
            break
        holder, key = rng.choice(places)
        what = rng.choice(["replace", "replace", "drop", "exchange"])
        if what == "drop":
            del holder[key]
        elif what == "exchange":
            other, there = rng.choice(places)
            holder[key] = copy.deepcopy(other[there])
        else:
            holder[key] = copy.deepcopy(rng.choice(ODD_VALUES))
    return document


def _places(document: Any) -> Any:
    """Yield all places in a document as a holder and a key; long lists in part."""
    keys: list[Any] = []
    if isinstance(document, dict):
        keys = list(document)
    elif isinstance(document, list):
        keys = list(range(min(len(document), 6)))
    for key in keys:
        yield document, key
        yield from _places(document[key])


def as_json(document: Any) -> bytes:
    """Return a document as bytes; NaN is written as Python does."""
    return json.dumps(document).encode("utf-8", "surrogatepass")
