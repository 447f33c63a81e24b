"""The one error that a bad file gives, and how far a packed file is trusted."""

from pathlib import Path

#: Bytes that a packed file may always unpack to.
ROOM = 256 * 2**20
#: Above that, how many times its own size: real data stay below, bombs reach 1000.
RATIO = 200


class InputError(ValueError):
    """A file that cannot be read or written, told in one sentence.

    Attributes
    ----------
    path : str
        The file, as it was given.

    Examples
    --------
    >>> print(InputError("cells.csv", "the file is empty. Give it a row a sample."))
    cells.csv: the file is empty. Give it a row a sample.
    """

    def __init__(self, path: str | Path, message: str) -> None:
        super().__init__(str(path), message)
        self.path = str(path)
        self.message = message

    def __str__(self) -> str:
        name = {"-": "standard input"}.get(self.path, self.path)
        return f"{name}: {self.message}"


def allowance(packed: int) -> int:
    """Return how many bytes may be unpacked from so many.

    Examples
    --------
    >>> allowance(0) // 2**20
    256
    """
    return ROOM + RATIO * packed
