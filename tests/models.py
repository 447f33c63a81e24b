"""The models that tests are about: the paper's two, and the default of BLoRD."""

from functools import partial

import pytest

from lordclust import BLoRD, LoRD

#: The paper's B-LoRD: a given tau, equal shares, and the most probable clusters.
PAPER = partial(BLoRD, tau=1.0, proportions=None)

_PAPER = pytest.param(PAPER, id="paper")
#: For properties of every fit: BLoRD is the default, with automatic tau and shares.
MODELS = pytest.mark.parametrize("Model", [LoRD, _PAPER, BLoRD])
#: For properties of a model whose tau and shares are given.
GIVEN = pytest.mark.parametrize("Model", [LoRD, _PAPER])
