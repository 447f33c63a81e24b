"""Garbage collection pauses during imports and compilation, and goes on after them."""

import gc
import multiprocessing
import subprocess
import sys
import threading

import pytest

from lordclust._core import collection
from lordclust._core.collection import paused
from lordclust._core.compiling import Clock

LOADS = """
import gc, sys
from importlib.abc import MetaPathFinder

class Watch(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "sklearn.base":
            print(gc.isenabled())

sys.meta_path.insert(0, Watch())
from lordclust import BLoRD
print(gc.isenabled())
"""


def test_imports_are_without():
    out = subprocess.run(
        [sys.executable, "-c", LOADS], capture_output=True, text=True, check=True
    ).stdout
    assert out.splitlines() == ["False", "True"]


def test_compilation_is_without():
    clock = Clock()
    clock.noticed = True
    clock.begin()
    clock.begin()  # a function that is part of another
    clock.end()
    assert not gc.isenabled()
    clock.end()
    assert gc.isenabled()


def test_the_last_to_leave_ends_it():
    entered, leave = threading.Event(), threading.Event()

    def stay():
        with paused():
            entered.set()
            leave.wait(60)

    thread = threading.Thread(target=stay)
    thread.start()
    entered.wait(60)
    with paused(), paused():
        assert not gc.isenabled()
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_it_stays_off_where_it_was_off():
    gc.disable()
    try:
        with paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not forked")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_collects():
    states = multiprocessing.get_context("fork").SimpleQueue()
    with paused():
        child = multiprocessing.get_context("fork").Process(
            target=lambda: states.put((gc.isenabled(), collection._pause.inside))
        )
        child.start()
        child.join(60)
    assert states.get() == (True, 0)
