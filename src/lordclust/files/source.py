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
from lordclust.files.error import ContentError, allowance, check_unpacked

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

#: Largest number of characters of a line.
LINE = 64 * 2**20
_BLOCK = 1 << 20
#: Encodings by byte order mark; that of UTF-32 begins with that of UTF-16.
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class NotUtf8Error(ContentError):
    """A text that was taken for UTF-8 and is not."""


@dataclass(frozen=True)
class Source:
    """A file that may be opened several times; "-" is standard input.

    Attributes
    ----------
    path : str
        As it was given.
    encoding : str, optional
        Of text; by default it is detected.
    """

    path: str
    encoding: str | None = None

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

    @lazy_property
    def detected(self) -> str:
        """The encoding: that of a byte order mark, otherwise UTF-8."""
        if self.encoding is not None:
            utf8 = codecs.lookup(self.encoding).name == "utf-8"
            return "utf-8-sig" if utf8 else self.encoding
        with self.open() as raw:
            head = raw.read(_BLOCK)
        for mark, name in _MARKS.items():
            if head.startswith(mark):
                return name
        even, odd = head[:1000:2].count(0), head[1:1000:2].count(0)
        if even + odd > len(head[:1000]) // 3:  # Latin letters in UTF-16
            return "utf-16-le" if odd > even else "utf-16-be"
        return "utf-8"

    def fall_back(self) -> None:
        """Read text that is not UTF-8 as cp1252 from now on."""
        vars(self)["detected"] = "cp1252"

    @property
    def note(self) -> str | None:
        """A sentence on an encoding that was guessed."""
        name = vars(self).get("detected", "utf-8")
        if self.encoding is not None or name.startswith("utf-8"):
            return None
        return (
            f"the text is not UTF-8 and is read as {name}. Choose otherwise with "
            "encoding (--encoding)."
        )

    @contextmanager
    def lines(self) -> Iterator[Iterator[str]]:
        """Yield the lines of a text, with their line ends."""

        def bounded() -> Iterator[str]:
            while line := text.readline(LINE):
                if len(line) == LINE:  # an endless line must not fill the memory
                    raise ContentError(
                        f"a line is longer than {LINE // 2**20} million characters. "
                        "Write one sample per line, or use another format."
                    )
                yield line

        name = self.detected
        with self.open() as raw:
            text = io.TextIOWrapper(raw, name, newline="")
            try:
                yield bounded()
            except UnicodeError:
                place = self._first_bad(name) or "it is truncated"
                kind = NotUtf8Error if name == "utf-8" else ContentError
                raise kind(
                    f"the text is not of the encoding {name} ({place}). Save it as "
                    "UTF-8, or pass its encoding with encoding (--encoding)."
                ) from None

    def _first_bad(self, encoding: str) -> str | None:
        """Return where the first byte is that is not of an encoding."""
        decoder, seen = codecs.getincrementaldecoder(encoding)(), 0
        with self.open() as raw:
            while True:
                block = raw.read(_BLOCK)
                kept = len(decoder.getstate()[0])
                try:
                    decoder.decode(block, final=not block)
                except UnicodeDecodeError as error:
                    at, value = seen - kept + error.start, error.object[error.start]
                    return f"byte {value:#04x} at position {at}"
                if not block:
                    return None
                seen += len(block)


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
            self.read_so_far, self.most, "Unpack it first (gunzip) if it is yours."
        )
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self.file.close()
        super().close()
