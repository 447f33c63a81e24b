"""What is shipped: lower bounds that can be tested, and the package alone."""

import re
import tomllib
import zipfile
from pathlib import Path

import pytest

from qa.floors import floors

ROOT = Path(__file__).parents[1]
TOOLS = {"reproduction", "qa", "benchmarks", "tests", "fuzz", "faults", "soak"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize("extra", PROJECT["optional-dependencies"])
def test_every_package_has_a_lower_bound(extra):
    found = floors(PROJECT, extra)
    assert found["numpy"] == "1.26"
    assert all(re.fullmatch(r"\d[\d.]*", floor) for floor in found.values())


def test_extras_of_extras_are_followed():
    assert {"matplotlib", "pyarrow", "anndata", "dask"} <= set(floors(PROJECT, "test"))


def test_a_missing_bound_is_refused():
    project = {"name": "x", "dependencies": ["numpy"], "optional-dependencies": {}}
    with pytest.raises(ValueError, match="'numpy' has no lower bound"):
        floors(project)


def test_the_wheel_contains_only_the_package(tmp_path):
    wheel = pytest.importorskip("hatchling.builders.wheel")
    (file,) = wheel.WheelBuilder(str(ROOT)).build(
        directory=str(tmp_path), versions=["standard"]
    )
    with zipfile.ZipFile(file) as archive:
        names = set(archive.namelist())
        (about,) = (n for n in names if n.endswith("/METADATA"))
        text = archive.read(about).decode()
    folder = ROOT / "src"
    kept = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    kept = {n for n in kept if "__pycache__" not in n and n.startswith("lordclust/")}
    assert {n for n in names if ".dist-info/" not in n} == kept
    # The study and the tools stay in the repository.
    assert not {part for n in names for part in n.split("/")} & TOOLS
    assert not [n for n in names if n.endswith(".csv")]
    assert "lordclust/py.typed" in kept
    assert about.replace("METADATA", "licenses/LICENSE") in names
    assert "License-Expression: BSD-3-Clause" in text
    assert "Description-Content-Type: text/markdown" in text


def test_the_package_needs_neither_the_study_nor_the_tools():
    for file in (ROOT / "src").rglob("*.py"):
        imported = re.findall(r"^\s*(?:from|import) (\w+)", file.read_text(), re.M)
        assert not TOOLS & set(imported), file
