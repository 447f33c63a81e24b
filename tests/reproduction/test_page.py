import pytest

from benchmarks import methods_page
from lordclust import list_methods
from reproduction import page
from reproduction.items import ITEMS, chosen
from reproduction.paper import (
    ERRATA,
    METHODS,
    NINE,
    SETS,
    printed,
    printed_synthetic,
)


def test_printed_averages_are_those_of_the_nine():
    for method, row in printed("acc").items():
        mean = sum(row[data] for data in NINE) / 9
        right = abs(mean - row["average"]) < 1.1e-3
        assert right == (("acc", method, "average") not in ERRATA)


def test_nlr_on_ecoli_repeats_orl():
    for score in ("acc", "nmi", "pur", "f1"):
        row = printed(score)["nlr"]
        assert row["ecoli"] == row["orl"]
        assert (score, "nlr", "ecoli") in ERRATA


@pytest.mark.parametrize("score", ["acc", "nmi", "pur", "f1"])
def test_printed_methods_are_ours(score):
    assert tuple(printed(score)) == METHODS
    assert set(METHODS) <= set(list_methods())
    assert len(METHODS) == 20


def test_accuracy_never_exceeds_purity_except_for_the_erratum():
    pur = printed("pur")
    wrong = {
        ("acc", method, data)
        for method, row in printed("acc").items()
        for data, x in row.items()
        if data != "average" and x > pur[method][data] + 1e-3
    }
    assert ("acc", "sdp", "semeion") in wrong & set(ERRATA)


def test_printed_tables_agree_with_each_other():
    accuracy = printed("acc")
    assert printed("tau-acc")["best"] == accuracy["blord"]
    for method in ("lord", "blord"):
        for data, x in printed("mu")[method].items():
            assert x == accuracy[method][data]
    off = [
        abs(printed("tau")["n"][data] - printed("tau")["best"][data]) for data in SETS
    ]
    assert sum(off) / 12 == pytest.approx(printed("tau")["n"]["mae"], abs=0.006)
    assert len(printed_synthetic("f1")) == 3 * 5 * 2


def test_every_figure_has_a_name_and_a_caption():
    figures = [item for item in ITEMS.values() if not item.is_table]
    assert {item.name for item in figures} == {
        f"fig-{item.make.__name__.replace('_', '-')}" for item in figures
    }
    assert set(page.CAPTIONS) == {item.name for item in figures}
    assert [x.name for x in chosen(["fig-init", "table-mu"])] == [
        "table-mu",
        "fig-init",
    ]
    assert len(chosen(["all"])) == len(ITEMS)
    with pytest.raises(ValueError, match="table-acc"):
        chosen(["table-ac"])


def test_tables_without_results_are_empty():
    nothing = {"facts": [], "asked": 0, "finished": 0}
    for item in ITEMS.values():
        if item.is_table:
            assert all(table.rows == {} for table in item.tables(nothing))


def test_the_methods_page_is_the_registry():
    assert methods_page.PAGE.read_text() == methods_page.render()
