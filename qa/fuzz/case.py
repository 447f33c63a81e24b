"""A generated input as one JSON file, so that a failure can be run again.

Inputs consist of JSON values and bytes.
"""

import base64
import json
from pathlib import Path
from typing import Any

#: Marks bytes among JSON's dictionaries.
BYTES = "base64"


def encoded(case: Any) -> str:
    """Return an input as text; NaN and infinity are written as Python does."""
    return json.dumps(case, default=_as_text)


def decoded(text: str) -> Any:
    """Return the input of :func:`encoded`."""
    return json.loads(text, object_hook=_as_bytes)


def _as_text(value: Any) -> dict[str, str]:
    if not isinstance(value, bytes):
        raise TypeError(f"inputs must be JSON or bytes, not {type(value).__name__}")
    return {BYTES: base64.b64encode(value).decode()}


def _as_bytes(value: dict[str, Any]) -> Any:
    return base64.b64decode(value[BYTES]) if list(value) == [BYTES] else value


def write(path: Path, failure: dict[str, Any]) -> None:
    """Write a failure with its complete input."""
    path.write_text(encoded(failure) + "\n", encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    """Return a failure that was written."""
    found: dict[str, Any] = decoded(path.read_text(encoding="utf-8"))
    return found
