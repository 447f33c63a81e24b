"""The soak test: its page is generated from the results, and each task runs."""

import json
import sys

import numpy as np
import pytest

from qa.soak import page, watch
from qa.soak.work import KINDS, Bench

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="memory is read from /proc"
)


def test_the_page_is_generated_from_the_results():
    results = json.loads(page.RESULTS.read_text())
    assert page.PAGE.read_text() == page.page(results)


def test_growth_is_that_of_a_robust_line():
    samples = [{"minute": float(m), "MB": 100.0 + m} for m in range(101)]
    samples[50]["MB"] = 1e6
    assert watch.growth(samples, 0.0) == pytest.approx(100.0, rel=0.02)
    assert watch.growth(samples[:1], 0.0) == 0.0


@pytest.mark.parametrize("name", [
    "bad input", "random starts", "save and load", "exact sizes", "outliers",
    "refit, from labels", "size bounds and hard links", "number of clusters, layers",
    "table of customers",
])  # fmt: skip
def test_some_tasks(name, tmp_path):
    KINDS[name][0](Bench(np.random.default_rng(0), tmp_path))
