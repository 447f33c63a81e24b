"""The file: whole, small, with everything in it, and nothing that acts."""

import base64
import hashlib
import json
import re

import numpy as np
import pytest
from sklearn.datasets import load_iris

from lordclust import BLoRD, layers, make_method, tau_path
from lordclust._core.colors import BLUE, as_hex, cluster_colours
from lordclust.files import InputError
from lordclust.metrics import accuracy
from lordclust.report import build, page, write_report
from lordclust.report.snapshots import Snapshot, Snapshots, most_uncertain
from lordclust.result import TauPath
from models import PAPER

HOSTILE = "</script><script>alert(1)</script><!-- & \u2028 {{data}}"
X = load_iris().data


@pytest.fixture(scope="module")
def model():
    return PAPER(3, tau=0.15).fit(X)


def data_in(file):
    """Return what the page's script reads."""
    text = file.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text)
    return json.loads(found[1])


def made_path(n, k, taus, seed=0):
    """Return a path of random memberships, from soft to hard."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    noise = rng.dirichlet(np.ones(k), n)
    kept = {t: t * np.eye(k)[labels] + (1 - t) * noise for t in taus}
    flat = np.zeros(len(taus))
    return TauPath(
        np.array(taus), flat, np.tile(labels, (len(taus), 1)), kept, flat.astype(int),
        flat, flat == 0, flat, np.full(k, 1 / k), (0.0, 1.0),
    )  # fmt: skip


def test_the_page_holds_the_model(model, tmp_path):
    path = tau_path(model.affinity_matrix_, 3, keep="all")
    file = write_report(tmp_path / "r.html", model, path, X=X)
    data = data_in(file)
    assert (data["n"], data["k"], data["points"]) == (150, 3, 150)
    assert data["taus"][data["start"]] == model.tau_
    assert data["sizes"][data["start"]] == model.sizes_.tolist()
    parts = np.frombuffer(base64.b64decode(data["parts"]), np.uint8)
    own = parts.reshape(len(data["taus"]), 150, 3)[data["start"]]
    sure = model.membership_[np.arange(150), model.labels_]
    np.testing.assert_allclose(own[:, 0] / 255, sure, atol=0.003)
    first = model.uncertainty_.argmax()
    assert data["uncertain"][data["start"]][0][0] == first


def test_pairs_are_those_of_the_model(tmp_path):
    w = np.random.default_rng(0).uniform(0.5, 2, len(X))
    model = PAPER(3, tau=0.15).fit(X, sample_weight=w)
    data = data_in(write_report(tmp_path / "r.html", model, X=X))
    pairs = [[p.a, p.b, round(p.share, 4)] for p in model.confusable_pairs()]
    assert data["pairs"] == [pairs]


def test_colours_are_those_of_the_displays(tmp_path):
    model = PAPER(12).fit(X)
    data = data_in(write_report(tmp_path / "r.html", model, X=X))
    assert data["colours"]["light"] == as_hex(cluster_colours(12))
    assert len(set(data["colours"]["dark"])) == 12
    assert data["markers"] == "oooooooooo" + "ss"
    assert f"--accent: light-dark({BLUE.lower()}, " in page.asset("report.css")


def test_sparse_memberships_have_a_page(tmp_path):
    model = PAPER(3, tau=0.15, proba_top=2).fit(X)
    data = data_in(write_report(tmp_path / "r.html", model, X=X))
    assert data["sizes"] == [model.sizes_.tolist()]


def test_text_of_others_is_only_text(model, tmp_path):
    file = write_report(
        tmp_path / "r.html", model, X=X, ids=[f"{HOSTILE}{i}" for i in range(150)],
        names=[HOSTILE] * 4, labels=[HOSTILE] * 150, title=HOSTILE,
        comparison=[{HOSTILE: HOSTILE}], facts={HOSTILE: HOSTILE},
    )  # fmt: skip
    text = file.read_text(encoding="utf-8")
    assert text.count("<script") == 2
    assert text.count("</script>") == 2
    assert "<!--" not in text
    assert data_in(file)["ids"][0] == (HOSTILE + "0")
    assert text.count("&lt;script&gt;alert(1)") >= 4


def test_only_our_own_script_and_style_may_run(model, tmp_path):
    text = write_report(tmp_path / "r.html", model, X=X).read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        inside = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.S)[1]
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert not re.search(r'(src|href)="|url\(|@import|https?://', text)
    assert 'style="' not in text


def test_tables_of_the_run(tmp_path):
    auto = BLoRD(3, tau="auto", proportions="auto").fit(X)
    rows = [{"method": "blord", "ACC": 0.9}, {"method": "sc", "seconds": 12.34567}]
    text = write_report(
        tmp_path / "r.html",
        auto,
        X=X,
        comparison=rows,
        facts={"seconds": 1.5, "numpy": 1},
    ).read_text(encoding="utf-8")
    for shown in (
        "<h2>Candidates</h2>", "<h2>Comparison of methods</h2>", "<td>blord</td>",
        "<td>12.35</td>", "<dt>seconds</dt><dd>1.5</dd>",
        "<dt>random_state</dt><dd>none</dd>", "<dt>converged</dt><dd>yes</dd>",
        f"<dt>objective</dt><dd>{auto.objective_:.4g}</dd>", "<dt>lordclust</dt>",
        f"<td>{auto.selection_.evidence[auto.selection_.best]:.3f}</td>",
    ):  # fmt: skip
        assert shown in text
    assert text.count("<dt>numpy</dt>") == 1


def test_columns_without_anything_are_left_out(model, tmp_path):
    rows = [{"method": "a", "note": "", "nmi": None}, {"method": "b", "acc": 0.5}]
    text = write_report(tmp_path / "r.html", model, X=X, comparison=rows).read_text()
    head = re.search(r"<thead>(.*?)</thead>", text)[1]
    assert re.findall(r"<th [^>]*>(\w+)</th>", head) == ["method", "acc"]


def test_known_classes_give_the_accuracy_of_every_tau(model, tmp_path):
    path = tau_path(model.affinity_matrix_, 3, keep="all")
    y = load_iris().target
    data = data_in(write_report(tmp_path / "r.html", model, path, X, labels=y))
    assert len(data["accuracy"]) == len(data["taus"])
    own = accuracy(y, model.labels_)
    assert data["accuracy"][data["start"]] == pytest.approx(own, abs=1e-4)
    blind = data_in(write_report(tmp_path / "blind.html", model, path, X))
    assert blind["accuracy"] is None


def test_features_that_mark_a_cluster_are_named(model, tmp_path):
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    file = write_report(tmp_path / "r.html", model, X=X, names=names)
    cards = re.findall(r"<article.*?</article>", file.read_text(encoding="utf-8"))
    setosa = cards[model.labels_[0]]
    assert "Segment" in setosa
    assert f"{model.sizes_[model.labels_[0]]} samples" in setosa
    own = X[model.labels_ == model.labels_[0], 2].mean()
    row = re.search(r"<tr>.{,40}petal length.*?</tr>", setosa)[0]
    assert 'aria-label="much lower"' in row
    assert f"{own:.2f} <small>all: {X[:, 2].mean():.2f}</small>" in row
    assert "<article" not in write_report(tmp_path / "s.html", model, X=X).read_text()


def test_profiles_give_units_and_names(model, tmp_path):
    names = ["<i>one", "two", "three"]
    profiles = model.describe(X * 1000, ["a", "b", "c", "d"], names=names)
    file = write_report(tmp_path / "r.html", model, X=X, profiles=profiles)
    assert data_in(file)["names"] == names
    text = file.read_text(encoding="utf-8")
    assert "&lt;i&gt;one" in text
    assert f"all: {X[:, 2].mean() * 1000:,.0f}" in text


def test_many_clusters_have_a_limited_number_of_cards(tmp_path):
    path = made_path(400, 50, [1.0])
    data = np.random.default_rng(0).normal(size=(400, 1))
    file = write_report(tmp_path / "r.html", None, path, X=data, names=["a"])
    text = file.read_text(encoding="utf-8")
    assert text.count("<article") == 30
    assert "30 of 50 segments" in text


@pytest.mark.parametrize("method", ["sc", "lord", "gmm"])
def test_any_method_has_a_page(method, tmp_path):
    other = make_method(method, n_clusters=3, random_state=0).fit(X)
    file = write_report(tmp_path / "r.html", other, X=X)
    data = data_in(file)
    assert data["soft"] == (method != "sc")
    assert ('<span id="sure">' in file.read_text()) == data["soft"]
    assert data["taus"] == [None]
    assert data["sizes"] == [np.bincount(other.labels_, minlength=3).tolist()]


def test_sizes_that_are_given_are_those_of_every_tau(tmp_path):
    for given in (
        {"proportions": [0.5, 0.3, 0.2]}, {"cluster_sizes": [70, 60, 20]},
        {"size_min": 45, "size_max": 55}, {"rounding": "argmax"},
    ):  # fmt: skip
        model = BLoRD(3, **given).fit(X)
        path = tau_path(
            model.affinity_matrix_, 3, proportions=model.proportions_, keep="all"
        )
        data = data_in(write_report(tmp_path / "r.html", model, path, X, force=True))
        sizes = np.array(data["sizes"])
        if "rounding" in given:
            assert np.ptp(sizes, axis=0).max() > 0
        elif "size_min" in given:
            assert sizes.min() >= 45
            assert sizes.max() <= 55
        else:
            np.testing.assert_array_equal(sizes, [model.sizes_] * len(sizes))


@pytest.fixture(scope="module")
def nested():
    return layers(BLoRD(3, outliers=0.1).fit(X), 5)


def test_nested_clusters_have_a_page(nested, tmp_path):
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    file = write_report(tmp_path / "r.html", nested, X=X, names=names)
    data = data_in(file)
    assert (data["levels"], data["start"], data["k"]) == ([1, 2, 3, 4, 5], 2, 5)
    for k, sizes in enumerate(data["sizes"], 1):
        assert sizes == nested.sizes(k).tolist() + [0] * (5 - k)
    tops = np.frombuffer(base64.b64decode(data["clusters"]), np.uint8)
    labels = tops.reshape(5, 150, 5)[:, :, 0]
    inside = nested.at() >= 0
    np.testing.assert_array_equal(labels[:, inside], nested.labels[:, inside])
    for k in range(2, 6):  # parts are beside each other on the ring
        ring = [j for j in data["ring"] if j < k]
        assert abs(ring.index(nested.parents[k - 1]) - ring.index(k - 1)) == 1
    text = file.read_text(encoding="utf-8")
    cards = re.findall(
        r'<article class="card" data-from="(\d)" data-until="(\d)"( hidden)?>.*?'
        r'data-cluster="(\d)".*?>([\d,]+) samples',
        text,
    )
    assert len(cards) == 2 * 5 - 1
    for first, last, hidden, j, size in cards:
        assert (hidden == "") == (int(first) <= 3 <= int(last))
        for k in range(int(first), int(last) + 1):
            assert nested.sizes(k)[int(j)] == int(size)
    assert "Recommended: 3. " in text
    assert f", split from Segment {nested.parents[4]}" in text


def test_levels_have_no_path(nested, model, tmp_path):
    path = tau_path(model.affinity_matrix_, 3, keep="all")
    with pytest.raises(ValueError, match="Leave path_ out"):
        write_report(tmp_path / "r.html", nested, path)


def test_a_file_is_not_replaced_unasked(model, tmp_path):
    file = tmp_path / "r.html"
    file.write_text("mine")
    with pytest.raises(InputError, match="exists already"):
        write_report(file, model, X=X)
    assert file.read_text() == "mine"
    assert write_report(file, model, X=X, force=True) == file
    assert file.read_text().startswith("<!doctype html>")


def test_a_failure_leaves_nothing(model, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.link", fail)
    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_report(tmp_path / "r.html", model, X=X)
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_fit_the_samples_is_refused(model, tmp_path):
    file = tmp_path / "r.html"
    with pytest.raises(ValueError, match="ids must have 150 entries, got 2"):
        write_report(file, model, X=X, ids=["a", "b"])
    with pytest.raises(ValueError, match="labels must have 150 entries, got 1"):
        write_report(file, model, X=X, labels=[1])
    with pytest.raises(ValueError, match="names must have 4 entries, got 1"):
        write_report(file, model, X=X, names=["a"])
    with pytest.raises(ValueError, match="X must have a row for each of the 150"):
        write_report(file, model, X=X[:9], names=["a", "b", "c", "d"])
    with pytest.raises(ValueError, match="max_points must be a positive integer"):
        write_report(file, model, X=X, max_points=0)
    assert list(tmp_path.iterdir()) == []


def test_thinned_clusters_keep_their_part_and_doubt_is_seen():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [6000, 3000, 5])
    P = 0.9 * np.eye(3)[labels] + 0.1 * rng.dirichlet(np.ones(3), len(labels))
    ones = np.ones(len(labels))
    snapshots = Snapshots([Snapshot(0.5, P, labels)], 0, None, ones, ones < 0)
    points = build._chosen(snapshots, 900)
    assert len(points) == len(set(points.tolist())) == 900
    assert (np.diff(points) > 0).all()
    counts = np.bincount(labels[points], minlength=3)
    assert abs(counts[0] - 600) < 20
    assert abs(counts[1] - 300) < 20
    assert counts[2] >= 1
    assert set(most_uncertain(P, ones < 0)) <= set(points)


@pytest.mark.parametrize("most", [1, 2, 7])
def test_very_few_points(most, tmp_path):
    path = made_path(40, 3, (0.1, 0.5, 1.0))
    coordinates = np.random.default_rng(0).normal(size=(40, 2))
    file = write_report(tmp_path / "r.html", None, path, X=coordinates, max_points=most)
    data = data_in(file)
    assert len(data["ids"]) == data["points"] == most
    for uncertain in data["uncertain"]:
        assert all(0 <= i < most for i, _ in uncertain)


def test_seventy_thousand_samples_stay_small(tmp_path):
    n, taus = 70_000, tuple(np.linspace(0.05, 1, 12))
    coordinates = np.random.default_rng(0).normal(size=(n, 3))
    path = made_path(n, 10, taus)
    file = write_report(tmp_path / "r.html", None, path, X=coordinates)
    assert file.stat().st_size < 2_000_000
    assert "shows 5,000 of them" in file.read_text(encoding="utf-8")
    assert sum(data_in(file)["sizes"][-1]) == n
    every = write_report(tmp_path / "all.html", None, path, X=coordinates, max_points=n)
    assert every.stat().st_size < 25_000_000
