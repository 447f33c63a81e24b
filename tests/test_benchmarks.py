"""No figure on a page is typed by hand: pages come from the results file."""

import json

from benchmarks.__main__ import PAGE, README, RESULTS, page
from benchmarks.summary import with_summary


def test_the_page_is_made_from_the_results():
    assert PAGE.read_text() == page(json.loads(RESULTS.read_text()))


def test_the_readme_is_made_from_the_results():
    text = README.read_text()
    assert text == with_summary(text, json.loads(RESULTS.read_text()))
