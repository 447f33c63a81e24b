"""Compiled functions: kept on disk where there is a place, and working without."""

import importlib
import os
import subprocess
import sys

import numba
import pytest
from numba.core import caching
from numba.core.compiler import Flags

from lordclust._core import _inlining
from lordclust._core._cache import SafeCache
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


def test_equal_settings_are_one_object():
    flags = Flags()
    flags.nrt = True
    one, two = (_inlining.OwnFlags(flags).copy() for _ in range(2))
    assert one is two
    assert (one, hash(one), one.values()) == (flags, hash(flags), flags.values())
    changed = one.copy()
    changed.nrt = False
    assert not changed.values()["nrt"]
    assert changed != one
    assert one.values()["nrt"]


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


KERNEL = """
import resource, sys
from lordclust._core.jit import njit

@njit
def half(x):
    return x / 2

if "full" in sys.argv:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
print(half(1.0), sum(half.stats.cache_hits.values()))
"""
DAMAGES = {
    "flipped": lambda b: b[:99] + bytes([b[99] ^ 4]) + b[100:],
    "cut": lambda b: b[: len(b) // 2],
    "empty": lambda b: b"",
    "zeros": lambda b: bytes(len(b)),
}


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """The cache is in a folder of its own, and nothing has failed."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(SafeCache, "told", False)
    return tmp_path


def cache_hits(kernel):
    return sum(kernel.stats.cache_hits.values())


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cache_is_written_again(cache, caplog, suffix, damage):
    hits = []
    for step in ("write", "damage", "read"):
        if step == "damage":
            [file] = cache.rglob(f"*.{suffix}")
            file.write_bytes(DAMAGES[damage](file.read_bytes()))
        kernels = njit(twice), njit(twice)  # the second one reads
        assert [kernel(4.0) for kernel in kernels] == [8.0, 8.0]
        hits += [cache_hits(kernel) for kernel in kernels]
    assert hits == [0, 1, 0, 1, 1, 1]
    [line] = caplog.messages
    assert line.endswith(f"{file} is damaged.")


def test_the_code_of_another_signature_is_not_used(cache):
    # Two processes that write at once may leave this.
    first = njit(twice)
    assert first(4.0) == 8.0
    assert first(4) == 8
    one, two = sorted(cache.rglob("*.nbc"))
    one.write_bytes(two.read_bytes())
    again = njit(twice)
    assert again(4.0) == 8.0
    assert cache_hits(again) == 0


def test_a_folder_that_disappears(cache, caplog):
    kernel = njit(twice)
    [folder] = cache.iterdir()
    folder.rmdir()
    cache.joinpath(folder.name).write_text("a file in its place")
    assert kernel(4.0) == 8.0
    assert kernel(4) == 8
    assert len(caplog.messages) == 1


def start_kernel(file, *args):
    """Start a process that runs a small kernel."""
    return subprocess.Popen(
        [sys.executable, file, *args],
        env=os.environ | {"NUMBA_CACHE_DIR": str(file.parent)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on files")
def test_a_full_disk_and_two_processes_at_once(tmp_path):
    file = tmp_path / "kernel.py"
    file.write_text(KERNEL)
    out, log = start_kernel(file, "full").communicate(timeout=120)
    assert out == "0.5 0\n"
    assert log.count("\n") == 1
    assert "File too large" in log
    assert not list(tmp_path.rglob("*.tmp.*"))
    for process in [start_kernel(file), start_kernel(file)]:
        out, log = process.communicate(timeout=120)
        assert (out[:4], log) == ("0.5 ", "")
    out, log = start_kernel(file).communicate(timeout=120)
    assert (out, log) == ("0.5 1\n", "")
