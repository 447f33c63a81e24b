"""The site is correct: its code runs, its links exist, no public name is missing."""

import io
import re
import runpy
import shlex
import warnings
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

from lordclust.cli.app import main
from test_readme import SECONDS, assert_same_text, blocks

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [DOCS / "index.md", *sorted((DOCS / "guide").glob("*.md"))]
TUTORIALS = [DOCS / "tutorial.md", *sorted((DOCS / "tutorials").glob("*.md"))]
WITH_LINKS = sorted(
    {
        *PAGES,
        *TUTORIALS,
        *DOCS.glob("*.md"),
        *DOCS.glob("trust/*.md"),
        *DOCS.parent.glob("*.md"),
    }
    - {DOCS.parent / "README.md"}
)
PACKAGES = ("datasets", "files", "graph", "methods", "metrics", "plots", "tl")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_prints_what_follows(page, registry):
    text = page.read_text(encoding="utf-8")
    names = {}
    pairs = zip(blocks(text, "python"), blocks(text, "text"), strict=True)
    for code, expected in pairs:
        shown = io.StringIO()
        with redirect_stdout(shown):
            exec(compile(code, page.name, "exec"), names)
        assert_same_text(shown.getvalue(), expected)


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_prints_what_it_says(page, tmp_path, monkeypatch, registry):
    if page.stem == "cells":
        warnings.simplefilter("ignore")  # of scanpy; pytest restores the filters
        pytest.importorskip("scanpy")
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    names, shown = {}, io.StringIO()
    fences = re.findall(r"^```(\w+)\n(.*?)^```$", text, flags=re.M | re.S)
    for language, block in fences:
        if language == "python":
            shown = io.StringIO()
            with redirect_stdout(shown):
                exec(compile(block, page.name, "exec"), names)
        elif language == "text":
            assert_same_text(shown.getvalue(), block)
        elif language == "console":
            command, expected = block.split("\n", 1)
            result = CliRunner().invoke(main, shlex.split(command)[2:])
            assert result.exit_code == 0, result.output
            assert_same_text(*(SECONDS.sub("", t) for t in (result.output, expected)))


@pytest.mark.parametrize("page", WITH_LINKS, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target, place in re.findall(r"\]\((?!https:)([^)#\s]*)#?([^)\s]*)\)", text):
        found = (page.parent / target).resolve() if target else page
        if found.parent.name == "gallery":  # made from the examples by `make docs`
            found = DOCS.parent / "examples" / f"{found.stem}.py"
        if found.parent.name == "reproduction" and not (DOCS.parent / ".git").exists():
            continue  # the archive of the source leaves the figures out
        assert found.is_file(), target
        assert not place or place in places(found), f"{target}#{place}"


def places(page):
    """Return the headings of a page as links write them."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", head).lower().replace(" ", "-") for head in heads}


def test_every_page_is_in_a_table_of_contents():
    named = {DOCS / "index.md"}
    folders = ("", "guide/", "trust/", "tutorials/")
    pages = {page for folder in folders for page in DOCS.glob(f"{folder}*.md")}
    for page in pages:
        lists = re.findall(r"```{toctree}\n(.*?)```", page.read_text(), flags=re.S)
        for entry in re.findall(r"[\w./-]+(?=>?$)", "\n".join(lists), flags=re.M):
            named.add((page.parent / f"{entry}.md").resolve())
    assert pages <= named


@pytest.mark.parametrize("package", ["", *PACKAGES])
def test_every_public_name_has_its_page(package):
    listed = (DOCS / "api" / "index.rst").read_text(encoding="utf-8").split()
    assert public_names(f"lordclust.{package}".rstrip(".")) <= set(listed)


def public_names(name):
    """Return the names of a module that are its own to show."""
    module = import_module(name)
    own = [n for n, v in vars(module).items() if getattr(v, "__module__", "") == name]
    names = getattr(module, "__all__", own)
    return {n for n in names if not n.startswith("_")} - set(PACKAGES)


def test_docstrings_are_read_as_plain_text():
    rewrite = runpy.run_path(str(DOCS / "_ext" / "plain_docstrings.py"))["rewrite"]
    lines = [
        "Solves", "", "    min ||S||_F", "", "where |S| is c_, not ``c_`` [1]_.", "",
        "Attributes", "----------", "c_ : float", "    At least |S|.", "",
        "Examples", "--------", ">>> c_ | 1", "",
    ]  # fmt: skip
    rewrite(None, None, None, None, None, lines)
    assert lines == [
        "Solves", "", ".. math::", "", r"    \min  \Vert S\Vert _{F}", "",
        r"where \|S\| is c\_, not ``c_`` [1]_.", "",
        "Attributes", "----------", "c_ : float", r"    At least \|S\|.", "",
        "Examples", "--------", ">>> c_ | 1", "",
    ]  # fmt: skip
