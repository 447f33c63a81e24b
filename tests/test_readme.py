"""README.md is run: its Python blocks must print the blocks after them."""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
NUMBER = re.compile(r"-?\d+(?:\.\d*)?")


@pytest.fixture(scope="module")
def readme():
    return (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.M | re.S)


def test_python_blocks_print_what_follows(readme):
    names = {}  # later blocks use what earlier ones made
    blocks_and_texts = zip(
        blocks(readme, "python"), blocks(readme, "text"), strict=True
    )
    for code, expected in blocks_and_texts:
        shown = io.StringIO()
        with redirect_stdout(shown):
            exec(compile(code, "README.md", "exec"), names)
        assert_same_text(shown.getvalue(), expected)


def assert_same_text(shown, expected):
    """Compare, but for the last digits: other processors round otherwise."""
    assert NUMBER.sub("#", shown).split() == NUMBER.sub("#", expected).split()
    numbers = [np.array(NUMBER.findall(text), float) for text in (shown, expected)]
    np.testing.assert_allclose(*numbers, rtol=0.01, atol=0.02)


def test_links_lead_somewhere(readme):
    for target in re.findall(r"\]\(([^)#]+)\)", readme):
        if target != "benchmarks/results.md":  # written by `make bench`
            assert (ROOT / target).is_file(), target


def test_names_the_two_commands_of_a_clone_first(readme):
    head = readme[:600]
    assert head.index("make demo") < head.index("make test")


def test_picture_is_small():
    assert (ROOT / "docs" / "demo.png").stat().st_size < 300_000
