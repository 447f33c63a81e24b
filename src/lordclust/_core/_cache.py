"""numba's cache on disk, which may fail in any way without an error.

numba reads damaged files as they are, and lets every error of a disk pass: a flipped
byte in machine code may even change results. Here each file ends with its digest.
After any failure the function is compiled in memory, and its files are written again
where that is possible.
"""

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from numba.core.caching import FunctionCache, IndexDataCacheFile

LOG = logging.getLogger("lordclust")
_DIGEST_BYTES = sha256().digest_size


class Entry(NamedTuple):
    """Compiled code, with what it was compiled from.

    Two processes that write at once may choose the same file for two signatures, and a
    full disk may leave an old file that a new index names.
    """

    source: object
    key: object
    code: object


class DigestFiles(IndexDataCacheFile):
    """The files of a function, each with a digest at its end, which pickle ignores."""

    def save(self, key: object, data: object) -> None:
        """Write the code of one signature."""
        super().save(key, Entry(self._source_stamp, key, data))

    def load(self, key: object) -> Any:
        """Return the code of one signature, or None if there is none."""
        entry = super().load(key)
        fresh = entry is not None and entry[:2] == (self._source_stamp, key)
        return entry.code if fresh else None

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
        with super()._open_for_write(filepath) as file:
            content = io.BytesIO()
            yield content
            file.write(content.getvalue() + sha256(content.getbuffer()).digest())

    def _load_index(self) -> Any:
        check_digest(self._index_path)
        return super()._load_index()

    def _load_data(self, name: str) -> Any:
        check_digest(self._data_path(name))
        return super()._load_data(name)


class SafeCache(FunctionCache):
    """numba's cache of one function, without its exceptions."""

    told = False  # one line per process

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file = DigestFiles(
            cache_path=self._cache_path,
            # Not the names of files without a digest.
            filename_base=f"{self._impl.filename_base}.sha",
            source_stamp=self._impl.locator.get_source_stamp(),
        )

    @contextmanager
    def _guard_against_spurious_io_errors(self) -> Iterator[None]:
        """Go on without what could not be read or written."""
        try:
            yield
        except Exception as error:
            self._tell(error)
            try:
                self.flush()  # to begin with an empty index
            except Exception:
                self.disable()

    def _tell(self, error: Exception) -> None:
        """Log the first failure of this process."""
        if not SafeCache.told:
            SafeCache.told = True
            LOG.warning(
                "the cache of compiled code in %s failed, so it is compiled again: %s",
                self._cache_path, error or type(error).__name__,
            )  # fmt: skip


def check_digest(path: str) -> None:
    """Raise an error if a file is there but not as it was written."""
    with suppress(FileNotFoundError):
        content = Path(path).read_bytes()
        if sha256(content[:-_DIGEST_BYTES]).digest() != content[-_DIGEST_BYTES:]:
            raise ValueError(f"{path} is damaged.")
