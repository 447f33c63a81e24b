"""The examples in the docstrings are run."""

import doctest
import pkgutil
from importlib import import_module

import pytest

import lordclust

MODULES = [m.name for m in pkgutil.walk_packages(lordclust.__path__, "lordclust.")]


@pytest.mark.parametrize("name", [m for m in MODULES if "__main__" not in m])
def test_examples(name, registry):
    assert doctest.testmod(import_module(name)).failed == 0
