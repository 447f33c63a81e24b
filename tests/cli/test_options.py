import click
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lordclust.cli.options import grid, numbers, tau_value


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
    assert [tau_value(text) for text in ("0", "0.3", "1", "auto", "n")] == [
        0.0, 0.3, 1.0, "auto", "n",
    ]  # fmt: skip
    for text in ("-0.1", "1.1", "nan", "inf", "soft"):
        with pytest.raises(click.BadParameter, match="from 0"):
            tau_value(text)


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
