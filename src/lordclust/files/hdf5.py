"""Checks of HDF5 files before anndata, which reads everything, opens them."""

import math
import mmap
import zlib
from typing import TYPE_CHECKING, Any

from lordclust.files.error import ROOM, InputError, allowance, check_unpacked
from lordclust.files.source import Source

if TYPE_CHECKING:
    from h5py import Dataset, Group

#: Largest number of groups and datasets in a file, and of groups within groups.
MOST_ITEMS, DEEPEST = 100_000, 32
_GZIP = 1
#: How many times its size a compressed chunk may unpack to.
_GZIP_RATIO = 1032


def check_hdf5(source: Source) -> None:
    """Raise an error for links to other files, or an implausible unpacked size.

    Everything is counted once per link, because it is read once per link.
    """
    import h5py  # anndata needs it too

    with h5py.File(source.path, "r") as file:
        _Inspection(source, h5py).group(file, 0)


class _Inspection:
    """Walk through a file and add up the memory that reading it would take."""

    def __init__(self, source: Source, h5py: Any) -> None:
        self.h5py, self.path = h5py, source.path
        self.most = allowance(source.size)
        self.longest = _longest_text(source)
        self.items = self.total = 0

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
        if not item.dtype.hasobject:
            self._add(int(item.size) * max(item.dtype.itemsize, 8))  # as float64
            self._chunks(item, name)
        elif item.ndim == 1 and item.dtype.kind == "O":
            step = max(1, ROOM // self.longest)
            for begin in range(0, item.size, step):
                texts = item[begin : begin + step]
                self._add(sum(len(t) for t in texts if hasattr(t, "__len__")))
        else:
            self._add(int(item.size) * self.longest * len(item.dtype.names or "x"))

    def _attributes(self, item: "Group | Dataset") -> None:
        """Add the bytes of attributes, as if each text were the longest."""
        for name in item.attrs:
            about = item.attrs.get_id(name)
            if about.dtype.hasobject:
                self._add(math.prod(map(int, about.shape)) * self.longest)

    def _chunks(self, item: "Dataset", name: str) -> None:
        """Unpack large compressed chunks: they may hold more than they claim."""
        plist = item.id.get_create_plist()
        filters = [plist.get_filter(i)[0] for i in range(plist.get_nfilters())]
        if _GZIP not in filters:
            return
        most = item.dtype.itemsize * math.prod(item.chunks)
        for i in range(item.id.get_num_chunks()):
            about = item.id.get_chunk_info(i)
            if about.size * _GZIP_RATIO < ROOM and filters.count(_GZIP) == 1:
                continue
            packed = item.id.read_direct_chunk(about.chunk_offset)[1]
            if len(zlib.decompressobj().decompress(packed, most + 1)) > most:
                raise self._invalid(f"packs more into {name!r} than it claims")

    def _add(self, count: int) -> None:
        """Count bytes."""
        self.total += count
        advice = "Write it without compression if it is yours."
        check_unpacked(self.path, self.total, self.most, advice)

    def _invalid(self, what: str) -> InputError:
        """Return the error for something that anndata never writes."""
        return InputError(
            self.path,
            f"it {what}, which anndata never writes. Read it with anndata and write it "
            "again if you trust it.",
        )


def _longest_text(source: Source) -> int:
    """Return the largest possible length of a text of variable length.

    Texts are stored in heaps, and many cells may point to one text. The library finds a
    heap by its signature, and a text lies within one heap.
    """
    longest, signature = 4096, b"GCOL\x01"
    if source.size == 0:
        return longest
    with (
        open(source.path, "rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        at = content.find(signature)
        while at >= 0:
            claimed = int.from_bytes(content[at + 8 : at + 16], "little")
            longest = max(longest, min(claimed, source.size))
            at = content.find(signature, at + 1)
    return longest
