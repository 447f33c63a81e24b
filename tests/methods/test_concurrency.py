"""Threads and seeds change nothing in a result."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from lordclust import BLoRD
from lordclust.solver.engine import THREADS_FROM
from models import GIVEN, MODELS

LARGE, _ = make_blobs(2600, centers=5, cluster_std=1.5, random_state=0)
SMALL, _ = make_blobs(120, centers=4, cluster_std=2.0, random_state=1)


def assert_same_bits(a, b):
    for name in ("V_", "membership_", "labels_", "history_", "all_objectives_"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    assert (a.objective_, a.residual_, a.n_iter_) == (
        b.objective_,
        b.residual_,
        b.n_iter_,
    )


@MODELS
def test_number_of_threads_does_not_show(Model):
    assert len(LARGE) > THREADS_FROM  # or nothing would run side by side
    one = Model(5, n_jobs=1, tol=1e-3).fit(LARGE)
    two = Model(5, n_jobs=2, tol=1e-3).fit(LARGE)
    assert_same_bits(one, two)
    if Model is BLoRD:
        np.testing.assert_array_equal(one.selection_.evidence, two.selection_.evidence)


@GIVEN
@pytest.mark.parametrize("X", [SMALL, LARGE], ids=["small", "large"])
def test_starts_side_by_side(Model, X):
    settings = {"start": "random", "n_init": 4, "random_state": 3, "tol": 1e-2}
    one = Model(4, n_jobs=1, **settings).fit(X)
    two = Model(4, n_jobs=2, **settings).fit(X)
    assert len(set(one.all_objectives_)) > 1
    assert_same_bits(one, two)


@GIVEN
def test_four_threads_fit_at_once(Model):
    def fit(seed):
        return Model(4, start="random", n_init=2, random_state=seed).fit(SMALL)

    alone = [fit(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(fit, range(4)))
    for a, b in zip(alone, together, strict=True):
        assert_same_bits(a, b)
    assert not np.array_equal(alone[0].V_, alone[1].V_)


@MODELS
def test_four_large_fits_at_once(Model):
    def fit(_):
        return Model(5, n_jobs=2, tol=1e-2).fit(LARGE)

    alone = fit(0)
    with ThreadPoolExecutor(4) as pool:
        for other in pool.map(fit, range(4)):
            assert_same_bits(alone, other)


@MODELS
def test_one_model_transforms_in_four_threads(Model):
    model = Model(4).fit(SMALL)
    X = SMALL + 0.1
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: model.transform(X), range(4)))
    for P in results:
        np.testing.assert_array_equal(P, results[0])


@MODELS
def test_four_automatic_fits_at_once(Model):
    def fit(seed):
        return Model(4, n_init=2, random_state=seed).fit(SMALL)

    alone = [fit(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(fit, range(4)))
    for a, b in zip(alone, together, strict=True):
        assert_same_bits(a, b)


@GIVEN
def test_same_seed_same_result(Model):
    settings = {"start": "random", "n_init": 2}
    first = Model(4, random_state=5, **settings).fit(SMALL)
    assert_same_bits(first, Model(4, random_state=5, **settings).fit(SMALL))
    other = Model(4, random_state=6, **settings).fit(SMALL)
    assert not np.array_equal(first.all_objectives_, other.all_objectives_)
    rng = np.random.RandomState(5)
    assert_same_bits(first, Model(4, random_state=rng, **settings).fit(SMALL))
    # The generator has moved on.
    again = Model(4, random_state=rng, **settings).fit(SMALL)
    assert not np.array_equal(first.all_objectives_, again.all_objectives_)


@MODELS
def test_path_needs_no_seed(Model):
    np.random.seed(0)  # noqa: NPY002
    first = Model(4).fit(SMALL)
    np.random.seed(1)  # noqa: NPY002
    assert_same_bits(first, Model(4).fit(SMALL))


@MODELS
def test_no_global_state_is_left_changed(Model):
    def state():
        name, keys, *rest = np.random.get_state()  # noqa: NPY002
        return name, keys.tolist(), rest, list(warnings.filters), np.geterr()

    before = state()
    model = Model(4, random_state=0).fit(SMALL)
    Model(4, n_init=2, n_jobs=2, random_state=0).fit(SMALL)
    model.transform(SMALL)
    with pytest.raises(ValueError):
        Model(4, start="nowhere").fit(SMALL)
    assert state() == before


@MODELS
def test_inputs_and_parameters_are_left_alone(Model):
    X, w = SMALL.copy(), np.linspace(1, 2, len(SMALL))
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    start = np.arange(len(X)) % 4
    if Model is not BLoRD:
        start = np.random.default_rng(0).random((len(X), 4))
    kept = [a.copy() for a in (X, w, shares, start)]
    Model(4, proportions=shares, start=start).fit(X, sample_weight=w)
    for a, b in zip((X, w, shares, start), kept, strict=True):
        np.testing.assert_array_equal(a, b)
