"""Run README.md: its Python and shell blocks must print what it says."""

import io
import re
import shlex
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_iris

from lordclust.cli.app import main

ROOT = Path(__file__).parents[1]
NUMBER = re.compile(r"-?\d+(?:\.\d*)?")
SECONDS = re.compile(r"\d+\.\d+ s\b")


@pytest.fixture(scope="module")
def readme():
    return (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.M | re.S)


def test_python_blocks_print_what_follows(readme):
    names = {}  # shared: later blocks use names of earlier ones
    blocks_and_texts = zip(
        blocks(readme, "python"), blocks(readme, "text"), strict=True
    )
    for code, expected in blocks_and_texts:
        shown = io.StringIO()
        with redirect_stdout(shown):
            exec(compile(code, "README.md", "exec"), names)
        assert_same_text(shown.getvalue(), expected)


def test_the_shell_says_what_follows(readme, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_iris(tmp_path / "iris.csv")
    (block,) = blocks(readme, "console")
    command, expected = block.split("\n", 1)
    result = CliRunner().invoke(main, shlex.split(command)[2:])  # after $ lordclust
    assert result.exit_code == 0, result.stderr
    assert_same_text(*(SECONDS.sub("", text) for text in (result.stderr, expected)))
    page = (tmp_path / "iris.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")


def write_iris(file):
    """Write the flowers as the table that the README and the guide read."""
    frame = load_iris(as_frame=True).frame.drop(columns="target")
    iris = load_iris()
    frame["species"] = iris.target_names[iris.target]
    frame.index = [f"f{i}" for i in frame.index]  # else numbers, taken for a feature
    frame.to_csv(file, index_label="flower")


def test_its_first_screen_is_short(readme):
    first = readme[: readme.index("\n## ")]
    assert len(first.splitlines()) <= 50
    (code,) = blocks(first, "python")
    assert len([line for line in code.splitlines() if line]) == 6
    assert first.count("![") == 1


def assert_same_text(shown, expected):
    """Compare up to the last digits: other processors round differently."""
    assert NUMBER.sub("#", shown).split() == NUMBER.sub("#", expected).split()
    numbers = [np.array(NUMBER.findall(text), float) for text in (shown, expected)]
    np.testing.assert_allclose(*numbers, rtol=0.01, atol=0.02)


def test_links_lead_somewhere(readme):
    for target in re.findall(r"\]\(([^)#]+)\)", readme):
        assert (ROOT / target).is_file(), target


def test_names_the_two_commands_of_a_clone_first(readme):
    first = readme[: readme.index("\n## ")]
    assert first.index("make demo") < first.index("make test")


def test_picture_is_small():
    assert (ROOT / "docs" / "demo.png").stat().st_size < 300_000
