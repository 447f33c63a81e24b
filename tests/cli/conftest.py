import csv
import os
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from lordclust.cli.app import main

CENTRES = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])


@pytest.fixture
def run():
    return lambda *arguments: CliRunner().invoke(main, list(map(str, arguments)))


@pytest.fixture
def shell():
    """The command as a process of its own."""

    def call(*arguments, stdin=None, env=None):
        command = [sys.executable, "-m", "lordclust", *map(str, arguments)]
        return subprocess.run(
            command, input=stdin, capture_output=True, env=os.environ | (env or {})
        )

    return call


@pytest.fixture
def rows():
    def read(path):
        with open(path, newline="") as file:
            return list(csv.DictReader(file))

    return read


def blobs(each=15, seed=0):
    rng = np.random.default_rng(seed)
    classes = np.repeat(np.arange(3), each)
    return CENTRES[classes] + rng.normal(size=(3 * each, 2)), classes


@pytest.fixture
def points(tmp_path):
    """A file of three clear groups: names, features and classes."""
    X, classes = blobs()
    path = tmp_path / "points.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "x", "y", "class"])
        for i, (x, c) in enumerate(zip(X, classes, strict=True)):
            writer.writerow([f"s{i}", *map(repr, x.tolist()), "abc"[c]])
    return path
