"""What goes into a page comes out again, and does nothing on the way."""

import base64
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lordclust.report.encode import as_grid, inert_json, packed, top_clusters
from strategies import generators


@given(generators(), st.integers(1, 7), st.integers(1, 5))
def test_memberships_survive_to_half_a_step(rng, k, top):
    P = rng.dirichlet(np.full(k, 0.3), 20)
    labels = rng.integers(k, size=20)
    clusters, parts = top_clusters(P, labels, top)
    assert clusters.shape == parts.shape == (20, min(k, top))
    np.testing.assert_array_equal(clusters[:, 0], labels)
    listed = np.take_along_axis(P, clusters.astype(int), axis=1)
    assert np.abs(parts / 255 - listed).max() <= 0.5 / 255 + 1e-12
    # Nothing left out is larger than what is listed after the label.
    left = np.take_along_axis(P, np.argsort(-P)[:, min(k, top) :], axis=1)
    if left.size and top > 1:
        assert (left.max(axis=1) <= listed[:, 1:].min(axis=1) + 1e-12).all()


def test_more_than_256_clusters_have_wider_numbers():
    clusters, _ = top_clusters(np.eye(300), np.arange(300))
    assert clusters.dtype == np.uint16
    np.testing.assert_array_equal(clusters[:, 0], np.arange(300))


@given(generators(), st.floats(1e-6, 1e6))
def test_places_keep_their_proportions(rng, scale):
    places = scale * rng.normal(size=(9, 2)) * [1, 0.3]
    grid = as_grid(places).astype(float)
    unit = np.ptp(grid, axis=0).max() / np.ptp(places, axis=0).max()
    np.testing.assert_allclose(
        grid - grid[0], unit * (places - places[0]), atol=2, rtol=0
    )


def test_a_single_place_is_the_middle():
    np.testing.assert_array_equal(as_grid(np.full((3, 2), 5.0)), np.full((3, 2), 32768))


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_bytes_come_back(kind):
    A = np.arange(200, dtype=kind).reshape(4, 50)
    back = np.frombuffer(base64.b64decode(packed(A)), np.dtype(kind).newbyteorder("<"))
    np.testing.assert_array_equal(back.reshape(A.shape), A)


@given(st.text())
def test_any_text_is_kept_and_inert(text):
    written = inert_json({"ids": [text]})
    assert json.loads(written) == {"ids": [text]}
    assert not set(written) & set("<>&\u2028\u2029")
    assert written.isascii()


def test_numbers_that_json_has_not_are_refused():
    with pytest.raises(ValueError, match="Out of range"):
        inert_json(float("nan"))
