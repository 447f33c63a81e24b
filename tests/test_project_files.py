"""The files around the code agree with it: workflow, recipe, templates, guides."""

import re
import tomllib
from pathlib import Path

import pytest

import lordclust

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
if not (ROOT / ".github").exists():
    pytest.skip("an archive of the source has no .github", allow_module_level=True)

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TARGETS = set(
    re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), flags=re.M)
)
TEMPLATES = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
FORMS = [path for path in TEMPLATES if path.stem != "config"]
#: Named in CONTRIBUTING.md, and on their way.


def read(name):
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def steps(workflow):
    """Yield every step of every job."""
    for job in workflow["jobs"].values():
        yield from job["steps"]


def versions():
    """Return the Python versions that the package states."""
    found = [
        re.fullmatch(r".*:: (3\.\d+)", c) for c in PROJECT["project"]["classifiers"]
    ]
    return [match[1] for match in found if match]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_templates_are_valid(path):
    assert isinstance(read(path), dict)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_forms_have_what_they_need(path):
    form = read(path)
    assert {"name", "description", "body"} <= form.keys()
    ids = [field["id"] for field in form["body"]]
    assert len(ids) == len(set(ids))
    for field in form["body"]:
        assert field["type"] in ("textarea", "input", "dropdown", "checkboxes")
        assert field["attributes"]["label"]


def test_the_workflow_tests_the_versions_that_the_package_states():
    workflow = read(".github/workflows/tests.yml")
    matrix = workflow["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["python"] == versions()
    assert PROJECT["project"]["requires-python"] == f">={versions()[0]}"
    assert {name.partition("-")[0] for name in matrix["os"]} == {
        "ubuntu",
        "macos",
        "windows",
    }
    extra = PROJECT["project"]["optional-dependencies"]
    for step in steps(workflow):
        assert ("uses" in step) != ("run" in step)
        for name in re.findall(r"\[(\w+)\]", step.get("run", "")):
            assert name in extra


def test_make_targets_exist():
    workflow = (ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8")
    script = (ROOT / ".ci/run").read_text(encoding="utf-8")
    template = (ROOT / ".github/pull_request_template.md").read_text(encoding="utf-8")
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    used = set(re.findall(r"^ *- run: make (\w+)", workflow, flags=re.M))
    used |= set(re.findall(r"^make (\w+)", script + CONTRIBUTING, flags=re.M))
    used |= set(re.findall(r"`make (\w+)`", CONTRIBUTING + template + hooks))
    assert {"check", "docs", "dist", "quick", "test"} <= used <= TARGETS


def test_every_target_is_explained():
    table = set(re.findall(r"`make (\w+)`", CONTRIBUTING))
    assert TARGETS - table == {"clean"}


def named_files():
    """Return the paths between backticks in CONTRIBUTING.md."""
    named = set(re.findall(r"`([\w./-]+/[\w./-]*)`", CONTRIBUTING))
    named |= set(re.findall(r"tests/[\w/]+\.py", CONTRIBUTING))
    known = (
        "src/",
        "tests/",
        "docs/",
        "examples/",
        "benchmarks/",
        "reproduction/",
        "qa/",
    )
    made = ("docs/_build", "docs/_build/html")
    return sorted(n for n in named if n.startswith(known) and n not in made)


@pytest.mark.parametrize("name", named_files())
def test_files_of_the_map_exist(name):
    assert (ROOT / name).exists()
    assert (ROOT / name).is_dir() == name.endswith("/")


def test_every_package_is_on_the_map():
    inside = ROOT / "src" / "lordclust"
    packages = {p.parent.name for p in inside.glob("*/__init__.py")} - {"reproduction"}
    for name in packages:
        assert f"`src/lordclust/{name}/`" in CONTRIBUTING


def test_hooks_are_the_checks_of_make():
    config = read(".pre-commit-config.yaml")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^check:.*\n((?:\t.*\n)+)", makefile, flags=re.M)[1]
    tools = re.findall(r'"\$\(BIN\)/([\w-]+)"', recipe)
    hooks = [hook["entry"] for repo in config["repos"] for hook in repo["hooks"]]
    assert [entry.split()[0] for entry in hooks] == [f".venv/bin/{t}" for t in tools]


def test_the_site_is_built_from_its_extra():
    config = read(".readthedocs.yaml")
    assert config["version"] == 2
    assert (ROOT / config["sphinx"]["configuration"]).is_file()
    assert config["build"]["tools"]["python"] in versions()
    wanted = config["python"]["install"][0]["extra_requirements"]
    assert set(wanted) <= PROJECT["project"]["optional-dependencies"].keys()


def test_the_recipe_is_the_project():
    recipe, project = read("recipe/recipe.yaml"), PROJECT["project"]
    minimum = recipe["context"]["python_min"]
    assert recipe["context"]["version"] == lordclust.__version__
    assert recipe["package"]["name"] == project["name"]
    assert project["requires-python"] == f">={minimum}"
    python, *run = recipe["requirements"]["run"]
    assert python == "python >=${{ python_min }}"
    assert [line.replace(" ", "") for line in run] == project["dependencies"]
    backend = [line.replace(" ", "") for line in recipe["requirements"]["host"]]
    assert set(PROJECT["build-system"]["requires"]) <= set(backend)
    scripts = [f"{name} = {home}" for name, home in project["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == scripts
    assert recipe["about"]["summary"] == project["description"]
    assert recipe["about"]["license"] == project["license"]


def test_slow_tests_exist():
    names = (ROOT / "tests" / "slow.txt").read_text(encoding="utf-8").split()
    assert names == sorted(set(names))
    for name in names:
        module, _, test = name.partition("::")
        path = ROOT / "tests" / module
        assert path.is_dir() if name.endswith("/") else path.is_file(), name
        assert not test or f"def {test}" in path.read_text(encoding="utf-8"), name
