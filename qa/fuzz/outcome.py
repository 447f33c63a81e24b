"""Allowed outcomes of an input."""

import linecache
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import lordclust
from lordclust.files import InputError

LIBRARY = str(Path(lordclust.__file__).parent)
#: Code that may refuse an input with a message: ours, and scikit-learn's validation.
RAISERS = (LIBRARY, str(Path("sklearn", "utils")), str(Path("sklearn", "neighbors")))


class Outcome(NamedTuple):
    """The kind of an input, and how it ended."""

    group: str
    kind: str


class Broken(AssertionError):  # noqa: N818
    """A promise that an input broke, and the value received instead."""

    def __init__(self, promise: str, found: object = "") -> None:
        super().__init__(promise, found)
        self.promise, self.found = promise, found

    def __str__(self) -> str:
        return f"broken: {self.promise}. {self.found}"


def require(holds: Any, promise: str, found: object = "") -> None:
    """Fail unless a promise holds."""
    if not holds:
        raise Broken(promise, found)


def require_finite(values: Any, name: str) -> None:
    """Fail on NaN or infinity, dense or sparse."""
    values = values.data if sparse.issparse(values) else np.asarray(values)
    require(np.isfinite(values).all(), f"{name} is finite")


def require_refusal(error: Exception) -> None:
    """Fail unless an error is a message written for users.

    Its last line in the traceback is a ``raise`` of the library (or of scikit-learn's
    validation), not a crash deep in an array operation.
    """
    if memory_in(error):
        raise Broken("memory is allocated only where it is plausible") from error
    if not isinstance(error, ValueError | TypeError) or not _was_raised(error):
        raise error
    require_sentence(str(error))


def require_sentence(text: str) -> None:
    """Fail unless a message is not empty and printable."""
    shown = text.replace("\n", " ")  # scikit-learn's messages have several lines
    require(shown.strip(), "an error has a message")
    require(shown.isprintable(), "an error is printable", ascii(shown[:300]))


def require_input_error(error: Exception) -> None:
    """Fail unless an error is an InputError with one line."""
    if memory_in(error):
        raise Broken("memory is allocated only where it is plausible") from error
    if not isinstance(error, InputError):
        raise error
    require_sentence(str(error))
    require("\n" not in str(error), "a bad file gives one line")


def memory_in(error: BaseException | None) -> bool:
    """Return whether memory ran out, directly or as the cause of another error."""
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _was_raised(error: Exception) -> bool:
    """Return whether an error comes from an allowed raise statement."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    line = linecache.getline(last.filename, last.lineno or 0).strip()
    return line.startswith("raise ") and any(s in last.filename for s in RAISERS)


@contextmanager
def recorded_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Record warnings; one about arithmetic is a failure."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught
    for warning in caught:
        if issubclass(warning.category, RuntimeWarning):
            place = f"{Path(warning.filename).name}:{warning.lineno}"
            raise Broken(f"no arithmetic goes wrong ({place})", warning.message)
