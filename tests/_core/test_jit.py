"""Compiled functions: kept on disk where there is a place, and working without."""

import importlib
import sys

import numba
import pytest
from numba.core import caching

from lordclust._core.jit import inlined, njit

CALLER = """
from lordclust._core.jit import njit_with
import {0}_constant as other

@njit_with(other)
def times(x):
    return x * other.FACTOR
"""


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


@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize("optimised", [True, False])
def test_inlined_functions_have_no_code_of_their_own(counts, optimised):
    inner = inlined(twice, counts=counts, optimised=optimised)

    @njit
    def outer(x):
        return inner(x) + 1

    assert outer(4.0) == 9.0
    code = outer.inspect_asm(outer.signatures[0]).splitlines()
    assert not [line for line in code if "twice" in line and "@function" in line]


def test_an_edit_in_another_module_is_noticed(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "jit_caller.py").write_text(CALLER.format("jit"))
    for factor in (3.0, 5.0, 3.0):
        (tmp_path / "jit_constant.py").write_text(f"FACTOR = {factor}\n")
        importlib.invalidate_caches()
        caller = importlib.import_module("jit_caller")
        assert caller.times(2.0) == 2.0 * factor
        assert caller.times.py_func.__qualname__ == "times"
        hits = sum(caller.times.stats.cache_hits.values())
        del sys.modules["jit_caller"], sys.modules["jit_constant"]
    assert hits == 1
    assert len(list((tmp_path / "cache").rglob("*.nbi"))) == 2
