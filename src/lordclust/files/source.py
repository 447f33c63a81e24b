"""Bytes from a file, a compressed file, or standard input."""

import codecs
import gzip
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from lordclust._core.lazy import lazy_property
from lordclust.files.error import InputError, allowance, check_unpacked

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

#: Largest number of characters of a line.
LINE = 64 * 2**20
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Source:
    """A file that may be opened several times; "-" is standard input.

    Attributes
    ----------
    path : str
        As it was given.
    """

    path: str

    @lazy_property
    def _input(self) -> bytes:
        """The content of standard input."""
        return sys.stdin.buffer.read()

    @property
    def size(self) -> int:
        """Bytes of the file, as it is stored."""
        if self.path == "-":
            return len(self._input)
        return Path(self.path).stat().st_size

    def open(self) -> IO[bytes]:
        """Open the file for reading, decompressed if the name ends in .gz."""
        if self.path == "-":
            return io.BytesIO(self._input)
        if not self.path.lower().endswith(".gz"):
            return open(self.path, "rb")
        bounded = _Bounded(gzip.GzipFile(self.path), self)
        return cast(IO[bytes], io.BufferedReader(bounded, _BLOCK))

    @contextmanager
    def lines(self) -> Iterator[Iterator[str]]:
        """Yield the lines of a text in UTF-8, with their line ends."""

        def bounded() -> Iterator[str]:
            while line := text.readline(LINE):
                if len(line) == LINE:  # an endless line must not fill the memory
                    raise InputError(
                        self.path,
                        f"a line is longer than {LINE // 2**20} million characters. "
                        "Write one sample per line, or use another format.",
                    )
                yield line

        with self.open() as raw:
            text = io.TextIOWrapper(raw, "utf-8-sig", newline="")
            try:
                yield bounded()
            except UnicodeDecodeError:
                raise self._not_text() from None

    def _not_text(self) -> InputError:
        """Return the error that names the first byte that is not UTF-8."""
        decoder, seen = codecs.getincrementaldecoder("utf-8")(), 0
        with self.open() as raw:
            while block := raw.read(_BLOCK):
                kept = len(decoder.getstate()[0])
                try:
                    decoder.decode(block)
                except UnicodeDecodeError as error:
                    at, value = seen - kept + error.start, error.object[error.start]
                    place = f"byte {value:#04x} at position {at}"
                    break
                seen += len(block)
            else:
                place = "the file is truncated"
        return InputError(
            self.path,
            f"the text is not UTF-8 ({place}). Save it as UTF-8, or pass its format.",
        )


class _Bounded(io.RawIOBase):
    """A compressed file that raises an error if its unpacked size is not plausible."""

    def __init__(self, file: gzip.GzipFile, source: Source) -> None:
        self.file, self.source = file, source
        self.most, self.read_so_far = allowance(source.size, text=True), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)
        data = self.file.read(len(view))
        self.read_so_far += len(data)
        check_unpacked(
            self.source.path,
            self.read_so_far,
            self.most,
            "Unpack it first (gunzip) if it is yours.",
        )
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self.file.close()
        super().close()
