import json

import pytest

from lordclust.reproduction.store import Cell, Store

A, B = Cell("sc", "wine"), Cell("sc", "wine", 1, {"tau": 0.5})


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cells.jsonl")


def test_nothing_yet(store):
    assert store.records() == {}


def test_what_was_appended_is_there(store):
    store.append(A, {"acc": 0.5})
    store.append(B, {"acc": 0.75})
    found = Store(store.path).records()
    assert [found[c.key]["acc"] for c in (A, B)] == [0.5, 0.75]


@pytest.mark.parametrize("lost", range(1, 60))
def test_a_torn_line_costs_one_cell(store, lost):
    store.append(A, {"acc": 0.5})
    whole = len(store.path.read_bytes())
    store.append(B, {"acc": 0.75})
    size = len(store.path.read_bytes())
    with open(store.path, "r+b") as file:
        file.truncate(max(whole, size - lost))
    assert set(store.records()) == {A.key}
    store.append(B, {"acc": 0.75})
    assert set(store.records()) == {A.key, B.key}
    for line in store.path.read_text().splitlines():
        json.loads(line)


def test_a_cell_counts_once(store):
    store.append(A, {"acc": 0.5})
    store.append(A, {"acc": 0.6})
    assert [r["acc"] for r in store.records().values()] == [0.5]


def test_key_does_not_depend_on_the_order_of_settings():
    one = Cell("a", "b", 0, {"x": 1, "y": 2})
    other = Cell("a", "b", 0, {"y": 2, "x": 1})
    assert one.key == other.key
    assert len({A.key, B.key, Cell("sc", "ecoli").key, Cell("sr", "wine").key}) == 4
