"""A fit, an import, a command: nothing of the process is left changed."""

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import digests
from global_state import changes, state
from lordclust import BLoRD, LoRD, list_methods, suggest_k, tau_path
from lordclust.cli.app import main
from lordclust.graph import KNNGraph
from lordclust.plots import MembershipDisplay
from lordclust.report import write_report
from models import PAPER

X = digests.SMALL
S = KNNGraph().build(X)


def fails(task):
    with pytest.raises(ValueError):
        task()


def cut_short():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        PAPER(3, max_iter=1).fit(X)


def interrupted():
    def stop(tau):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tau_path(S, 3, callback=stop)


def picture():
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    MembershipDisplay.from_estimator(PAPER(3, tau=0.3).fit(X), ax=axes)


TASKS = {
    "B-LoRD": lambda folder: PAPER(4, tau=0.3, n_jobs=2).fit(X),
    "B-LoRD of several threads": lambda folder: digests.of_model(
        PAPER(5, tol=1e-2, n_jobs=2).fit(digests.LARGE)
    ),
    "LoRD": lambda folder: LoRD(4).fit(X),
    "random starts": lambda folder: PAPER(
        3, start="random", n_init=2, random_state=0
    ).fit(X),
    "auto": lambda folder: BLoRD(3, tau="auto", proportions="auto").fit(X),
    "graph": lambda folder: KNNGraph(search="cells", n_jobs=2).build(X),
    "suggest_k": lambda folder: suggest_k(S, range(2, 4)),
    "predict": lambda folder: BLoRD(3).fit(X).predict(X[:5]),
    "file": lambda folder: BLoRD(3).fit(X).save(folder / "model.lord"),
    "report": lambda folder: write_report(folder / "a.html", BLoRD(3).fit(X), X=X),
    "picture": lambda folder: picture(),
    "error": lambda folder: fails(lambda: PAPER(3).fit(X * np.nan)),
    "cut short": lambda folder: cut_short(),
    "interrupted": lambda folder: interrupted(),
}


def test_the_check_sees_changes():
    before = state()
    with np.errstate(over="ignore" if np.geterr()["over"] != "ignore" else "warn"):
        assert [c.partition(":")[0] for c in changes(before, state())] == [
            "numpy errors"
        ]


@pytest.mark.parametrize("name", TASKS)
def test_work(name, tmp_path):
    TASKS[name](tmp_path)  # what others load on first use is their matter
    before = state()
    for file in tmp_path.iterdir():
        file.unlink()
    TASKS[name](tmp_path)
    assert changes(before, state()) == []


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", list_methods())
def test_method(name):
    digests.quick(name).fit(X[:30])
    before = state()
    digests.quick(name).fit(X[:30])
    assert changes(before, state()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "points.csv", "-k", "3", "-o", "labels.csv", "--report", "page.html"],
        ["fit", "points.csv", "-k", "500"],
        ["path", "points.csv", "-k", "3"],
        ["list"],
        ["fit", "--help"],
    ],
    ids=" ".join,
)
def test_command(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savetxt("points.csv", X, delimiter=",")
    CliRunner().invoke(main, ["list"])
    before = state()
    CliRunner().invoke(main, arguments)
    assert changes(before, state()) == []


IMPORTS = """
import pkgutil, sys
from global_state import changes, state
import sklearn.cluster, sklearn.neighbors, sklearn.metrics, sklearn.mixture
import click, rich, matplotlib.figure, scipy.sparse.linalg, scipy.stats
before = state()
import lordclust
for module in pkgutil.walk_packages(lordclust.__path__, "lordclust."):
    if not module.name.endswith("__main__"):
        __import__(module.name)
found = [c for c in changes(before, state()) if not c.startswith("pool ")]
sys.exit("\\n".join(found) or 0)
"""


def test_import():
    """All modules; what libraries do when they are imported is theirs."""
    here = str(Path(__file__).parents[1])
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {here!r})\n{IMPORTS}"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
