import numpy as np
import pytest

from lordclust import list_methods, make_method
from lordclust.datasets import load
from lordclust.graph import KNNGraph
from lordclust.metrics import accuracy
from lordclust.reproduction import protocol
from lordclust.reproduction.runner import run_cells
from lordclust.reproduction.store import Cell, Store
from lordclust.reproduction.summary import r_squared, summarise


def test_every_method_has_cells():
    for name in list_methods():
        count = len(protocol.cells(name, "wine", 5))
        once = (*protocol.ROUNDED, *protocol.DETERMINISTIC, *protocol.MEMBERS)
        assert count == (1 if name in once else 5)


def test_starts_are_the_restarts_of_one_fit():
    data = load("iris")
    S = KNNGraph().build(data.prepared())
    record = protocol.run(Cell("symnmf", "iris", seed=3))
    model = make_method("symnmf", 3, affinity="precomputed", n_init=1, random_state=3)
    model.fit(S)
    assert record["objective"] == model.objective_
    assert record["acc"] == accuracy(data.y, model.labels_)


def test_roundings_are_averaged():
    record = protocol.run(Cell("sc", "iris", settings={"restarts": 4}))
    data = load("iris")
    S = KNNGraph().build(data.prepared())
    model = make_method("sc", 3, affinity="precomputed", random_state=0).fit(S)
    scores = [accuracy(data.y, model.relabel(seed)) for seed in range(4)]
    assert record["acc"] == pytest.approx(np.mean(scores))


def test_the_best_objective_counts_not_the_best_accuracy():
    base = {"method": "symnmf", "data": "iris", "settings": {}, "converged": True}
    rest = {"nmi": 0, "pur": 0, "f1": 0, "seconds": 1.0}
    records = [
        {**base, **rest, "seed": i, "objective": f, "acc": acc}
        for i, (f, acc) in enumerate([(3.0, 0.9), (1.0, 0.4), (2.0, 0.7)])
    ]
    (entry,) = summarise(records)
    assert (entry["acc"], entry["worst"], entry["best"]) == (0.4, 0.4, 0.9)
    assert entry["seconds"] == 3
    assert entry["r2"] == pytest.approx(0.987, abs=1e-3)


def test_correlation_without_variation():
    assert r_squared([1.0, 1.0, 1.0], [0.1, 0.2, 0.3]) is None
    assert r_squared([1.0, 2.0, 3.0], [0.1, 0.1, 0.1]) is None


def test_finished_cells_are_not_run_again(tmp_path):
    path = tmp_path / "cells.jsonl"
    cells = protocol.cells("symnmf", "iris", 2)
    told = []
    run_cells(cells[:1], path, report=lambda *what: told.append(what))
    run_cells(cells, path, report=lambda *what: told.append(what))
    assert [cell.seed for cell, _, _ in told] == [0, 1]
    assert len(Store(path).records()) == 2


def test_a_failed_cell_says_why_and_is_not_kept(tmp_path):
    told = []
    bad = Cell("symnmf", "iris", settings={"max_iter": 0})
    run_cells([bad], tmp_path / "x", report=lambda *what: told.append(what))
    assert "max_iter must be a positive integer" in told[0][1]["error"]
    assert Store(tmp_path / "x").records() == {}
