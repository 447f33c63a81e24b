"""Spectra, and the paper's rules for tau."""

import os

import numpy as np
import pytest
import scipy.sparse as sp

from lordclust.datasets import load
from lordclust.graph import KNNGraph
from lordclust.solver.spectrum import find_spectrum, gershgorin
from lordclust.solver.tau_rules import tau_for_samples, tau_from_blocks

# Table 4 of the paper, second row, for the sets that are quick to prepare.
PRINTED = {
    "yale": 0.83,
    "orl": 0.95,
    "chart": 0.28,
    "semeion": 0.28,
    "mnist2000": 0.27,
    "wine": 0.30,
    "yeast": 0.28,
    "ecoli": 0.30,
}


@pytest.mark.skipif("LORDCLUST_DATA" not in os.environ, reason="needs LORDCLUST_DATA")
@pytest.mark.parametrize("name", PRINTED)
def test_tau_from_blocks_has_the_values_of_the_paper(name):
    data = load(name)
    tau = tau_from_blocks(KNNGraph().build(data.prepared()), data.n_clusters)
    assert tau == pytest.approx(PRINTED[name], abs=0.0075)


def test_tau_from_n_by_hand():
    S = sp.csr_array((400, 400))
    assert tau_for_samples(S.shape[0]) == pytest.approx(0.4749, abs=1e-4)


@pytest.mark.parametrize("n", [20, 300])
def test_spectrum_of_a_known_matrix(n):
    S = np.full((n, n), 0.5) + 2 * np.eye(n)
    ends = find_spectrum(S)
    assert ends.high == pytest.approx(n / 2 + 2, rel=1e-3)
    assert ends.low == pytest.approx(2, rel=1e-2)
    assert ends.gamma(0) == pytest.approx(-ends.high)
    assert ends.gamma(1) == pytest.approx(-ends.low)


@pytest.mark.parametrize("kind", ["indefinite", "semidefinite", "identity", "zero"])
def test_spectrum_of_a_large_graph(monkeypatch, kind):
    monkeypatch.setattr("lordclust.solver.spectrum.LANCZOS_FROM", 0)
    S = sp.random_array((200, 200), density=0.05, random_state=0)
    S = {
        "indefinite": S + S.T,
        "semidefinite": S @ S.T,
        "identity": sp.eye_array(200),
        "zero": sp.csr_array((200, 200)),
    }[kind]
    true, ends = np.linalg.eigvalsh(S.toarray()), find_spectrum(sp.csr_array(S))
    assert ends.low == pytest.approx(true[0], abs=1e-4 * true[-1])
    assert ends.high == pytest.approx(true[-1], abs=1e-4 * true[-1])


def test_a_slow_spectrum_is_bounded(monkeypatch):
    monkeypatch.setattr("lordclust.solver.spectrum.LANCZOS_FROM", 0)
    monkeypatch.setattr("lordclust.solver.spectrum.LANCZOS_STEPS", 3)
    S = sp.random_array((200, 200), density=0.05, random_state=0)
    assert find_spectrum(sp.csr_array(S + S.T)) == gershgorin(S + S.T)


def test_gershgorin_encloses_the_spectrum():
    rng = np.random.default_rng(0)
    S = rng.standard_normal((30, 30))
    S = S + S.T
    true, bound = np.linalg.eigvalsh(S), gershgorin(S)
    assert bound.low <= true[0]
    assert bound.high >= true[-1]


def test_a_graph_of_k_blocks_has_b_zero():
    S = np.kron(np.eye(3), np.ones((20, 20)))
    expected = 0.34 * np.exp(-0.03 * np.log(60))
    assert tau_from_blocks(S, 3) == pytest.approx(expected, rel=1e-3)
