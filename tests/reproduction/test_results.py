import json

import pytest

from reproduction.comparison import Pair, Table, short
from reproduction.experiments import collect
from reproduction.experiments.tuned import GRIDS
from reproduction.paper import METHODS, NINE, SETS
from reproduction.plan import FEWER, LARGE, Plan, left_out
from reproduction.results import find, lacking, merged, signed_r2, to_text
from reproduction.store import Cell, Store
from reproduction.study import Study

FACTS = {"python": "3"}


def records(*pairs):
    return {
        cell.key: {**cell.place, "facts": FACTS, "seconds": 1.0, **record}
        for cell, record in pairs
    }


def fit(objective, acc):
    rest = {"nmi": 0.5, "pur": 0.5, "f1": 0.5, "converged": True}
    return {"objective": objective, "acc": acc, **rest}


def test_the_best_objective_counts_not_the_best_accuracy():
    cells = [Cell("scores", "symnmf", "iris", seed) for seed in range(3)]
    runs = [fit(3.0, 0.9), fit(1.0, 0.4), fit(2.0, 0.7)]
    results = collect(cells, records(*zip(cells, runs, strict=True)))
    entry = find(results, "scores", method="symnmf")
    assert (entry["acc"], entry["worst"], entry["best"]) == (0.4, 0.4, 0.9)
    assert entry["seconds"] == 3
    assert entry["r2"] == pytest.approx(-0.987, abs=1e-3)  # lower is better, and worse


def test_only_requested_cells_count():
    cells = [Cell("scores", "symnmf", "iris", seed) for seed in range(3)]
    runs = records(*((cell, fit(1.0 + cell.seed, 0.5)) for cell in cells))
    results = collect(cells[1:], runs)
    assert find(results, "scores", method="symnmf")["starts"] == 2
    assert (results["asked"], results["finished"]) == (2, 2)


def test_tau_is_chosen_by_labels_and_the_start_by_its_objective():
    cells = [
        Cell("grid", "blord", "iris", s, {"taus": 2, "shares": "equal"}) for s in (0, 1)
    ]
    runs = [
        {"objective": [1.0, 5.0], "acc": [0.9, 0.6], "taus": [0.5, 1.0]},
        {"objective": [2.0, 4.0], "acc": [0.5, 0.8], "taus": [0.5, 1.0]},
    ]
    for run in runs:
        run |= dict.fromkeys(("nmi", "pur", "f1"), run["acc"])
    entry = find(collect(cells, records(*zip(cells, runs, strict=True))), "grid")
    assert entry["curve"] == [0.5, 0.6]
    assert (entry["tau"], entry["acc"]) == (1.0, 0.6)
    assert entry["cloud"] == [[1.0, 4.0], [1.5, 4.5], [2.0, 5.0]]


def test_text_is_json_with_one_line_per_entry():
    cells = [
        Cell("scores", "sc", data, 0, {"roundings": 3}) for data in ("iris", "wine")
    ]
    results = collect(cells, records(*((c, fit(1.0, 0.5)) for c in cells)))
    text = to_text(results)
    assert json.loads(text) == results
    assert len([x for x in text.splitlines() if '"method"' in x]) == 2


def test_correlation_without_variation():
    assert signed_r2([1.0, 1.0, 1.0], [0.1, 0.2, 0.3]) is None
    assert signed_r2([1.0, 2.0, 3.0], [0.1, 0.1, 0.1]) is None


def test_a_later_run_replaces_its_own_entries():
    def entry(method, acc, **more):
        return {"method": method, "data": "iris", "acc": acc, **more}

    old = {
        "facts": [FACTS], "asked": 2, "finished": 2,
        "scores": [entry("sc", 0.1), entry("sr", 0.2)],
        "grid": [entry("blord", 0.3, shares="true", taus=[0.5])],
    }  # fmt: skip
    new = {
        "facts": [FACTS], "asked": 1, "finished": 1,
        "scores": [entry("sc", 0.5)],
        "grid": [entry("blord", 0.6, shares="equal", taus=[0.5])],
    }  # fmt: skip
    results = merged(old, new)
    assert [e["acc"] for e in results["scores"]] == [0.5, 0.2]
    assert [e["acc"] for e in results["grid"]] == [0.3, 0.6]
    assert results["facts"] == [FACTS]


