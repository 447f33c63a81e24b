"""The page and its figures are generated from the committed results."""

import pytest

from benchmarks.common import with_block
from reproduction import page, paper_tables
from reproduction.items import ITEMS
from reproduction.paper import METHODS, SETS


@pytest.fixture(scope="module")
def results():
    return page.read()


def test_the_page_is_generated_from_the_results(results):
    assert page.PAGE.read_text() == page.render(results)


def test_the_readme_is_generated_from_the_results(results):
    text = page.README.read_text()
    assert text == with_block(text, "ranking", page.ranking(results))


def test_the_run_is_complete(results):
    assert results["finished"] == results["asked"]


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
    assert table.head[1:13] == list(SETS)
    assert all(f"`{method}`" in table.rows for method in METHODS)
