import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from lordclust._core.scales import different_scales

RNG = np.random.default_rng(0)


def test_two_units_are_found():
    X = RNG.normal(size=(5000, 3)) * [1, 400, 2]
    found = different_scales(X)
    assert (found.large, found.small) == (1, 0)
    assert found.factor == pytest.approx(400, rel=0.1)
    assert different_scales(X / X.std(axis=0)) is None
    assert different_scales(X[:9]) is None  # few samples do not tell


@pytest.mark.parametrize(
    ("load", "expected"),
    [(load_iris, False), (load_digits, False), (load_wine, True),
     (load_breast_cancer, True)],
)  # fmt: skip
def test_known_data(load, expected):
    assert (different_scales(load().data) is not None) == expected


def test_constant_features_and_rare_indicators_do_not_count():
    X = np.column_stack([np.zeros(50), RNG.normal(size=50), np.full(50, 1e6)])
    assert different_scales(X) is None
    X[:25, 2] += 1e-10  # what is left of a mean that was subtracted
    assert different_scales(X) is None
    rare = (RNG.random((2000, 40)) < np.geomspace(0.001, 0.5, 40)).astype(float)
    assert different_scales(rare) is None


def test_extreme_numbers_are_no_trouble():
    X = RNG.normal(size=(20, 2)) * [1e-300, 1e300]
    assert different_scales(X) is None or different_scales(X).factor > 10
    assert different_scales(np.zeros((20, 0))) is None


@pytest.mark.parametrize("count", [2, 3, 4])
def test_clusters_far_apart_along_one_feature_are_no_other_scale(count):
    X = RNG.normal(size=(100 * count, 2))
    X[:, 0] += np.repeat(np.arange(count), 100) * 50.0
    assert different_scales(X) is None
    found = different_scales(X * [30, 1])
    assert (found.large, found.small) == (0, 1)
    X[:, 0] = RNG.poisson(0.5, len(X)) * 100.0  # many equal values have no width
    assert different_scales(X) is not None