def test_entries_that_are_half_done_replace_nothing(tmp_path):
    study = Study(
        "table-acc", tmp_path, only=["wine"], methods=["sc", "sr"], restarts=2
    )
    done = [c for c in study.cells() if (c.method, c.seed) != ("sr", 1)]
    for record, cell in zip(
        records(*((c, fit(1.0, 0.5)) for c in done)).values(), done, strict=True
    ):
        Store(study.store).append(cell, record)
    assert {e["method"] for e in study.results()["scores"]} == {"sc", "sr"}
    assert {e["method"] for e in study.results(complete=True)["scores"]} == {"sc"}


def test_what_is_shorter_than_planned_is_lacking():
    plan = Plan(["wine"], ["sr", "sc", "dsni"], 5)
    cells = list(plan.tables())
    sr = {"method": "sr", "data": "wine", "starts": 5}
    sc = {"method": "sc", "data": "wine", "starts": 5}
    dsni = {"method": "dsni", "data": "wine", "starts": 1}
    tuned = dsni | {"accuracies": [0.5] * len(GRIDS["dsni"])}
    known = {"facts": [], "scores": [sr, sc, dsni | {"starts": 5}], "tuned": [tuned]}
    assert lacking(known, cells) == []
    known["scores"][0] = sr | {"starts": 4}
    assert {c.method for c in lacking(known, cells)} == {"sr"}
    known["tuned"] = [tuned | {"accuracies": [0.5]}]
    assert {c.kind for c in lacking(known, cells)} == {"scores", "tuned"}
    assert len(lacking({"facts": []}, cells)) == len(cells)


# -- the plan -------------------------------------------------------------------------


def test_the_plan_is_the_papers():
    cells = list(Plan().tables())
    entries = {(c.method, c.data) for c in cells if c.method in METHODS}
    expected = {(m, d) for m in METHODS for d in SETS if left_out(m, d) is None}
    assert entries == expected
    assert sum(c.method == "sr" and c.data == "wine" for c in cells) == 50
    grid = [c for c in cells if c.kind == "grid" and c.data == "wine"]
    assert len(grid) == 50
    assert {c.settings["taus"] for c in grid} == {100}
    assert {d for _, d in FEWER} <= set(LARGE)
    assert not set(LARGE) & set(NINE)
    assert left_out("sds-rank", "isolet") == "left out by the paper"
    tuned = [c for c in cells if c.kind == "tuned"]
    assert {(c.method, c.data) for c in tuned} == {(m, d) for m in GRIDS for d in NINE}


def test_fewer_sets_methods_and_starts():
    cells = list(Plan(["wine"], ["sc", "sr", "blord"], 5).tables())
    assert {c.data for c in cells} == {"wine"}
    assert {c.method for c in cells} == {
        "sc",
        "sr",
        "blord",
        "blord-path",
        "blord-auto",
    }
    assert sum(c.method == "sr" for c in cells) == 5
    assert [c.settings["roundings"] for c in cells if c.method == "sc"] == [5]


def test_a_variant_is_run_alone():
    cells = list(Plan(methods=["blord-auto"]).tables())
    assert {c.method for c in cells} == {"blord-auto"}
    assert [c.data for c in cells] == [*NINE, *LARGE]


# -- tables ---------------------------------------------------------------------------


def table():
    rows = {
        "`a`": [Pair(0.5, 0.45), Pair(None, 0.2, "*")],
        "b": [Pair(1.0), Pair()],
    }
    return Table("T", ["method", "wine", "ecoli"], rows, ["A note."])


def test_a_cell_has_ours_theirs_and_the_difference():
    page = table().markdown()
    assert "| `a` | **.500**<br>.450<br>+.050 | -<br>.200* |" in page
    assert page.endswith("- A note.")


def test_a_narrow_terminal_gets_bands():
    wide, narrow = table().text(100), table().text(16)
    assert "wine  ecoli" in wide
    assert max(map(len, narrow.splitlines())) <= 16
    assert narrow.count("method") == 2
    assert "`" not in wide


def test_csv_has_all_digits():
    lines = table().csv().splitlines()
    assert lines[1] == "`a`,wine,0.5,0.45,0.05"
    assert lines[-1] == "b,ecoli,,,"


def test_empty_rows_and_columns_are_left_out():
    assert table().without_empty().head == ["method", "wine"]


def test_short_numbers():
    assert [short(x) for x in (0.5, 1.0, -0.25, -0.0001)] == [
        ".500",
        "1.000",
        "-.250",
        ".000",
    ]
