"""S and V in single precision: half the memory, the same clusters."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from lordclust import LoRD, tau_path
from lordclust.graph import KNNGraph
from lordclust.solver.engine import Engine
from lordclust.solver.omega import Omega
from lordclust.solver.projection import feasibility_error
from models import PAPER
from strategies import block_graph


@pytest.fixture(scope="module")
def digits():
    return KNNGraph().build(load_digits().data)


def test_the_path_is_that_of_doubles(digits):
    double = tau_path(digits, 10)
    single = tau_path(digits, 10, dtype="float32")
    assert single.converged.all()
    np.testing.assert_allclose(single.objectives[-1], double.objectives[-1], rtol=2e-4)
    # Clusters of nearly equal sizes may change places.
    assert adjusted_rand_score(single.labels[-1], double.labels[-1]) > 0.99
    assert single.membership().dtype == np.float32


@pytest.mark.parametrize("options", [{}, {"sample_weight": True}, {"dense": True}])
def test_sums_are_exact_up_to_rounding(options):
    S = block_graph(np.random.default_rng(0), [25, 20, 15], between=0.05)[0]
    S = np.asarray(S.toarray() if hasattr(S, "toarray") else S)
    weight = np.arange(1.0, 61) if "sample_weight" in options else None
    model = PAPER(3, tau=0.3, affinity="precomputed", dtype=np.float32)
    model.fit(S, sample_weight=weight)
    assert model.membership_.dtype == model.V_.dtype == np.float32
    np.testing.assert_allclose(model.membership_.sum(axis=1), 1, rtol=1e-6)
    means = np.average(model.membership_, axis=0, weights=weight)
    np.testing.assert_allclose(means, 1 / 3, rtol=1e-5)


def test_everything_of_n_by_k_is_single(digits):
    omega = Omega.of(np.full(10, 10**-0.5), digits.shape[0])
    shared = Engine(digits, omega, dtype=np.float32).shared
    double = Engine(digits, omega).shared
    for name in ("V", "SV", "U", "rows", "data"):
        one, two = getattr(shared, name), getattr(double, name)
        assert one.nbytes * 2 == two.nbytes, name


def test_lord(digits):
    S = digits[:300][:, :300]
    options = {"affinity": "precomputed", "start": "random", "n_init": 1}
    model = LoRD(5, dtype="float32", random_state=0, **options).fit(S)
    double = LoRD(5, random_state=0, **options).fit(S)
    assert model.objective_ == pytest.approx(double.objective_, rel=1e-3)


def test_exact_sizes_and_few_clusters_a_sample():
    options = {"rounding": "exact", "proba_top": 2, "dtype": "float32"}
    model = PAPER(5, tau=0.2, **options).fit(load_digits().data[:200])
    assert model.sizes_.tolist() == [40] * 5
    assert model.membership_.dtype == model.V_.dtype == np.float32


def test_feasible(digits):
    path = tau_path(digits, 10, taus=[0.1, 0.2], dtype="float32")
    n, mu = digits.shape[0], np.full(10, 10**-0.5)
    V = path.membership().astype(np.float64) / (n * mu)
    assert feasibility_error(V, Omega.of(mu, n)) < 1e-5


def test_threads_and_checkpoints_change_no_bit(digits, tmp_path):
    options = {"taus": [0.05, 0.1, 0.2], "dtype": "float32"}
    whole = tau_path(digits, 10, n_jobs=1, **options).membership()
    file = tmp_path / "p.ckpt"
    tau_path(digits, 10, checkpoint=file, callback=lambda tau: tau > 0.06, **options)
    again = tau_path(digits, 10, n_jobs=3, checkpoint=file, **options).membership()
    assert again.tobytes() == whole.tobytes()
    with pytest.raises(ValueError, match="another problem"):
        tau_path(digits, 10, taus=options["taus"], checkpoint=file)


@pytest.mark.parametrize("bad", ["float16", "int", None, "single precision", 3])
def test_refusals(digits, bad):
    with pytest.raises(ValueError, match='dtype must be "float64" or "float32"'):
        tau_path(digits, 10, dtype=bad)
    with pytest.raises(ValueError, match='dtype must be "float64" or "float32"'):
        PAPER(3, dtype=bad).fit(load_digits().data[:50])
