"""Properties that are computed once, without a lock."""

import multiprocessing as mp
import sys
from threading import Barrier, Thread

import pytest

from lordclust._core.lazy import lazy_property


class Slow:
    def __init__(self, compute):
        self.compute, self.calls = compute, 0

    @lazy_property
    def value(self):
        """What it is."""
        self.calls += 1
        return self.compute()


def test_computed_once():
    slow = Slow(lambda: [1])
    assert slow.value is slow.value
    assert slow.calls == 1
    assert Slow.value.__doc__ == "What it is."


def test_two_instances_compute_at_the_same_time():
    both = Barrier(2)
    first, second = (Slow(lambda: both.wait(timeout=20)) for _ in range(2))
    thread = Thread(target=lambda: first.value)
    thread.start()
    assert second.value in (0, 1)  # breaks the barrier if one waits for the other
    thread.join()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_forked_meanwhile_computes_its_own():
    inside, leave = Barrier(2), Barrier(2)

    def compute():
        inside.wait(timeout=20)
        leave.wait(timeout=20)

    thread = Thread(target=lambda: Slow(compute).value)
    thread.start()
    inside.wait(timeout=20)
    child = mp.get_context("fork").Process(target=lambda: Slow(int).value)
    child.start()
    child.join(timeout=20)
    hung = child.is_alive()
    child.kill()
    leave.wait(timeout=20)
    thread.join()
    assert not hung
