"""Run every example of the gallery; warnings are errors."""

import runpy
import warnings
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))


@pytest.fixture(autouse=True)
def drawing(monkeypatch):
    """Draw without a window, in the gallery's style, as if started in the folder."""
    from matplotlib import pyplot as plt

    monkeypatch.chdir(EXAMPLES)
    with plt.rc_context({"backend": "agg"}, fname="matplotlibrc"):
        yield
    plt.close("all")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_runs_and_draws(script):
    from matplotlib import pyplot as plt

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runpy.run_path(str(script), run_name="__main__")
    assert plt.get_fignums()
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()


def test_there_are_examples():
    assert len(SCRIPTS) >= 3
