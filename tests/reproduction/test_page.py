import json

import pytest
from benchmarks import study

from lordclust import list_methods
from lordclust.reproduction import page
from lordclust.reproduction.paper import ERRATA, NINE, printed


def test_printed_averages_are_those_of_the_nine():
    # SDP's printed average is not the mean of its printed figures: an erratum.
    for method, row in printed("acc").items():
        mean = sum(row[data] for data in NINE) / 9
        assert (abs(mean - row["average"]) < 1.1e-3) == (method != "sdp")


@pytest.mark.parametrize("score", ["acc", "nmi", "pur", "f1"])
def test_printed_methods_are_ours(score):
    assert set(printed(score)) <= set(list_methods())
    assert len(printed(score)) == 20


def test_accuracy_never_exceeds_purity_but_for_the_erratum():
    pur = printed("pur")
    wrong = {
        ("acc", method, data)
        for method, row in printed("acc").items()
        for data, x in row.items()
        if data != "average" and x > pur[method][data] + 1e-3
    }
    assert ("acc", "sdp", "semeion") in wrong & set(ERRATA)


def test_far_cells():
    def entry(method, data, acc):
        return {"method": method, "data": data, "acc": acc}

    entries = page.by_place(
        [entry("sc", "wine", 0.949 - 0.05), entry("kkm", "wine", 0.944 - 0.05),
         entry("kkm", "ecoli", 0.569 + 0.07), entry("nlr", "ecoli", 0.1)]
    )  # fmt: skip
    far = page.far_cells(entries)
    assert [x[:2] for x in far] == [("sc", "wine"), ("kkm", "ecoli")]


def test_the_page_is_made_from_the_summary():
    assert study.PAGE.read_text() == study.render(json.loads(study.SUMMARY.read_text()))
