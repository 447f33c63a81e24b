"""Distances scaled to a doubly stochastic matrix, and points that have them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from lordclust.methods.dsdc import (
    DSDC,
    distance_sums,
    fitted_sphere_points,
    scale_distances,
    sphere_points,
)
from lordclust.metrics import accuracy
from strategies import generators

X, TRUTH = make_blobs([30, 25, 20], n_features=4, random_state=2)


def distances(X):
    return ((X[:, None] - X) ** 2).sum(axis=2)


def scaled(X, c):
    return c[:, None] * distances(X) * c


def draw(n, d, seed=0):
    Z = np.random.default_rng(seed).standard_normal((n, d))
    return Z - Z.mean(axis=0)


@given(generators(), st.integers(4, 30), st.integers(1, 40))
def test_rows_sum_to_one_and_points_have_these_distances(rng, n, d):
    Z = rng.standard_normal((n, d))
    c, residual, _ = scale_distances(Z)
    B = scaled(Z, c)
    assert c.min() > 0
    assert residual <= 1e-10
    np.testing.assert_allclose(B.sum(axis=1), 1, atol=2e-10)
    P = sphere_points(Z, c)
    np.testing.assert_allclose(distances(P), B, atol=1e-9)
    # One sphere, whose centre is the mean of the points.
    radii = np.linalg.norm(P - P.mean(axis=0), axis=1)
    np.testing.assert_allclose(radii, np.sqrt(1 / (2 * n)), rtol=1e-8)


def test_plain_scaling_comes_to_the_same_c():
    Z = draw(40, 3)
    A, c = distances(Z), np.ones(40)
    for _ in range(500):
        c = np.sqrt(c / (A @ c))
    np.testing.assert_allclose(scale_distances(Z).c, c, rtol=1e-9)


def test_products_need_no_matrix():
    Z = draw(20, 3)
    c = np.random.default_rng(1).random(20)
    np.testing.assert_allclose(distance_sums(Z, c), distances(Z) @ c)


def test_least_squares_finds_the_same_sphere():
    Z = draw(30, 5)
    c = scale_distances(Z).c
    fitted = fitted_sphere_points(Z, c)
    np.testing.assert_allclose(distances(fitted), scaled(Z, c), atol=1e-12)


@pytest.mark.parametrize(
    "Z",
    [draw(30, 60), np.sign(draw(60, 6))],
    ids=["more features than samples", "samples on a sphere"],
)
def test_least_squares_may_fail_where_the_formula_does_not(Z):
    Z = Z - Z.mean(axis=0)
    c = scale_distances(Z).c
    B = scaled(Z, c)
    off = np.abs(distances(fitted_sphere_points(Z, c)) - B).max() / B.max()
    assert off > 0.1
    np.testing.assert_allclose(distances(sphere_points(Z, c)), B, atol=1e-12)


def test_multidimensional_scaling_finds_the_same_points():
    Z = draw(12, 30)
    c = scale_distances(Z).c
    P = sphere_points(Z, c)
    P -= P.mean(axis=0)
    gram = -(scaled(Z, c) - 1 / 12) / 2  # B has row sums 1, so this is its Gram matrix
    np.testing.assert_allclose(P @ P.T, gram, atol=1e-14)


def test_four_points_by_hand():
    # The corners of a unit square: A has rows 0, 1, 1, 2, which sum to 4, so c = 1/2
    # everywhere. The mean is 1/sqrt(2) from all corners, the height h is the same,
    # and P the square shrunk by c, at one height. Halves of a side each: inertia
    # 2 * 2 * (1/4)^2 = 1/4.
    square = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    model = DSDC(2, random_state=0).fit(square)
    np.testing.assert_allclose(model.scaling_, 0.5)
    np.testing.assert_allclose(np.ptp(model.embedding_, axis=0), [0.5, 0.5, 0])
    assert model.objective_ == pytest.approx(0.25)
    np.testing.assert_array_equal(np.bincount(model.labels_), [2, 2])


def test_objective_is_the_inertia_of_the_embedding():
    model = DSDC(3, random_state=0).fit(X)
    inertia = KMeans(3, n_init=10, random_state=1).fit(model.embedding_).inertia_
    assert model.objective_ == pytest.approx(inertia)
    assert accuracy(TRUTH, model.labels_) == 1
    assert accuracy(model.labels_, model.relabel(random_state=3)) == 1
    np.testing.assert_allclose(distances(model.embedding_).sum(axis=1), 1)
    np.testing.assert_allclose(scaled(X, model.scaling_).sum(axis=1), 1)


@pytest.mark.parametrize("sphere", ["exact", "lstsq"])
@pytest.mark.parametrize("d", [4, 90], ids=["n > d", "n < d"])
def test_moving_turning_and_scaling_change_nothing(sphere, d):
    rng = np.random.default_rng(0)
    Z = np.hstack([X, 0.1 * rng.standard_normal((len(X), d - 4))])
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    a = DSDC(3, sphere=sphere, random_state=0).fit(Z)
    b = DSDC(3, sphere=sphere, random_state=0).fit(1e6 * (Z @ turn + 5))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.scaling_, 1e6 * b.scaling_, rtol=1e-6)
    if sphere == "exact":
        assert a.objective_ == pytest.approx(b.objective_, rel=1e-9)


@pytest.mark.parametrize(
    "far",
    [
        np.vstack([draw(50, 2), draw(50, 2, 1) + 1000]),
        np.vstack([1e-3 * draw(50, 2), draw(49, 2, 1) + 1000]),
        np.vstack([draw(50, 2), [[1e6, 0.0]]]),
        np.vstack([np.zeros((49, 2)), draw(51, 2)]),
        np.repeat([[0.0], [1.0]], 5, axis=0),
    ],
    ids=["two far groups", "a narrow one", "an outlier", "49 copies", "two halves"],
)
def test_hard_to_scale(far):
    model = DSDC(2, random_state=0).fit(far)
    assert model.converged_
    assert model.n_iter_ < 30
    np.testing.assert_allclose(distances(model.embedding_).sum(axis=1), 1, atol=1e-8)


@pytest.mark.parametrize("copies", [4, 5, 8])
def test_half_the_samples_equal_is_refused(copies):
    Z = draw(8, 2)
    Z[:copies] = 1
    with pytest.raises(ValueError, match=f"but {copies} of 8 rows of X are"):
        DSDC(2).fit(Z)


def test_two_samples_and_as_many_clusters_as_samples():
    np.testing.assert_array_equal(DSDC(2).fit([[0], [3]]).labels_, [0, 1])
    model = DSDC(9, random_state=0).fit(draw(9, 3))
    assert len(set(model.labels_)) == 9
    assert model.objective_ == pytest.approx(0, abs=1e-14)


def test_float32_and_integers():
    whole = np.round(10 * X)
    expected = DSDC(3, random_state=0).fit(whole)
    for dtype in (np.float32, np.int64):
        model = DSDC(3, random_state=0).fit(whole.astype(dtype))
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        np.testing.assert_allclose(model.scaling_, expected.scaling_)


def test_stopped_early():
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=1"):
        model = DSDC(3, max_iter=1, random_state=0).fit(X)
    assert model.residual_ > model.tol


def test_unknown_sphere():
    with pytest.raises(ValueError, match="Unknown sphere 'mds'"):
        DSDC(2, sphere="mds").fit(X)
