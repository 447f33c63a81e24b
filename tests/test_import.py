import subprocess
import sys
from importlib.resources import files

import pytest

import lordclust


def test_import_is_light():
    code = (
        "import sys, lordclust; "
        "print(*{m.partition('.')[0] for m in sys.modules}, sep='\\n')"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = set(run.stdout.split())
    assert "lordclust" in loaded
    assert not loaded & {"sklearn", "numba", "scipy", "numpy", "joblib", "pandas"}


@pytest.mark.parametrize("name", lordclust.__all__)
def test_every_public_name_resolves(name):
    assert getattr(lordclust, name) is not None
    assert name in dir(lordclust)


@pytest.mark.parametrize("name", ["report.write_report"])
def test_side_rooms_need_no_import_of_their_own(name):
    code = f"import lordclust; lordclust.{name}"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert name.partition(".")[0] not in lordclust.__all__


def test_public_names_are_sorted_and_real():
    assert list(lordclust.__all__) == sorted(lordclust.__all__)
    assert dir(lordclust) == list(lordclust.__all__)
    assert lordclust.BLoRD.__name__ == "BLoRD"
    assert lordclust.LoRD.__name__ == "LoRD"
    assert lordclust.graph.__name__ == "lordclust.graph"
    assert lordclust.__version__.count(".") >= 1


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="'lordclust' has no attribute 'KMeans'"):
        _ = lordclust.KMeans
    with pytest.raises(ImportError, match="KMeans"):
        exec("from lordclust import KMeans")


@pytest.mark.parametrize(
    ("guess", "place"),
    [
        ("SC", "lordclust.methods import SC"),
        ("KNNGraph", "lordclust.graph import KNNGraph"),
        ("accuracy", "lordclust.metrics import accuracy"),
        ("Blord", "lordclust import BLoRD"),
    ],
)
def test_a_wrong_guess_gets_a_hint(guess, place):
    with pytest.raises(ImportError, match=f"no {guess}. Use: from {place}$"):
        exec(f"from lordclust import {guess}")
    with pytest.raises(AttributeError, match=f"no {guess}. Use: from {place}$"):
        getattr(lordclust, guess)
    assert not hasattr(lordclust, guess)


def test_star_import():
    names = {}
    exec("from lordclust import *", names)
    assert set(lordclust.__all__) <= set(names)


def test_types_are_shipped():
    assert files("lordclust").joinpath("py.typed").is_file()
