"""Columns of few categories that tell nothing about the others."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from lordclust.cli.unrelated import FEWEST, unrelated

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 5, 400)
NUMBERS = RNG.normal(scale=8, size=(5, 4))[Y] + RNG.normal(size=(400, 4))
RANDOM = RNG.integers(0, 2, 400)
REGION = np.eye(4)[RNG.integers(0, 4, 400)]
PLAN = np.eye(3)[np.where(RNG.random(400) < 0.9, Y % 3, 0)]


def test_random_categories_are_found_and_related_ones_are_not():
    X = np.column_stack([NUMBERS, RANDOM, Y > 2, REGION, PLAN])
    columns = {c: [j] for j, c in enumerate(["a", "b", "c", "d", "coin", "large"])}
    columns |= {"region": [6, 7, 8, 9], "plan": [10, 11, 12]}
    assert unrelated(X, columns) == ["coin", "region"]


def test_two_categories_that_depend_on_each_other_only():
    X = np.column_stack([RNG.normal(size=400), RANDOM, 1 - RANDOM])
    assert unrelated(X, {"x": [0], "a": [1], "b": [2]}) == []


@pytest.mark.parametrize(
    "column", [RNG.normal(size=400), np.zeros(400), np.arange(400) < 4]
)
def test_numbers_constants_and_rare_values_split_nothing(column):
    X = np.column_stack([NUMBERS, column])
    assert unrelated(X, {str(j): [j] for j in range(5)}) == []


def test_few_samples_do_not_tell():
    X = np.column_stack([NUMBERS, RANDOM])
    names = {str(j): [j] for j in range(5)}
    assert unrelated(X[:FEWEST], names) == ["4"]
    assert unrelated(X[: FEWEST - 1], names) == []
    assert unrelated(X[:, 4:], {"4": [0]}) == []


def test_a_random_column_is_named_and_spoils_nothing_once_it_is_dropped(run, tmp_path):
    """Five kinds of customers and a random yes or no gave ten clusters in silence."""
    file = tmp_path / "customers.csv"
    rows = [f"{a},{b},{'yes' if c else 'no'}" for (a, b), c
            in zip(NUMBERS[:, :2], RANDOM, strict=True)]  # fmt: skip
    file.write_text("\n".join(["income,visits,member", *rows]))
    said = "column 'member' hardly depends on any other column, so that it may split"
    assert said in run("fit", file, "-k", 5).stderr
    result = run("fit", file, "--drop", "member")
    assert "hardly" not in result.stderr
    labels = [int(line.split(",")[1]) for line in result.stdout.splitlines()[1:]]
    assert adjusted_rand_score(Y, labels) > 0.9
