import click
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lordclust.cli.options import grid, numbers, tau
from lordclust.cli.scaling import Scaling


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_numbers_are_read_back(values):
    assert numbers(float)(",".join(map(repr, values))) == values


def test_numbers_from_a_file_or_a_word(tmp_path):
    path = tmp_path / "shares.txt"
    path.write_text("0.5\n0.25, 0.25\n")
    assert numbers(float, "auto")(str(path)) == [0.5, 0.25, 0.25]
    assert numbers(float, "auto")("auto") == "auto"


@pytest.mark.parametrize("text", ["", "a", "0.5,", "auto", "1 2 x"])
def test_other_text_is_refused(text):
    with pytest.raises(click.BadParameter, match="neither"):
        numbers(float)(text)


def test_binary_files_are_refused(tmp_path):
    (tmp_path / "x").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(click.BadParameter, match="neither"):
        numbers(int)(str(tmp_path / "x"))


def test_tau_is_a_number_or_a_rule():
    assert [tau(text) for text in ("0", "0.3", "1", "auto", "n")] == [
        0.0, 0.3, 1.0, "auto", "n",
    ]  # fmt: skip
    for text in ("-0.1", "1.1", "nan", "inf", "soft"):
        with pytest.raises(click.BadParameter, match="from 0"):
            tau(text)


def test_grids():
    assert grid("0.1,0.3,1") == [0.1, 0.3, 1.0]
    np.testing.assert_allclose(grid("0.02:1:0.02"), np.linspace(0.02, 1, 50))
    assert grid("0.1:0.25:0.1") == [0.1, 0.2, 0.25]
    assert grid("0.5:0.5:0.1") == [0.5]


@pytest.mark.parametrize(
    "text", ["1,0.5", "0:2:0.1", "0:1:0", "0:1:-1", "0:1:1e-9", "0:1", "nan", "a:b:c"]
)
def test_bad_grids(text):
    with pytest.raises(click.BadParameter, match="not an increasing grid"):
        grid(text)


@given(st.sampled_from(["minmax", "zscore"]), st.integers(0, 2**32 - 1))
def test_scaling_survives_a_file_in_every_bit(kind, seed):
    X = np.random.default_rng(seed).normal(size=(7, 3)) * 10.0 ** np.arange(3)
    X[:, 1] = 4.0
    scaling = Scaling.of(kind, X)
    again = Scaling.from_json(scaling.to_json())
    assert np.array_equal(again.apply(X), scaling.apply(X))
    Z = scaling.apply(X)
    assert np.all(Z[:, 1] == 0)
    if kind == "minmax":
        np.testing.assert_allclose((Z[:, 0].min(), Z[:, 0].max()), (0, 1), atol=1e-12)
    else:
        np.testing.assert_allclose((Z[:, 0].mean(), Z[:, 0].std()), (0, 1), atol=1e-9)


def test_scaling_refuses_other_features():
    scaling = Scaling.of("zscore", np.eye(3))
    with pytest.raises(ValueError, match="2 features, but the model was fitted to 3"):
        scaling.apply(np.eye(2))


@pytest.mark.parametrize(
    "kept",
    [{}, [], {"kind": "x", "shift": [1], "width": [0]},
     {"kind": "x", "shift": [1], "width": [1, 2]},
     {"kind": "x", "shift": ["a"], "width": [1]}],
)  # fmt: skip
def test_a_damaged_scaling_is_refused(kept):
    with pytest.raises(ValueError, match="cannot be read"):
        Scaling.from_json(kept)
