from itertools import combinations

import numpy as np
import pytest

from lordclust import make_method
from lordclust.datasets import load
from lordclust.graph import KNNGraph
from lordclust.metrics import accuracy
from lordclust.solver.projection import feasibility_error
from models import PAPER
from reproduction import inputs
from reproduction.experiments import RUN, scores, tau_grid, tuned
from reproduction.experiments.coclustering import decode, encode, thumbnail
from reproduction.paper import printed
from reproduction.runner import run_cells
from reproduction.store import Cell, Store


def run(*args, **kwargs):
    cell = Cell(*args, **kwargs)
    return RUN[cell.kind](cell)


def graph(name):
    return KNNGraph().build(load(name).prepared())


def test_starts_are_the_restarts_of_one_fit():
    record = run("scores", "symnmf", "iris", seed=3)
    model = make_method("symnmf", 3, affinity="precomputed", n_init=1, random_state=3)
    model.fit(graph("iris"))
    assert record["objective"] == model.objective_
    assert record["acc"] == accuracy(load("iris").y, model.labels_)


def test_roundings_are_averaged():
    record = run("scores", "sc", "iris", settings={"roundings": 4})
    model = make_method("sc", 3, affinity="precomputed", random_state=0)
    model.fit(graph("iris"))
    found = [accuracy(load("iris").y, model.relabel(seed)) for seed in range(4)]
    assert record["acc"] == pytest.approx(np.mean(found))


def test_variants_are_the_method_with_settings():
    S = graph("iris")
    path = PAPER(3, affinity="precomputed", start="path").fit(S)
    record = run("scores", "blord-path", "iris")
    assert record["objective"] == path.objective_
    starts = [run("scores", "lord", "iris", seed=s)["objective"] for s in range(3)]
    assert len(set(starts)) > 1  # random, not the path
    chosen = run("scores", "blord-auto", "iris")
    assert chosen["acc"] >= 0.9


def test_dcd_starts_from_one_normalised_cut_without_a_prior():
    """Wine is part of scikit-learn; all four scores are the printed ones."""
    record = run("scores", "dcd", "wine")
    row = {score: printed(score)["dcd"]["wine"] for score in inputs.SCORES}
    assert {score: record[score] for score in row} == pytest.approx(row, abs=5.5e-4)


def test_true_shares_are_those_of_the_classes():
    np.testing.assert_allclose(
        inputs.problem("wine", "true").omega.mu ** 2, [59, 71, 48] / np.float64(178)
    )
    assert inputs.shares("wine", "equal") is None
    record = run("scores", "lord-true", "wine")
    assert record["acc"] > 0.8


def test_projected_starts_are_feasible_and_on_the_boundary():
    V = scores.projected_start("iris", 0)
    omega = inputs.problem("iris").omega
    assert feasibility_error(V, omega) < 1e-9
    assert (V == 0).mean() > 0.5  # most of it, as in the paper


def test_a_grid_is_a_fit_for_each_tau():
    record = run("grid", "blord", "iris", 2, {"taus": 4, "shares": "equal"})
    assert record["taus"] == [0.25, 0.5, 0.75, 1.0]
    problem = inputs.problem("iris")
    (objective, P), *_ = tau_grid.descend(problem, 2, np.array([0.75]))
    assert record["objective"][2] == pytest.approx(objective, rel=1e-8)
    assert record["acc"][2] == round(accuracy(load("iris").y, P.argmax(axis=1)), 5)


def test_a_path_has_tau_0_and_the_rules():
    record = run("path", "blord", "iris", 0, {"taus": 20})
    ends = inputs.problem("iris").spectrum
    assert ends.gamma(record["tau_0"]) == pytest.approx(0, abs=1e-3 * ends.high)
    assert record["tau_n"] == pytest.approx(2 * 150**-0.24, abs=1e-4)
    assert len(record["taus"]) == len(record["acc"]) == 20


