"""Lanes: LLVM vectors where they work, plain arrays elsewhere, with the same values."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from lordclust._core.jit import njit
from lordclust.solver import _lanes_llvm, _lanes_plain, lanes

CHILD = """
import json
import numpy as np
from lordclust import tau_path
from lordclust.solver import lanes
from scipy.sparse import csr_array

A = np.random.default_rng(0).random((36, 36))
A *= (A > 0.7) | (np.arange(36)[:, None] // 12 == np.arange(36) // 12)
S = csr_array((A + A.T) / 2)
P = tau_path(S, 3, taus=[0.1, 0.5], random_state=0).membership()
print(json.dumps([lanes.implementation.__name__, P.tolist()]))
"""


def results(module):
    """Return what every operation of an implementation gives."""
    load, store, splat = module.load, module.store, module.splat
    maximum, minimum = module.maximum, module.minimum
    where_positive, any_positive = module.where_positive, module.any_positive
    sum_lanes, row_product = module.sum_lanes, module.row_product

    @njit
    def operate(x, out, b):
        u, v = load(x, 0), load(x, 1)
        store(out, 0, u + v * 2.0 - load(b, 0) / 3.0)
        store(out, 1, maximum(u, v) + minimum(u, 0.0))
        store(out, 2, where_positive(u, v) + splat(4.0, u))
        store(out, 3, where_positive(v, 2.5))
        return sum_lanes(u), any_positive(u), any_positive(splat(-1.0, u))

    @njit
    def multiply(indices, data, rows, out):
        row_product(indices, data, 1, 5, rows, 4, out, 0, 8)

    x, b = np.random.default_rng(0).normal(size=(2, 16)), np.arange(16.0)
    out, product = np.zeros((4, 16)), np.zeros((1, 12))
    sums = operate(x, out, b)
    indices = np.array([0, 2, 1, 3, 3, 0], np.int32)
    multiply(indices, b[:6].copy(), np.random.default_rng(1).random((4, 12)), product)
    return np.concatenate([out.ravel(), product.ravel(), np.array(sums, float)])


def test_both_compute_the_same():
    np.testing.assert_allclose(
        results(_lanes_plain), results(_lanes_llvm), rtol=1e-14, atol=1e-14
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_storage_may_be_single(dtype):
    @njit
    def double(x):
        _lanes_plain.store(x, 1, _lanes_plain.load(x, 0) * 2.0)

    x = np.arange(32, dtype=dtype).reshape(2, 16)
    double(x)
    np.testing.assert_array_equal(x[1], 2 * np.arange(16))


def test_a_numba_that_has_changed_costs_only_speed(monkeypatch):
    def fail():
        raise AttributeError("no such thing")

    monkeypatch.delenv("LORDCLUST_PLAIN_LANES", raising=False)
    monkeypatch.setattr(_lanes_llvm, "check", fail)
    with pytest.warns(RuntimeWarning, match=r"no such thing.*more slowly"):
        assert lanes.choose() is _lanes_plain


def test_the_plain_solver_agrees():
    answers = []
    for plain in ("0", "1"):
        run = subprocess.run(
            [sys.executable, "-c", CHILD],
            env=os.environ | {"LORDCLUST_PLAIN_LANES": plain},
            capture_output=True, text=True, check=True, timeout=300,
        )  # fmt: skip
        answers.append(json.loads(run.stdout))
    (vectors, V), (plain, ours) = answers
    assert vectors.endswith("_lanes_llvm")
    assert plain.endswith("_lanes_plain")
    np.testing.assert_allclose(ours, V, atol=1e-9)
