"""The examples in the docstrings are run."""

import doctest
import pkgutil
from importlib import import_module

import pytest

import lordclust
import reproduction

MODULES = [
    module.name
    for package in (lordclust, reproduction)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
]


@pytest.mark.parametrize("name", [m for m in MODULES if "__main__" not in m])
def test_examples(name, registry):
    assert doctest.testmod(import_module(name)).failed == 0
