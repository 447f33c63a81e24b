"""README.md is run: its first Python block must print the block after it."""

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


def test_first_python_block_prints_what_follows(readme):
    code, expected = blocks(readme, "python")[0], blocks(readme, "text")[0]
    shown = io.StringIO()
    with redirect_stdout(shown):
        exec(compile(code, "README.md", "exec"), {})
    # Other processors round otherwise: the last digit of a number may differ.
    assert (
        NUMBER.sub("#", shown.getvalue()).split() == NUMBER.sub("#", expected).split()
    )
    numbers = [
        np.array(NUMBER.findall(text), float) for text in (shown.getvalue(), expected)
    ]
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
