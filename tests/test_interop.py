"""Dataframes in and out, topic models, notebooks."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lordclust import BLoRD, LoRD, suggest_k, tau_path
from lordclust._core.html import html_table
from models import PAPER

X, _ = make_blobs(60, centers=3, n_features=3, random_state=0)
NAMES = ["height", "weight", "age"]


FRAMES = [
    pytest.param("pandas", lambda X: pd.DataFrame(X, columns=NAMES), id="pandas"),
    pytest.param("polars", lambda X: pl.DataFrame(X, schema=NAMES), id="polars"),
]


@pytest.mark.parametrize(("library", "frame"), FRAMES)
@pytest.mark.parametrize("method", [BLoRD, LoRD])
def test_dataframes_in_and_out(method, library, frame):
    model = method(3).set_output(transform=library).fit(frame(X))
    np.testing.assert_array_equal(model.labels_, method(3).fit(X).labels_)
    assert model.feature_names_in_.tolist() == NAMES
    out = model.transform(frame(X))
    assert type(out).__module__.startswith(library)
    word = method.__name__.lower()
    assert list(out.columns) == [f"{word}{j}" for j in range(3)]
    np.testing.assert_array_equal(out.to_numpy(), model.predict_proba(frame(X)))


@pytest.mark.parametrize(("library", "frame"), FRAMES)
def test_fit_transform_gives_the_same_columns(library, frame):
    model = make_pipeline(StandardScaler(), PAPER(3, tau=0.3))
    out = model.set_output(transform=library).fit_transform(frame(X))
    assert list(out.columns) == ["blord0", "blord1", "blord2"]
    np.testing.assert_array_equal(out.to_numpy(), model[-1].membership_)


def test_other_columns_are_refused():
    model = PAPER(3).fit(pd.DataFrame(X, columns=NAMES))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(X, columns=["a", "b", "c"]))


def test_serves_a_topic_model():
    """BERTopic calls its cluster model so: fit with y, labels_, then predict."""
    model = PAPER(3, tau=0.3)
    model.fit(X, y=np.full(len(X), -1))  # guided topics, which are ignored
    topics = model.labels_
    assert topics.dtype.kind == "i"
    assert set(topics.tolist()) == {0, 1, 2}
    np.testing.assert_array_equal(model.predict(X), topics)


def test_notebooks_show_an_estimator():
    html = PAPER(3, tau=0.3).fit(X)._repr_html_()
    assert "BLoRD" in html
    assert "Fitted" in html


def test_notebooks_show_a_path():
    path = tau_path(
        PAPER(3).fit(X).affinity_matrix_,
        3,
        taus=np.linspace(0.02, 1, 30),
    )
    html = path._repr_html_()
    assert "TauPath: 30 taus, 60 samples, 3 clusters" in html
    assert html.count("<tr>") == 13
    assert f"<td>{path.objectives[-1]:.6g}</td>" in html
    assert "<td>20 to 20</td>" in html


def test_notebooks_show_a_selection():
    found = BLoRD(3, tau="auto", proportions="auto").fit(X).selection_
    html = found._repr_html_()
    bold = html.split("bold")[1].split("</tr>")[0]
    assert f"<td>{found.evidence[found.best]:.3f}</td>" in bold
    assert html.count("bold") == 1
    assert html.count("<tr") == found.table().count("\n") + 1


def test_notebooks_show_a_suggestion():
    found = suggest_k(X, range(2, 5), affinity="knn")
    html = found._repr_html_()
    assert "Best: 3 clusters" in html
    assert "<td>3</td>" in html.split("bold")[1].split("</tr>")[0]


def test_tables_escape_what_they_show():
    html = html_table("<b>", ["a & b"], [["<script>"]])
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "<b>" not in html
    assert "a &amp; b" in html
