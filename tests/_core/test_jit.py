"""Compiled functions: kept on disk where there is a place, and working without."""

import numba
import pytest
from numba.core import caching

from lordclust._core.jit import njit


def twice(x):
    return 2 * x


def test_no_folder_can_be_written(monkeypatch):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    with pytest.raises(RuntimeError, match="cannot cache function"):
        numba.njit(cache=True)(twice)
    assert njit(twice)(4.0) == 8.0


def test_they_are_kept_on_disk(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert njit(twice)(4.0) == 8.0
    assert list(tmp_path.rglob("*.nbi"))
