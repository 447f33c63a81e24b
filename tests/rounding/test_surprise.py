"""How much the labels of neighbours fail to tell."""

from lordclust.rounding.surprise import is_clear


def test_more_samples_may_leave_more_surprise():
    assert is_clear(0.9, 100)
    assert not is_clear(1.1, 100)
    assert is_clear(90.0, 1_000_000)
    assert not is_clear(110.0, 1_000_000)
