"""The page and its figures are generated from the committed results."""

import pytest

from reproduction import differences, page, paper_tables
from reproduction.items import ITEMS
from reproduction.paper import METHODS, SETS
from reproduction.paper_tables import ROWS


@pytest.fixture(scope="module")
def results():
    return page.read()


def test_the_page_is_generated_from_the_results(results):
    assert page.PAGE.read_text() == page.render(results)


def test_what_is_not_run_yet_is_named(results):
    some = results | {"scores": [e for e in results["scores"] if e["data"] != "wine"]}
    assert "directsc (scores) on wine" in page.absent(some)
    assert "directsc (scores) on wine" not in page.absent(results)
    assert "directsc (scores) on wine" in page.measured(some)


def test_the_figures_are_there():
    for item in ITEMS.values():
        if not item.is_table:
            png = (page.FOLDER / f"{item.name}.png").read_bytes()
            assert png.startswith(b"\x89PNG")


@pytest.mark.parametrize("name", [i.name for i in ITEMS.values() if not i.is_table])
def test_figures_can_be_drawn(results, name):
    figure = ITEMS[name].make(results)
    assert any(axes.has_data() for axes in figure.axes)


def test_the_tables_have_every_set(results):
    table = paper_tables.scores(results, "acc")
    assert table.head[1:13] == [paper_tables.column(data) for data in SETS]
    assert "usps1000 †" in table.head
    assert all(ROWS.get(method, f"`{method}`") in table.rows for method in METHODS)
    assert any(note.startswith("‡ coil100: rebuilt") for note in table.notes)


def test_both_readings_of_the_other_scores_are_shown(results):
    table = paper_tables.scores(results, "pur")
    ecoli = table.head.index("ecoli") - 1
    at_best, each = (table.rows[name] for name in ("`blord`", ROWS["blord-each"]))
    assert each[ecoli].ours > at_best[ecoli].ours
    assert ROWS["blord-each"] not in paper_tables.scores(results, "acc").rows


def test_averages_are_over_the_same_sets(results):
    table = paper_tables.tau(results)
    theirs = [table.rows[f"ACC at {x}"][-1].theirs for x in ("rule by n", "best tau")]
    assert theirs == pytest.approx([0.648, 0.720], abs=6e-4)


def test_every_cell_far_from_the_paper_has_a_reason_or_is_open(results):
    for table, far_cells in differences.FAR_CELLS.items():
        for row, data, gap, why in far_cells(results):
            assert abs(gap) > 0.05, (table, row, data)
            assert why.endswith((".", ".)"))
    assert "`lord`, usps1000" in differences.far_list(results, "table-acc")


def test_a_better_setting_than_the_papers_is_the_reason():
    entry = {"method": "dsni", "data": "chart", "starts": 1, "acc": 0.7, "nmi": 0.8}
    entry |= {"pur": 0.667, "f1": 0.694, "values": {"w": 0.1}}
    lines = [
        line
        for found in ([0.57, 0.7], [0.1, 0.7])
        for line in differences.scores(
            {"tuned": [entry | {"accuracies": found}]}, "acc"
        )
    ]
    assert [why.startswith("the labels choose") for *_, why in lines] == [True, False]
    assert "another has .570." in lines[0][-1]


def test_close_cells_are_counted_by_hand():
    entry = {"method": "sc", "data": "wine", "acc": 0.949, "nmi": 0.84, "pur": 0.9}
    few = {"facts": [], "scores": [entry | {"f1": 0.5}]}
    # Printed: .949, .825, .949, .898.
    assert page.close_cells(few, ["sc"]) == [4, 1, 2, 3]


def test_inner_iterations_are_stated_from_few_to_many_clusters():
    def descent(data, passes):
        return {"method": "lord", "data": data, "paper": {"passes": passes}}

    text = page.inner_compared({"descent": [descent("orl", 60.2), descent("wine", 40)]})
    assert "LoRD: 40 to 60 iterations" in text
    assert "(40 for k = 3 (wine), 60 for k = 40 (orl))" in text


def test_sentences_follow_from_the_results():
    ends = {"converged": True, "curve": [2.0], "objective": 1.0}
    other = ends | {"objective": 0.5}
    same = {"method": "lord", "data": "wine", "paper": ends, "fast": ends}
    assert "in 1 of 1 descents." in page.optima({"descent": [same]})
    assert "LoRD on wine (50.0 %)" in page.optima({"descent": [same | {"fast": other}]})
