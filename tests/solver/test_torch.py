"""The solver on PyTorch's tensors gives the answers of the compiled one.

On a machine with a GPU the same tests run on it: set LORDCLUST_DEVICE=cuda.
"""

import os
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris

from lordclust import BLoRD, LoRD
from lordclust.graph import KNNGraph
from lordclust.solver.arrays import array_ascent
from lordclust.solver.engine import Engine
from lordclust.solver.omega import Omega
from lordclust.solver.start import random_start
from models import PAPER
from problems import blord_problem
from strategies import random_graph

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
torch.set_num_threads(1)  # for tensors this small they only wait for each other
DEVICE = os.environ.get("LORDCLUST_DEVICE", "cpu")
IRIS, DIGITS = load_iris().data, load_digits().data[:300]


@pytest.mark.parametrize("sparse", [True, False], ids=["csr", "dense"])
@pytest.mark.parametrize("kind", ["equal", "weights", "known", "soft"])
def test_every_iteration_is_the_compiled_one(sparse, kind):
    S = (
        KNNGraph().build(DIGITS)
        if sparse
        else random_graph(np.random.default_rng(0), 80)
    )
    n = S.shape[0]
    options = {
        "equal": {},
        "weights": {"p": np.arange(1.0, n + 1) / np.arange(1.0, n + 1).sum()},
        "known": {"known": np.where(np.arange(n) < 8, np.arange(n) % 4, -1)},
        "soft": {"strength": 1.0},
    }[kind]
    omega = Omega.of(np.full(4, 0.5), n, **options)
    problem = blord_problem(S, omega)
    omega = problem.omega
    start = random_start(omega, np.random.default_rng(1))
    engines = Engine(S, omega), array_ascent(S, omega, device=DEVICE)
    for engine in engines:
        engine.put(start)
        engine.aim(problem.step(0.4), problem.tilt(0.4))
        engine.run(1e-6, 500)
    compiled, ours = engines
    assert ours.progress().n_iter == compiled.progress().n_iter
    np.testing.assert_allclose(ours.history(), compiled.history(), rtol=1e-10)
    np.testing.assert_allclose(ours.get(), compiled.get(), atol=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        PAPER(10),
        PAPER(10, tau=0.3),
        LoRD(10),
    ],
)
def test_fits_agree_to_eight_digits(model):
    known = model.fit(DIGITS)
    ours = type(model)(**model.get_params() | {"device": DEVICE}).fit(DIGITS)
    assert ours.objective_ == pytest.approx(known.objective_, rel=1e-8)
    np.testing.assert_array_equal(ours.labels_, known.labels_)
    np.testing.assert_allclose(ours.membership_, known.membership_, atol=1e-6)


def test_random_starts_and_weights():
    weight = np.arange(1.0, len(IRIS) + 1)
    options = {"n_clusters": 3, "tau": 0.4, "start": "random", "random_state": 0}
    known = PAPER(**options).fit(IRIS, sample_weight=weight)
    ours = PAPER(**options, device=DEVICE).fit(IRIS, sample_weight=weight)
    np.testing.assert_allclose(ours.all_objectives_, known.all_objectives_, rtol=1e-8)


@pytest.mark.parametrize("tau", [0.3, 1.0])
def test_single_precision_agrees_to_five_digits(tau):
    known = PAPER(10, tau=tau).fit(DIGITS)
    ours = PAPER(10, tau=tau, device=DEVICE, dtype="float32").fit(DIGITS)
    assert ours.converged_
    assert ours.objective_ == pytest.approx(known.objective_, rel=1e-5)
    assert ours.membership_.sum(axis=1) == pytest.approx(np.ones(300), abs=1e-12)
    assert np.mean(ours.labels_ == known.labels_) > 0.99


@pytest.mark.parametrize("kind", ["dense", "csr", "coo"])
def test_tensors_are_taken(kind):
    S = KNNGraph().build(IRIS).toarray()
    T = torch.as_tensor(S)
    if kind == "csr":
        with warnings.catch_warnings():  # of its beta state
            warnings.simplefilter("ignore")
            T = T.to_sparse_csr()
    if kind == "coo":
        T = T.to_sparse()
    model = PAPER(3, affinity="precomputed", device=DEVICE).fit(T)
    known = PAPER(3, affinity="precomputed").fit(sp.csr_array(S))
    np.testing.assert_array_equal(model.labels_, known.labels_)
    np.testing.assert_array_equal(
        PAPER(3, device=DEVICE).fit(torch.as_tensor(IRIS)).labels_,
        known.labels_,
    )


# -- what cannot be -------------------------------------------------------------


def test_an_unknown_device_is_refused():
    with pytest.raises(ValueError, match=r"Unknown device 'gpu'\. .*Known: cpu, cuda"):
        PAPER(3, device="gpu").fit(IRIS)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_cuda_without_a_device_is_refused():
    with pytest.raises(ValueError, match="PyTorch sees none here"):
        PAPER(3, device="cuda").fit(IRIS)


def test_a_missing_torch_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r'pip install "lordclust\[torch\]"'):
        LoRD(3, device="cpu").fit(IRIS)


@pytest.mark.parametrize("option", [{"tau": "auto"}, {"algorithm": "paper"}])
def test_what_only_the_compiled_solver_does_is_refused(option):
    with pytest.raises(ValueError, match="device"):
        BLoRD(3, device=DEVICE, **option).fit(IRIS)
