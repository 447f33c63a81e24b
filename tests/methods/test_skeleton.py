"""The skeleton of a new method, docs/guide/method_skeleton.py, works as it is."""

import doctest
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.utils.estimator_checks import parametrize_with_checks

from docs.guide import method_skeleton as skeleton
from lordclust import make_method, register_method
from lordclust.metrics import accuracy

GUIDE = Path(__file__).parents[2] / "docs" / "guide"

X, TRUTH = make_blobs([16, 16, 16], centers=[[0, 0], [9, 0], [0, 9]], random_state=3)


@parametrize_with_checks([skeleton.LabelPropagation(3, random_state=0)])
def test_checks(estimator, check):
    check(estimator)


def test_on_a_path_the_probabilities_are_linear():
    S = sparse.diags_array([np.ones(4), np.ones(4)], offsets=[-1, 1])
    model = skeleton.LabelPropagation(2, tol=1e-12)
    F, _, converged = model._propagate(S, np.array([0, 4]))
    assert converged
    np.testing.assert_allclose(F[:, 1], np.arange(5) / 4, atol=1e-10)


def test_it_is_a_method_like_the_others(registry):
    register_method("propagation", skeleton.LabelPropagation, source="Zhu 2002")
    assert registry["propagation"].title == "Label propagation from random seeds."
    model = make_method("propagation", n_clusters=3, random_state=0).fit(X)
    assert accuracy(TRUTH, model.labels_) == 1
    assert model.objective_ == model.all_objectives_.min()
    np.testing.assert_allclose(model.membership_.sum(axis=1), 1)


def test_too_few_iterations_warn():
    with pytest.warns(UserWarning, match="LabelPropagation stopped at max_iter=1 "):
        skeleton.LabelPropagation(3, max_iter=1, random_state=0).fit(X)


def test_its_example_runs():
    assert doctest.testmod(skeleton).failed == 0


def test_the_guide_shows_it():
    text = (GUIDE / "add-a-method.md").read_text(encoding="utf-8")
    assert "```{literalinclude} method_skeleton.py\n" in text
