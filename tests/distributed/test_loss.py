"""A worker is killed in the middle of a fit, which ends as if it had not been."""

import os
import signal
import threading

import numpy as np
import pytest
from sklearn.datasets import load_digits

from lordclust.distributed import BLoRD, _driver, _rows
from lordclust.graph import KNNGraph

X = load_digits().data[:150]
CUTS = (40, 90, 120)
PATH = {"tau": 0.04, "proportions": None, "start": "path"}
pytestmark = pytest.mark.filterwarnings("ignore:BLoRD stopped")


def kill_before(monkeypatch, client, owner, method, call=1):
    """Have a worker killed before the nth call of a method; return whether it was."""
    done = threading.Event()
    count, original = [0], getattr(owner, method)

    def counted(self, *args):
        count[0] += 1
        if count[0] == call:
            victim = self.crew.members[-1].address
            pid = client.run(os.getpid, workers=[victim])[victim]
            os.kill(pid, signal.SIGKILL)
            done.set()
        return original(self, *args)

    monkeypatch.setattr(owner, method, counted)
    return done


def assert_same(hurt, whole):
    # Sums are added in the order of the blocks: the same bits.
    assert whole.losses_ == 0
    assert hurt.losses_ >= 1
    assert hurt.objective_ == whole.objective_
    np.testing.assert_array_equal(hurt.history_, whole.history_)
    np.testing.assert_array_equal(hurt.membership_, whole.membership_)
    np.testing.assert_array_equal(hurt.labels_, whole.labels_)


def test_a_killed_worker_changes_nothing(monkeypatch, doomed):
    S = KNNGraph().build(X)
    blocks = [S[x:y] for x, y in zip((0, *CUTS), (*CUTS, 150), strict=True)]
    options = {**PATH, "max_iter": 6, "affinity": "precomputed"}
    whole = BLoRD(4, client=doomed, **options).fit(blocks).gather()
    killed = kill_before(monkeypatch, doomed, _rows.WorkerRows, "sweep", 15)
    hurt = BLoRD(4, client=doomed, **options).fit(blocks).gather()
    assert killed.is_set()
    assert_same(hurt, whole)


def test_a_worker_killed_during_the_choice_changes_nothing(monkeypatch, doomed):
    blocks = np.split(X, CUTS)
    whole = BLoRD(4, client=doomed).fit(blocks).gather()
    # In the middle of k-means, and then in the last descent.
    early = kill_before(monkeypatch, doomed, _driver.WorkerData, "_assigned", 2)
    late = kill_before(monkeypatch, doomed, _rows.WorkerRows, "sweep", 3)
    hurt = BLoRD(4, client=doomed).fit(blocks).gather()
    assert early.is_set()
    assert late.is_set()
    assert hurt.losses_ >= 2
    assert_same(hurt, whole)
    assert hurt.selection_.evidence.tolist() == whole.selection_.evidence.tolist()


@pytest.mark.parametrize("count", [1, 2])
def test_workers_lost_after_the_fit_are_told(doomed, count):
    S = KNNGraph().build(X)
    options = {**PATH, "max_iter": 5, "affinity": "precomputed"}
    model = BLoRD(4, client=doomed, **options).fit([S[:75], S[75:]])
    for pid in list(doomed.run(os.getpid).values())[:count]:
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match=r"lost after the fit.*Fit again"):
        model.gather()
