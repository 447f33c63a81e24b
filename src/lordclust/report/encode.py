"""Encode arrays and text for a page: compact, and safe to embed."""

import base64
import json
from html import escape

import numpy as np

from lordclust._core.typing import FloatArray, IntArray

#: Invisible characters that affect the text around them: controls, and overrides of
#: the direction of writing.
_CONTROLS = dict.fromkeys(
    (
        *(c for c in range(0x20) if chr(c) not in "\t\n\r"),
        *range(0x7F, 0xA0),
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
    ),
    "\ufffd",
)
#: Clusters per sample that a page stores; the remaining probability is spread evenly.
TOP = 5


def top_clusters(
    P: FloatArray, labels: IntArray, top: int = TOP
) -> tuple[IntArray, IntArray]:
    """Return the most probable clusters of each row, its label first, and 255 P."""
    rank = P.copy()
    rows = np.arange(len(P))
    rank[rows, labels] += 1.0  # with exact sizes a label need not be the most probable
    order = np.argsort(-rank, axis=1, kind="stable")[:, :top]
    parts = np.rint(255 * np.take_along_axis(P, order, axis=1)).astype(np.uint8)
    kind = np.uint8 if P.shape[1] <= 256 else np.uint16
    return order.astype(kind), parts


def as_grid(places: FloatArray) -> IntArray:
    """Return positions on a grid of 65,536 x 65,536, with the same aspect ratio."""
    low, high = places.min(axis=0), places.max(axis=0)
    span = float((high - low).max()) or 1.0
    unit = 0.5 + (places - (low + high) / 2) / span
    return np.asarray(np.rint(65535 * np.clip(unit, 0, 1)), dtype=np.uint16)


def packed(A: FloatArray | IntArray) -> str:
    """Return the bytes of an array, little-endian, in base64."""
    return base64.b64encode(A.astype(A.dtype.newbyteorder("<")).tobytes()).decode()


def plain(text: str) -> str:
    r"""Return text with control characters shown as a question mark."""
    return text.translate(_CONTROLS)


def inert_html(text: str) -> str:
    """Return text as HTML that shows exactly this text."""
    return escape(plain(text))


def inert_json(value: object) -> str:
    r"""Return JSON that cannot close or open a tag in the page around it."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    # JSON has these only inside strings, where escapes mean the same.
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text
