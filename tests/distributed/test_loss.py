"""A worker is killed in the middle of a fit, which ends as if it had not been."""

import os
import signal
import threading

import numpy as np
import pytest
from sklearn.datasets import load_digits

from lordclust.distributed import BLoRD, _rows
from lordclust.graph import KNNGraph

X = load_digits().data[:150]
CUTS = (40, 90, 120)
pytestmark = pytest.mark.filterwarnings("ignore:BLoRD stopped")


def kill_after(monkeypatch, client, passes):
    """Have a worker killed after so many passes; return whether it was."""
    done = threading.Event()
    count, sweep = [0], _rows.WorkerRows.sweep

    def counted(self, *args):
        count[0] += 1
        if count[0] == passes:
            victim = self.crew.members[-1].address
            pid = client.run(os.getpid, workers=[victim])[victim]
            os.kill(pid, signal.SIGKILL)
            done.set()
        return sweep(self, *args)

    monkeypatch.setattr(_rows.WorkerRows, "sweep", counted)
    return done


@pytest.mark.parametrize("kind", ["S", "X"])
def test_a_killed_worker_changes_nothing(monkeypatch, doomed, kind):
    data = KNNGraph().build(X) if kind == "S" else X
    blocks = [data[x:y] for x, y in zip((0, *CUTS), (*CUTS, 150), strict=True)]
    options = {
        "tau": 0.06,
        "max_iter": 15,
        "affinity": "precomputed" if kind == "S" else "knn",
    }
    whole = BLoRD(4, client=doomed, **options).fit(blocks).gather()
    killed = kill_after(monkeypatch, doomed, 60)
    hurt = BLoRD(4, client=doomed, **options).fit(blocks).gather()
    assert killed.is_set()
    assert whole.losses_ == 0
    assert hurt.losses_ >= 1
    # Sums are added in the order of the blocks: the same bits.
    assert hurt.objective_ == whole.objective_
    np.testing.assert_array_equal(hurt.history_, whole.history_)
    np.testing.assert_array_equal(hurt.membership_, whole.membership_)
    np.testing.assert_array_equal(hurt.labels_, whole.labels_)


@pytest.mark.parametrize("count", [1, 2])
def test_workers_lost_after_the_fit_are_told(doomed, count):
    S = KNNGraph().build(X)
    options = {"tau": 0.06, "max_iter": 5, "affinity": "precomputed"}
    model = BLoRD(4, client=doomed, **options).fit([S[:75], S[75:]])
    for pid in list(doomed.run(os.getpid).values())[:count]:
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match=r"lost after the fit.*Fit again"):
        model.gather()
