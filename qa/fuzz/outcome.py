"""What may come of an input, and what may not."""

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
#: Who may refuse an input by a sentence of its own: we, and scikit-learn's checks.
SPEAKERS = (LIBRARY, str(Path("sklearn", "utils")), str(Path("sklearn", "neighbors")))


class Outcome(NamedTuple):
    """What came of an input: of which sort it was, and how it ended."""

    group: str
    kind: str


class Broken(AssertionError):  # noqa: N818
    """A promise that an input broke, and what came instead."""

    def __init__(self, promise: str, came: object = "") -> None:
        super().__init__(promise, came)
        self.promise, self.came = promise, came

    def __str__(self) -> str:
        return f"broken: {self.promise}. {self.came}"


def require(holds: Any, promise: str, came: object = "") -> None:
    """Fail unless a promise holds."""
    if not holds:
        raise Broken(promise, came)


def require_finite(values: Any, name: str) -> None:
    """Fail on NaN or infinity, dense or sparse."""
    values = values.data if sparse.issparse(values) else np.asarray(values)
    require(np.isfinite(values).all(), f"{name} is finite")


def require_refusal(error: Exception) -> None:
    """Fail unless an error is a sentence that somebody wrote for users.

    Its last line in the traceback is a ``raise`` of the library (or of the checks of
    scikit-learn that it calls), not a crash deep in an array.
    """
    if memory_in(error):
        raise Broken("memory is asked for only where it is plausible") from error
    if not isinstance(error, ValueError | TypeError) or not _was_raised(error):
        raise error
    require_sentence(str(error))


def require_sentence(text: str) -> None:
    """Fail unless a message can be read: not empty, and printable throughout."""
    shown = text.replace("\n", " ")  # scikit-learn's checks take several lines
    require(shown.strip(), "an error says something")
    require(shown.isprintable(), "an error is printable", ascii(shown[:300]))


def require_input_error(error: Exception) -> None:
    """Fail unless an error is the one that a bad file gives."""
    if memory_in(error):
        raise Broken("memory is asked for only where it is plausible") from error
    if not isinstance(error, InputError):
        raise error
    require_sentence(str(error))
    require("\n" not in str(error), "a bad file is told in one line")


def memory_in(error: BaseException | None) -> bool:
    """Tell whether memory ran out, whatever became of that error."""
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _was_raised(error: Exception) -> bool:
    """Tell whether an error comes from a raise statement of those who may."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    line = linecache.getline(last.filename, last.lineno or 0).strip()
    return line.startswith("raise ") and any(s in last.filename for s in SPEAKERS)


@contextmanager
def heeded_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Give the warnings as they come; one about arithmetic is a failure."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        yield heard
    for warning in heard:
        if issubclass(warning.category, RuntimeWarning):
            place = f"{Path(warning.filename).name}:{warning.lineno}"
            raise Broken(f"no arithmetic goes wrong ({place})", warning.message)