@pytest.mark.parametrize("method", ["lord", "blord"])
def test_both_algorithms_reach_the_same_objective(method):
    settings = {"max_iter": 4000, "strict_iter": 30}
    settings |= {"tau": 0.4} if method == "blord" else {}
    record = run("descent", method, "iris", 0, settings)
    slow, strict, fast = (record[way] for way in ("paper", "strict", "fast"))
    assert strict["n_iter"] == 30
    assert strict["passes"] > slow["passes"]  # it meets the sums as well
    assert slow["converged"]
    assert fast["converged"]
    assert slow["objective"] == pytest.approx(fast["objective"], rel=1e-2)
    assert slow["passes"] > 10 * fast["passes"] >= 10
    assert slow["iterations"][-1] == slow["n_iter"]
    assert slow["curve"][-1] == pytest.approx(slow["objective"], rel=1e-4)


def test_tuned_scores_are_the_best_of_the_grid(monkeypatch):
    monkeypatch.setitem(tuned.GRIDS, "dsni", [{"w": 0.1}, {"w": 0.4}])
    found = run("tuned", "dsni", "iris", 0, {"starts": 1, "roundings": 2})
    single = [
        run("scores", "dsni", "iris", 0, {"w": w, "roundings": 2})["acc"]
        for w in (0.1, 0.4)
    ]
    assert found["accuracies"] == pytest.approx(single, abs=1e-4)
    assert found["acc"] == max(single)
    assert found["values"] in tuned.GRIDS["dsni"]


@pytest.mark.parametrize("method", tuned.GRIDS)
def test_grids_are_parameters_that_differ(method):
    values = []
    for setting in tuned.GRIDS[method]:
        known = {x: v for x, v in setting.items() if x not in scores.OURS}
        params = make_method(method, 3, **known).get_params()
        values.append(params | {"scale": setting.get("scale")})
    assert all(a != b for a, b in combinations(values, 2))


def test_pictures_are_the_same_after_encoding():
    P = np.repeat(np.eye(3), 60, axis=0)
    Z = thumbnail(P, np.arange(180))
    assert Z.shape == (96, 96)
    np.testing.assert_allclose(decode(encode(Z), 96), Z, atol=1 / 255)
    assert Z[0, 0] == Z[50, 50] == 1
    assert Z[0, 50] == 0


def test_blocks_grow_with_tau():
    record = run("blocks", "blord", "iris", 0, {"taus": [0.05, 1.0]})
    soft, hard = (decode(text, record["side"]) for text in record["pictures"])
    assert soft.std() < hard.std()
    assert len(run("blocks", "lord", "iris")["pictures"]) == 1


@pytest.mark.parametrize("method", ["gmm", "lord", "blord"])
def test_mixtures(method):
    settings = {"shares": "true", "starts": 2, "taus": 5}
    record = run("synthetic", method, "synthetic-20-40-60-80", 0, settings)
    assert 0.6 < record["acc"] <= 1
    assert len(record["labels"]) == len(record["chance"]) == len(record["x"]) == 200
    again = run("synthetic", method, "synthetic-20-40-60-80", 1, settings)
    assert "x" not in again
    if method == "blord":
        assert record["acc"] == pytest.approx(max(record["curve"]), abs=1e-4)


def test_finished_cells_are_not_run_again(tmp_path):
    path = tmp_path / "cells.jsonl"
    cells = [Cell("scores", "symnmf", "iris", seed) for seed in range(2)]
    reported = []
    run_cells(cells[:1], path, report=lambda *what: reported.append(what))
    run_cells([*cells, *cells], path, report=lambda *what: reported.append(what))
    assert [cell.seed for cell, _, _ in reported] == [0, 1]
    assert len(Store(path).records()) == 2


def test_a_failed_cell_reports_its_error_and_is_not_kept(tmp_path):
    reported = []
    bad = Cell("scores", "symnmf", "iris", settings={"max_iter": 0})
    run_cells([bad], tmp_path / "x", report=lambda *what: reported.append(what))
    assert "max_iter must be a positive integer" in reported[0][1]["error"]
    assert Store(tmp_path / "x").records() == {}
