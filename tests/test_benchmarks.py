"""Every number on a page is generated from the results."""

import json

import numpy as np
import pytest

from benchmarks import (
    calibration,
    distributed,
    growth,
    many,
    outliers,
    quality,
    unseen,
    unseen_sets,
)
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
    results = growth.read()
    assert growth.PAGE.read_text() == growth.page(results)
    text = README.read_text()
    assert text == with_block(text, "growth", growth.summary(results))


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


@pytest.mark.skipif(not unseen.RESULTS.exists(), reason="not measured yet")
def test_the_part_on_unseen_data_is_generated_from_the_results():
    text = unseen.PAGE.read_text()
    results = json.loads(unseen.RESULTS.read_text())
    assert text == unseen.with_tables(text, results)


def test_generated_sets_are_the_same_in_every_run_and_differ_from_each_other():
    first, second = (list(unseen_sets.synthetic()) for _ in range(2))
    assert len({name for name, *_ in first}) == len(first) == 71
    assert len({X.tobytes() for _, X, _ in first}) == len(first)
    for (name, X, y), (again, Z, z) in zip(first, second, strict=True):
        assert name == again
        np.testing.assert_array_equal(X, Z)
        np.testing.assert_array_equal(y, z)
        assert len(X) == len(y) <= 5000
        assert np.bincount(y).min() >= 20


def test_the_tables_on_unseen_data_have_the_means_the_counts_and_the_failures():
    def row(group, name, **ari):
        scores = {unseen.OURS if a == "ours" else a: b for a, b in ari.items()}
        orders = [scores[unseen.OURS], scores[unseen.OURS] + 0.1]
        return {"group": group, "data": name, "n": 9, "k": 2, "ARI": scores,
                "orders": orders, "seconds": dict.fromkeys(scores, 1.5)}  # fmt: skip

    rows = [
        row("tabular", "a", ours=0.5, peer=0.9, limited=0.4),
        row("tabular", "b", ours=0.7, peer=0.71),
        row("images", "c", ours=0.2, peer=0.0, limited=0.29),
    ]
    page = "<!-- unseen: x -->\nold\n<!-- end of unseen -->"
    text = unseen.with_tables(page, {"facts": {"cores": 2}, "rows": rows})
    lines = text.splitlines()
    assert "| method | tabular (2) | images (1) | best or near it | seconds |" in lines
    ours = "| `BLoRD(k)` | 0.650 (0.600 to 0.700) | 0.250 (0.200 to 0.300) | 1 of 3 |"
    assert any(line.startswith(ours) for line in lines)
    assert "| `peer` | 0.805 | 0.000 | 2 of 3 | 4.5 |" in lines
    assert "| `limited` | 0.400 (1) | 0.290 | 1 of 2 | 3.0 |" in lines
    # On c the best is ahead by less than 0.1.
    assert "on 1 of the 3 sets:" in text
    assert "| a | tabular | 9 | 2 | 0.500 | 0.900 | `peer` |" in lines
    assert "old" not in text


def test_scores_are_those_of_the_labels_and_a_failure_is_the_worst(capsys):
    class Fails:
        def fit_predict(self, X):
            raise ValueError("no partition")

    X, y = np.array([[0.0], [0.1], [5.0], [5.1]]), np.array([1, 1, 0, 0])
    assert unseen.score(unseen.KMeans(2, n_init=1, random_state=0), X, y) == 1.0
    assert unseen.score(Fails(), X, y) == 0.0
    assert "no partition" in capsys.readouterr().out


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
