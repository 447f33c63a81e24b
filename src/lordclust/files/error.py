"""The one error that a bad file gives, and how far a packed file is trusted."""

from pathlib import Path

#: Bytes that a packed file may always unpack to; fewer of text, as what is made of it
#: takes up to ten times the memory.
ROOM, TEXT_ROOM = 256 * 2**20, 64 * 2**20
#: Above that, how many times its own size: real data stay below, bombs reach 1000.
RATIO = 200
#: Characters of a message; names in a file may be of any length.
LONGEST = 1000


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
        return printable(f"{name}: {self.message}")


def printable(text: str) -> str:
    r"""Return text that a terminal shows and does not obey, its middle cut if long.

    Examples
    --------
    >>> printable("no column 'a\x1b[2J'")
    "no column 'a\\x1b[2J'"
    """
    if len(text) > LONGEST:
        half = LONGEST // 2
        text = f"{text[:half]} ... {text[-half:]}"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def allowance(packed: int, *, text: bool = False) -> int:
    """Return how many bytes may be unpacked from so many.

    Examples
    --------
    >>> allowance(0) // 2**20, allowance(2**20, text=True) // 2**20
    (256, 264)
    """
    return (TEXT_ROOM if text else ROOM) + RATIO * packed
