"""Graphs and fits of hard samples: right, and with true certificates."""

import numpy as np
import pytest
from hard_samples import BLOBS, SAMPLES, TRUTH, N

from certificates import LONG, blord_residual, blord_value, feasibility
from lordclust import BLoRD
from lordclust.graph import KNNGraph
from lordclust.metrics import accuracy
from models import PAPER

pytestmark = pytest.mark.filterwarnings("ignore::lordclust.graph.ScaleWarning")


def weights(X, q, nth=7):
    """The self-tuning graph by its definition, in long double."""
    X = np.asarray(X).astype(LONG)
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    near = np.argsort(D + np.diag(np.full(len(X), -1.0)), axis=1, kind="stable")
    sigma = np.take_along_axis(D, near[:, nth : nth + 1], axis=1).ravel()
    sigma = np.maximum(sigma, LONG("1e-3") * np.median(sigma))
    joined = np.zeros(D.shape, dtype=bool)
    np.put_along_axis(joined, near[:, 1 : q + 1], True, axis=1)
    joined |= joined.T
    return np.where(joined, np.exp(-(D**2) / np.outer(sigma, sigma)), 0)


@pytest.mark.parametrize("e", [-150, -30, 0, 30, 150])
def test_a_graph_by_its_definition(e):
    X = 10.0**e * BLOBS
    S = KNNGraph(5).build(X).toarray()
    np.testing.assert_allclose(S, weights(X, 5).astype(float), rtol=1e-12)


@pytest.mark.parametrize("power", [-1000, -500, 500, 1000])
def test_the_unit_changes_no_bit(power):
    plain, scaled = KNNGraph().build(BLOBS), KNNGraph().build(BLOBS * 2.0**power)
    np.testing.assert_array_equal(plain.toarray(), scaled.toarray())


@pytest.mark.parametrize("name", SAMPLES)
def test_a_fit(name):
    model = PAPER(3, tau=0.3).fit(SAMPLES[name])
    S, V = model.affinity_matrix_, model.V_
    assert np.isfinite(S.data).all()
    assert feasibility(model.membership_, model.proportions_) < 1e-12
    assert blord_value(S, V, model.gamma_).misses(model.objective_) < 1e-13
    residual = blord_residual(S, V, 0.3, model.proportions_)
    assert residual <= 1e-4 * (1 + 1e-6) or not model.converged_


@pytest.mark.parametrize("e", [-300, -150, 150, 300])
def test_labels_do_not_depend_on_the_unit(e):
    assert (
        accuracy(
            TRUTH,
            PAPER(3).fit_predict(BLOBS * 10.0**e),
        )
        == 1
    )


@pytest.mark.parametrize("n", [2, 3, N])
def test_as_many_clusters_as_samples(n):
    model = BLoRD(n, rounding="exact", tau=1.0, proportions="equal").fit(BLOBS[:n])
    assert sorted(model.labels_) == list(range(n))
    assert feasibility(model.membership_, model.proportions_) < 1e-12


@pytest.mark.parametrize("share", [0.001, 1e-9])
def test_a_share_of_next_to_nothing(share):
    model = BLoRD(2, tau=0.5, proportions=[1 - share, share]).fit(BLOBS)
    assert feasibility(model.membership_, [1 - share, share]) < 1e-12
    np.testing.assert_array_equal(model.sizes_, [N, 0])
