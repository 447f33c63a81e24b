"""The report as an object of a notebook."""

import html
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from lordclust import BLoRD, LoRD, layers
from lordclust.files import InputError

X, _ = make_blobs(40, centers=3, random_state=0)


@pytest.mark.parametrize("model", [BLoRD(3), LoRD(3)])
def test_a_notebook_shows_the_page_in_a_frame(model):
    report = model.fit(pd.DataFrame(X, columns=["width", "height"])).report(title="T&T")
    shown = report._repr_html_()
    page = html.unescape(re.search('srcdoc="([^"]*)"', shown)[1])
    assert page == report.html
    assert page.startswith("<!")
    assert "T&amp;T" in page
    assert "height" in page
    assert repr(report).startswith("<Report: ")


def test_save(tmp_path):
    report = BLoRD(3).fit(X).report()
    place = report.save(tmp_path / "page.html")
    assert place.read_text() == report.html
    with pytest.raises(InputError, match="force=True"):
        report.save(place)
    report.save(place, force=True)


def test_it_has_the_slider_of_the_same_shares():
    model = BLoRD(3, tau=0.4, proportions="equal").fit(X)
    known = np.full(40, -1)
    known[:3] = [0, 1, 2]
    for one in (model, model.fit(X, known_labels=known)):
        taus = re.search(r'"taus": ?\[([^]]*)\]', one.report().html)[1].split(",")
        assert len(taus) >= 20


def test_features_in_other_units_are_for_the_profiles_alone():
    frame = pd.DataFrame(X * [1e6, 1.0], columns=["width", "height"])
    model = BLoRD(3).fit(X)
    for made in (model.report(X=frame), layers(model, 4).report(X=frame)):
        assert "height" in made.html
        place = re.compile(r'"xy":"([^"]*)"')
        assert place.search(made.html)[1] == place.search(model.report().html)[1]


def test_incomplete_samples_and_categories_have_a_page():
    incomplete = X.copy()
    incomplete[0, 0] = np.nan
    table = pd.DataFrame({"x": X[:, 0], "kind": np.where(X[:, 1] > 2, "a", "b")})
    for metric, samples in (("nan_euclidean", incomplete), ("gower", table)):
        model = BLoRD(3, metric=metric).fit(pd.DataFrame(samples).rename(columns=str))
        html = model.report().html
        assert html.startswith("<!")
    assert "their first two principal components" in html  # of all columns
    assert "kind=a" in html


def test_similarities_need_no_samples():
    S = BLoRD(3).fit(X).affinity_matrix_
    assert BLoRD(3, affinity="precomputed").fit(S).report().html.startswith("<!")
