"""Checks of HDF5 files before anndata, which reads everything, opens them."""

import math
import mmap
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from lordclust.files.error import ROOM, ContentError, allowance, check_unpacked
from lordclust.files.source import Source

if TYPE_CHECKING:
    from h5py import Dataset, Group

#: Largest number of groups and datasets in a file, and of groups within groups.
MOST_ITEMS, DEEPEST = 100_000, 32
#: Filters of chunks: compression, and bytes ordered by their significance.
_GZIP, _SHUFFLE = 1, 2
#: Bytes of a text as it is stored: its length, and where it is.
_REFERENCE = 16
#: The class of types of variable length.
_VARIABLE = 9
#: How many times its size a compressed chunk may unpack to.
_GZIP_RATIO = 1032


def check_hdf5(source: Source) -> None:
    """Raise an error for links to other files, or an implausible unpacked size.

    Everything is counted once per link, because it is read once per link.
    """
    import h5py  # anndata needs it too

    with (
        h5py.File(source.path, "r") as file,
        open(source.path, "rb") as raw,
        mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        _Inspection(source, h5py, content).group(file, 0)


class _Inspection:
    """Walk through a file and add up the memory that reading it would take."""

    def __init__(self, source: Source, h5py: Any, content: mmap.mmap) -> None:
        self.h5py, self.content = h5py, content
        self.most = allowance(source.size)
        self.longest = _longest_text(content)
        self.items = self.total = 0
        self.seen: set[str] = set()  # names of attributes

    def group(self, group: "Group", depth: int) -> None:
        """Inspect everything in a group."""
        self._attributes(group)
        for name in group:
            self.items += 1
            if self.items > MOST_ITEMS or depth > DEEPEST:
                raise self._invalid(
                    f"holds groups in groups without end, or more than {MOST_ITEMS} "
                    "items"
                )
            if type(group.get(name, getlink=True)) is not self.h5py.HardLink:
                raise self._invalid(f"links {name!r} to another place or file")
            item = group[name]
            if isinstance(item, self.h5py.Group):
                self.group(item, depth + 1)
            elif isinstance(item, self.h5py.Dataset):
                self._attributes(item)
                self._dataset(item, name)

    def _dataset(self, item: "Dataset", name: str) -> None:
        """Add the bytes of a dataset."""
        if item.is_virtual or item.external:
            raise self._invalid(f"takes {name!r} from another file")
        if item.size is None:
            return
        if item.dtype.hasobject:
            size, places = self._text_places(item.id.get_type(), name)
            for block in self._blocks(item, name, size):
                self._texts(block, size, places, name)
        else:
            self._add(int(item.size) * max(item.dtype.itemsize, 8))  # as float64
            for _ in self._blocks(item, name, item.dtype.itemsize, large=True):
                pass

    def _attributes(self, item: "Group | Dataset") -> None:
        """Add the bytes of the texts in attributes."""
        for name in item.attrs:
            about = item.attrs.get_id(name)
            if not about.dtype.hasobject:
                continue
            if name in self.seen:
                continue
            self.seen.add(name)
            stored = list(_attribute_texts(self.content, name.encode()))
            if not stored:
                raise self._invalid(f"stores the attribute {name!r} in another way")
            for begin, count in stored:
                block = self.content[begin : begin + _REFERENCE * count]
                self._texts(block, _REFERENCE, [0], name)

    def _text_places(self, kind: Any, name: str) -> tuple[int, list[int]]:
        """Return the size of an element as it is stored, and where its texts are."""
        h5t = self.h5py.h5t
        if isinstance(kind, h5t.TypeStringID) and kind.is_variable_str():
            return _REFERENCE, [0]
        if isinstance(kind, h5t.TypeCompoundID):
            size, places = kind.get_size(), []
            for i in range(kind.get_nmembers()):
                inner = kind.get_member_type(i)
                stored, found = self._text_places(inner, name)
                begin = kind.get_member_offset(i) + size - kind.get_size()
                places += [begin + place for place in found]
                size += stored - inner.get_size()  # a pointer in memory is smaller
            return size, places
        if isinstance(kind, h5t.TypeVlenID | h5t.TypeReferenceID | h5t.TypeArrayID):
            raise self._invalid(f"holds {name!r} of type {type(kind).__name__}")
        return kind.get_size(), []

    def _texts(self, block: bytes, size: int, places: list[int], name: str) -> None:
        """Add the lengths of texts: the library allocates what they claim."""
        cells = np.frombuffer(block[: len(block) // size * size], np.uint8)
        for place in places:
            lengths = cells.reshape(-1, size)[:, place : place + 4].copy().view("<u4")
            if lengths.max(initial=0) > self.longest:
                raise self._invalid(f"claims a text in {name!r} that it does not hold")
            self._add(int(lengths.sum(dtype=np.int64)))

    def _blocks(
        self, item: "Dataset", name: str, size: int, *, large: bool = False
    ) -> Iterator[bytes]:
        """Yield stored elements of a size, only large compressed chunks if ``large``.

        These are unpacked, because they may hold more than they claim.
        """
        plist, h5d = item.id.get_create_plist(), self.h5py.h5d
        filters = [plist.get_filter(i)[0] for i in range(plist.get_nfilters())]
        chunked = plist.get_layout() == h5d.CHUNKED
        if large and not (chunked and _GZIP in filters):
            return
        if plist.get_layout() == h5d.CONTIGUOUS:
            begin = item.id.get_offset() or 0
            yield self.content[begin : begin + item.id.get_storage_size()]
        elif not chunked or not {*filters} <= {_GZIP, _SHUFFLE}:
            if not large:  # of a filter that only the library knows
                self._add(int(item.size) * len(item.dtype.names or "x") * self.longest)
            return
        most = size * math.prod(item.chunks or ())
        for i in range(item.id.get_num_chunks() if chunked else 0):
            about = item.id.get_chunk_info(i)
            small = about.size * _GZIP_RATIO < ROOM and filters.count(_GZIP) == 1
            if large and small:
                continue
            block = item.id.read_direct_chunk(about.chunk_offset)[1]
            if _GZIP in filters:
                block = zlib.decompressobj().decompress(block, most + 1)
            if len(block) > most:
                raise self._invalid(f"packs more into {name!r} than it claims")
            if _SHUFFLE in filters and not large:
                block = np.frombuffer(block, np.uint8).reshape(size, -1).T.tobytes()
            yield block

    def _add(self, count: int) -> None:
        """Count bytes."""
        self.total += count
        advice = "Write it without compression if it is yours."
        check_unpacked(self.total, self.most, advice)

    def _invalid(self, what: str) -> ContentError:
        """Return the error for something that anndata never writes."""
        return ContentError(
            f"it {what}, which anndata never writes. Read it with anndata and write it "
            "again if you trust it."
        )


def _longest_text(content: mmap.mmap) -> int:
    """Return the largest possible length of a text of variable length.

    Texts are stored in heaps, and many cells may point to one text. The library finds a
    heap by its signature, and a text lies within one heap.
    """
    longest, signature = 4096, b"GCOL\x01"
    at = content.find(signature)
    while at >= 0:
        claimed = int.from_bytes(content[at + 8 : at + 16], "little")
        longest = max(longest, min(claimed, len(content)))
        at = content.find(signature, at + 1)
    return longest


def _attribute_texts(content: mmap.mmap, name: bytes) -> Iterator[tuple[int, int]]:
    """Yield where the texts of each attribute of this name begin, and their number.

    An attribute is stored as its version, a byte, the lengths of its name, type and
    shape, then these three and its data. In version 1 each is padded to eight bytes; in
    version 3 a byte for the encoding precedes the name.
    """
    at = content.find(name + b"\0")
    while at >= 0:
        for version, head, step in ((1, 8, 8), (2, 8, 1), (3, 9, 1)):
            if at < head or content[at - head] != version:
                continue
            sizes = np.frombuffer(content[at - head + 2 : at - head + 8], "<u2")
            kind, shape, data = at + np.cumsum(sizes + -sizes % step, dtype=np.int64)
            if sizes[0] != len(name) + 1 or data > len(content):
                continue
            if content[kind] & 0xF == _VARIABLE:
                begin = shape + (8 if content[shape] == 1 else 4)
                lengths = content[begin : begin + 8 * content[shape + 1]]
                yield int(data), math.prod(np.frombuffer(lengths, "<u8").tolist())
        at = content.find(name + b"\0", at + 1)
