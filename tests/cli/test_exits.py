"""What Ctrl-C does to a command: more in test_fit.py and test_faults.py."""

import sys

import pytest

from lordclust.cli.exits import interruptible


class Lost:
    """Raise where the exception is lost, as in a callback of C."""

    def __init__(self, error):
        self.error = error

    def __del__(self):
        raise self.error


@pytest.mark.parametrize(("error", "shown"), [(KeyboardInterrupt, 0), (ValueError, 1)])
def test_ctrl_c_that_is_lost_in_a_callback_is_not_shown(monkeypatch, error, shown):
    heard = []
    monkeypatch.setattr(sys, "unraisablehook", heard.append)
    before = sys.unraisablehook
    with interruptible():
        Lost(error)
    assert len(heard) == shown
    assert sys.unraisablehook == before
