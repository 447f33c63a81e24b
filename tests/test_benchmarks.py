"""Every number on a page is generated from the results."""

import json

import numpy as np
import pytest

from benchmarks import calibration, distributed, growth, many, outliers, quality
from benchmarks.__main__ import PAGE, README, RESULTS, page
from benchmarks.common import SCALE, with_block
from benchmarks.summary import with_summary


def test_the_page_is_generated_from_the_results():
    assert PAGE.read_text() == page(json.loads(RESULTS.read_text()))


def test_the_readme_is_generated_from_the_results():
    text = README.read_text()
    assert text == with_summary(text, json.loads(RESULTS.read_text()))


@pytest.mark.parametrize(
    ("name", "file", "part"),
    [
        ("growth", growth.RESULTS, growth.part),
        ("many", many.RESULTS, many.part),
        ("plan", distributed.RESULTS, distributed.plan),
    ],
)
def test_the_page_on_size_is_generated_from_the_results(name, file, part):
    text = SCALE.read_text()
    assert text == with_block(text, name, part(json.loads(file.read_text())))


def test_the_page_on_growth_is_generated_from_the_results():
    results = json.loads(growth.RESULTS.read_text())
    assert growth.PAGE.read_text() == growth.page(results)


def test_the_page_on_calibration_is_generated_from_the_results():
    text = calibration.PAGE.read_text()
    results = json.loads(calibration.RESULTS.read_text())
    assert text == calibration.with_tables(text, results)


def test_the_page_on_quality_is_generated_from_the_results():
    results = json.loads(quality.RESULTS.read_text())
    text = quality.PAGE.read_text()
    assert text == quality.with_tables(text, results)
    text = README.read_text()
    assert text == quality.with_line(text, results)


def test_the_page_on_outliers_is_generated_from_the_results():
    text = outliers.PAGE.read_text()
    assert text == outliers.with_table(text, json.loads(outliers.RESULTS.read_text()))


def test_posteriors_of_the_mixtures_are_exact():
    case = calibration.mixture(2, 3, 6.0, uneven=True)
    np.testing.assert_allclose(case.posterior.sum(axis=1), 1)
    assert np.mean(case.posterior.argmax(axis=1) == case.y) > 0.99
    names = [name for name, *_ in calibration.memberships(case.X[:80], 3)]
    assert len(names) == len(set(names)) == 8


def test_the_plan_is_computed_from_measurements():
    row = {"seconds": 2.0, "objective": 1.0, "iterations at the end": 3, "steps": 100}
    rows = [
        row | {"where": "here", "workers": workers, "order": order}
        for workers in (1, 2)
        for order in ("random", "near")
    ]
    results = {
        "facts": {"cores": 2},
        "measured": "2026-01-01",
        "n": 10**5,
        "k": 10,
        "entries a row": 30.0,
        "borrowed a row": 0.5,
        "pairs x features a second": 1e9,
        "rows": rows,
    }
    text = distributed.plan(results)
    # 2 million rows a machine, 12 bytes for each of 30 log(1e8) / log(1e5) entries.
    assert "| near order | 1.2 |" in text
    # Half a row borrowed for each row, 80 bytes each.
    assert "| 0.08 |" in text
