"""Every method: hard input gives a finite answer, or one sentence that refuses it."""

import warnings

import numpy as np
import pytest
from hard_samples import BLOBS, SAMPLES, TRUTH
from sklearn.exceptions import ConvergenceWarning

from lordclust import list_methods, make_method
from lordclust.metrics import accuracy
from lordclust.registry import METHODS

pytestmark = pytest.mark.filterwarnings("ignore::lordclust.graph.ScaleWarning")

SQUARES = ((BLOBS[:, None] - BLOBS) ** 2).sum(axis=2)
KERNEL = np.exp(-SQUARES / 20)
EYE = np.eye(len(BLOBS))
SIMILARITIES = {
    "scale 1e-150": 1e-150 * KERNEL,
    "scale 1e150": 1e150 * KERNEL,
    "diagonal 1e12": KERNEL + 1e12 * EYE,
    "one huge entry": KERNEL + 1e150 * np.diag(np.arange(len(BLOBS)) == 0),
    "shift -1e12": KERNEL - 1e12 * EYE,
    "negative definite": -KERNEL,
    "all alike": np.ones_like(KERNEL),
    "minus ones": -np.ones_like(KERNEL),  # LAPACK once gave up inside SDP
    "nothing": np.zeros_like(KERNEL),
    "identity": EYE,
    "too large": 1e300 * KERNEL,
    "too small": 1e-300 * KERNEL,
    "float32": KERNEL.astype(np.float32),
}
GRAPHS = [name for name in METHODS if METHODS[name].takes != "features"]
FEATURES = [name for name in METHODS if METHODS[name].takes == "features"]


def build(name, k=3, **params):
    model = make_method(name, n_clusters=k, **params)
    seeded = {"random_state": 0} if "random_state" in model.get_params() else {}
    # How far a fit gets is not the matter here.
    quick = {"max_iter": 30, "n_init": 1}
    few = {name: quick[name] for name in quick if name in model.get_params()}
    return model.set_params(**seeded, **few)


def fitted(model, data):
    """Return the model, or None if it refused in a sentence of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The graph has")  # more parts than clusters
        try:
            return model.fit(data)
        except ValueError as error:
            refusal = error
    check_sentence(refusal)
    return None


def check_sentence(refusal):
    said = str(refusal)
    assert type(refusal) is ValueError  # LinAlgError is one too
    assert said.startswith(("X ", "S ", "n_clusters "))
    assert said.endswith(".")
    assert "NaN" not in said


def check_finite(model, k=3):
    assert set(np.unique(model.labels_)) <= set(range(k))
    assert np.isfinite(model.objective_)
    assert np.isfinite(model.all_objectives_).all()
    for name in ("membership_", "V_", "embedding_", "history_"):
        if hasattr(model, name):
            value = getattr(model, name)
            assert np.isfinite(getattr(value, "data", value)).all(), name


@pytest.mark.parametrize("case", SAMPLES)
@pytest.mark.parametrize("name", list_methods())
def test_samples(name, case):
    model = fitted(build(name), SAMPLES[case])
    assert model is not None, "all of these can be clustered"
    check_finite(model)


@pytest.mark.parametrize("case", SIMILARITIES)
@pytest.mark.parametrize("name", GRAPHS)
def test_similarities(name, case):
    model = fitted(build(name, affinity="precomputed"), SIMILARITIES[case])
    if model is not None:
        check_finite(model)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
@pytest.mark.parametrize("name", FEATURES)
def test_features_of_any_unit(name, scale):
    assert accuracy(TRUTH, build(name).fit_predict(scale * BLOBS)) == 1


@pytest.mark.parametrize("scale", [1e-300, 1e300])
@pytest.mark.parametrize("name", FEATURES)
def test_features_out_of_range(name, scale):
    with pytest.raises(ValueError, match=r"X must have a largest entry from .* Divide"):
        build(name).fit(scale * BLOBS)


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("name", list_methods())
def test_as_many_clusters_as_samples(name, n):
    model = fitted(build(name, n), BLOBS[:: len(BLOBS) // n][:n])
    if model is not None:
        check_finite(model, n)
