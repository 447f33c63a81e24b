"""Scores and objectives do not move unnoticed; a diff of the table shows what did."""

import csv

import pytest

from golden.make import TABLE, rows

WANTED = {
    (r["data"], r["model"]): r for r in csv.DictReader(TABLE.read_text().splitlines())
}


@pytest.fixture(scope="module")
def found():
    return {(r["data"], r["model"]): r for r in rows()}


def test_the_table_has_every_case(found):
    assert found.keys() == WANTED.keys()


@pytest.mark.parametrize("case", WANTED)
def test_as_before(found, case):
    new, old = found[case], WANTED[case]
    assert float(new["objective"]) == pytest.approx(float(old["objective"]), rel=1e-3)
    assert float(new["ACC"]) == pytest.approx(float(old["ACC"]), abs=0.01)
    assert float(new["NMI"]) == pytest.approx(float(old["NMI"]), abs=0.01)
