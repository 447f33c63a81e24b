"""The artists hold what the model says, and nothing else is touched."""

import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

from lordclust import BLoRD, LoRD, tau_path
from lordclust.metrics import accuracy, calibration_error
from lordclust.plots import (
    BlocksDisplay,
    ConvergenceDisplay,
    MembershipDisplay,
    PathDisplay,
    ReliabilityDisplay,
    SelectionDisplay,
    SizesDisplay,
    cluster_colours,
)

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from models import PAPER

X, Y = make_blobs(90, centers=4, n_features=5, cluster_std=3.0, random_state=1)


@pytest.fixture(scope="module")
def model():
    return PAPER(4, tau=0.2).fit(X)


@pytest.fixture(scope="module")
def path(model):
    return tau_path(model.affinity_matrix_, 4, keep="all")


@pytest.fixture(scope="module")
def chosen():
    return BLoRD(4, tau="auto", proportions="auto").fit(X)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture
def axes():
    return Figure().subplots()


def drawers(model, path, chosen):
    return {
        "membership": lambda ax: MembershipDisplay.from_estimator(model, X, ax=ax),
        "membership_of_path": lambda ax: MembershipDisplay.from_path(
            path, 0.3, X=X, ax=ax
        ),
        "blocks": lambda ax: BlocksDisplay.from_estimator(model, ax=ax),
        "blocks_of_path": lambda ax: BlocksDisplay.from_path(path, 0.3, ax=ax),
        "path": lambda ax: PathDisplay.from_path(path, Y, ax=ax),
        "convergence": lambda ax: ConvergenceDisplay.from_estimator(model, ax=ax),
        "sizes": lambda ax: SizesDisplay.from_estimator(model, ax=ax),
        "sizes_of_path": lambda ax: SizesDisplay.from_path(path, 0.3, ax=ax),
        "selection": lambda ax: SelectionDisplay.from_estimator(chosen, ax=ax),
        "reliability": lambda ax: ReliabilityDisplay.from_estimator(model, Y, ax=ax),
        "reliability_of_predictions": lambda ax: ReliabilityDisplay.from_predictions(
            Y, model.membership_, name="own", ax=ax
        ),
    }


NAMES = list(drawers(None, None, None))


@pytest.mark.parametrize("name", NAMES)
def test_given_axes_are_used_and_pyplot_is_left_alone(name, model, path, chosen):
    settings = dict(matplotlib.rcParams)
    figure = Figure()
    ax = figure.subplots()
    display = drawers(model, path, chosen)[name](ax)
    assert display.figure_ is figure
    assert not plt.get_fignums()
    assert dict(matplotlib.rcParams) == settings


@pytest.mark.parametrize("name", NAMES)
def test_without_axes_one_new_figure_is_drawn(name, model, path, chosen):
    mine, ax = plt.subplots()
    display = drawers(model, path, chosen)[name](None)
    assert len(plt.get_fignums()) == 2
    assert not ax.has_data()
    assert mine is not display.figure_
    display.figure_.canvas.draw()
    pixels = np.asarray(display.figure_.canvas.buffer_rgba())[..., :3]
    assert np.mean(pixels.min(axis=2) < 250) > 0.005


@pytest.mark.parametrize("name", NAMES)
def test_plot_draws_the_same_again(name, model, path, chosen, axes):
    display = drawers(model, path, chosen)[name](None)
    assert display.plot(ax=axes) is display
    assert display.figure_ is axes.figure


@pytest.mark.parametrize("name", NAMES)
def test_an_array_of_axes_is_refused(name, model, path, chosen):
    several = Figure().subplots(1, 2)
    with pytest.raises(TypeError, match="ax must be a matplotlib Axes, got ndarray"):
        drawers(model, path, chosen)[name](several)


@pytest.mark.parametrize("name", NAMES)
def test_without_matplotlib_says_how_to_get_it(name, model, path, chosen, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "lordclust\[plot\]"'):
        drawers(model, path, chosen)[name](None)


def test_matplotlib_is_loaded_when_something_is_drawn():
    code = "import sys, lordclust.plots; print('matplotlib' in sys.modules)"
    run = [sys.executable, "-c", code]
    assert subprocess.run(run, capture_output=True, text=True).stdout == "False\n"


# -- memberships ------------------------------------------------------------------


def test_points_are_the_samples_of_each_cluster(model, axes):
    display = MembershipDisplay.from_estimator(model, X[:, :2], ax=axes)
    for j, points in enumerate(display.points_):
        own = model.labels_ == j
        np.testing.assert_array_equal(points.get_offsets(), X[own, :2])
        np.testing.assert_allclose(
            points.get_facecolors()[:, :3], [cluster_colours(4)[j]] * own.sum()
        )


def test_opacity_grows_with_the_probability(model, axes):
    display = MembershipDisplay.from_estimator(model, X, ax=axes)
    top = model.membership_.max(axis=1)
    assert np.ptp(top) > 0.05
    order = np.argsort(top)
    assert np.all(np.diff(display.opacity[order]) >= 0)
    shown = np.concatenate([p.get_facecolors()[:, 3] for p in display.points_])
    np.testing.assert_allclose(np.sort(shown), np.sort(display.opacity))


def test_opacity_of_chance_and_of_certainty():
    display = MembershipDisplay(
        coordinates=np.zeros((2, 2)), labels=np.array([0, 1]),
        probability=np.array([0.25, 1.0]), n_clusters=4,
    )  # fmt: skip
    np.testing.assert_allclose(display.opacity, [0.12, 1.0])


def test_one_cluster_is_opaque(axes):
    display = MembershipDisplay.from_estimator(PAPER(1).fit(X), X, ax=axes)
    np.testing.assert_allclose(display.opacity, 1)


def test_many_features_become_principal_components(model, axes):
    found = MembershipDisplay.from_estimator(model, X, ax=axes).coordinates
    U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(np.abs(found), np.abs(U[:, :2] * s[:2]), atol=1e-9)


def test_a_single_feature_is_the_first_coordinate(axes):
    model = PAPER(2).fit(X[:, :1])
    found = MembershipDisplay.from_estimator(model, X[:, :1], ax=axes).coordinates
    np.testing.assert_array_equal(found, np.column_stack([X[:, 0], np.zeros(90)]))


def test_a_graph_is_laid_out_with_its_clusters_together(model, axes):
    S = model.affinity_matrix_
    graph = PAPER(4, tau=0.2, affinity="precomputed").fit(S)
    for data in (None, S):
        place = MembershipDisplay.from_estimator(graph, data, ax=axes).coordinates
        nearest = KMeans(4, n_init=5, random_state=0).fit_predict(place)
        assert accuracy(graph.labels_, nearest) > 0.7


def test_the_layout_of_a_graph_in_pieces_is_finite(axes):
    S = np.kron(np.eye(5), np.ones((3, 3)))
    model = PAPER(5, affinity="precomputed").fit(S)
    place = MembershipDisplay.from_estimator(model, ax=axes).coordinates
    assert np.isfinite(place).all()
    assert len(np.unique(place.round(9), axis=0)) == 15  # no sample hides another


def test_own_coordinates_are_taken_as_they_are(model, axes):
    own = np.random.default_rng(0).normal(size=(90, 2))
    display = MembershipDisplay.from_estimator(model, coordinates=own, ax=axes)
    np.testing.assert_array_equal(display.coordinates, own)


def test_other_methods_are_sure(axes):
    model = KMeans(3, n_init=1, random_state=0).fit(X)
    display = MembershipDisplay.from_estimator(model, X, ax=axes)
    np.testing.assert_allclose(display.opacity, 1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"X": X[:50]}, r"X must have a row for each of the 90 fitted samples"),
        ({"coordinates": X}, r"coordinates must have shape \(90, 2\)"),
    ],
)
def test_wrong_shapes_are_refused(model, given, message):
    with pytest.raises(ValueError, match=message):
        MembershipDisplay.from_estimator(model, **given)


def test_without_a_graph_x_is_needed():
    model = KMeans(3, n_init=1, random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"X is needed to lay out .* KMeans"):
        MembershipDisplay.from_estimator(model)


def test_what_is_no_fitted_clusterer_is_refused():
    with pytest.raises(TypeError, match="must be a clustering estimator, got ndarray"):
        SizesDisplay.from_estimator(X)
    with pytest.raises(NotFittedError):
        SizesDisplay.from_estimator(PAPER(3))
    noisy = DBSCAN(eps=1e-3).fit(X)
    with pytest.raises(ValueError, match="DBSCAN found no clusters"):
        SizesDisplay.from_estimator(noisy)


def test_samples_at_one_tau_of_a_path(path, axes):
    display = MembershipDisplay.from_path(path, 0.1, X=X, ax=axes)
    P = path.membership(0.1)
    np.testing.assert_array_equal(display.labels, P.argmax(axis=1))
    np.testing.assert_array_equal(display.probability, P.max(axis=1))
    last = MembershipDisplay.from_path(path, coordinates=X[:, :2], ax=axes)
    np.testing.assert_array_equal(last.probability, path.membership().max(axis=1))
    assert display.probability.mean() < last.probability.mean()
    with pytest.raises(ValueError, match="A path does not hold the samples"):
        MembershipDisplay.from_path(path)


# -- blocks -----------------------------------------------------------------------


def test_blocks_are_pair_probabilities_ordered_by_cluster(model, axes):
    display = BlocksDisplay.from_estimator(model, ax=axes)
    order = display.samples
    assert sorted(order) == list(range(90))
    assert np.all(np.diff(model.labels_[order]) >= 0)
    Z = model.pair_probability(order[:, None], order[None, :])
    np.testing.assert_allclose(display.image_.get_array(), Z, atol=1e-12)
    assert axes.get_xlabel().startswith("90 samples\n")


def test_thinned_blocks_keep_shares_and_say_so(model, axes):
    display = BlocksDisplay.from_estimator(model, max_samples=45, ax=axes)
    assert len(np.unique(display.samples)) == 45
    kept = np.bincount(display.labels, minlength=4)
    np.testing.assert_allclose(kept, model.sizes_ / 2, atol=1)
    assert axes.get_xlabel().startswith("45 of 90 samples, evenly chosen\n")


def test_blocks_along_a_path_have_one_order(path):
    soft = BlocksDisplay.from_path(path, 0.05)
    hard = BlocksDisplay.from_path(path)
    np.testing.assert_array_equal(soft.samples, hard.samples)
    P = path.membership()[hard.samples]
    np.testing.assert_allclose(hard.Z, P @ P.T)
    assert soft.Z.std() < hard.Z.std()


# -- the others -------------------------------------------------------------------


def test_path_curves(path, axes):
    display = PathDisplay.from_path(path, Y, ax=axes)
    curves = [panel.lines[0].get_ydata() for panel in display.axes_[:3]]
    scores = [accuracy(Y, row) for row in path.labels]
    np.testing.assert_allclose(curves[0], scores)
    assert np.all((curves[1] >= 0) & (curves[1] <= 1))
    np.testing.assert_array_equal(curves[2], path.objectives)
    assert np.all(display.sizes.sum(axis=1) == 90)


def test_path_without_memberships_shows_softness(model, axes):
    path = tau_path(model.affinity_matrix_, 4)
    display = PathDisplay.from_path(path, ax=axes)
    assert display.entropy is None
    assert len(display.axes_) == 3
    soft = display.axes_[0].lines[0].get_ydata()
    np.testing.assert_array_equal(soft, display.softness)
    assert np.all((soft >= -1e-9) & (soft <= 1 + 1e-9))


def test_sizes_of_a_path_are_counts_of_its_labels(model):
    path = tau_path(model.affinity_matrix_, 3)
    for sizes, labels in zip(path.sizes, path.labels, strict=True):
        assert sizes.tolist() == [np.count_nonzero(labels == j) for j in range(3)]


def test_softness_is_one_at_tau_zero(model):
    path = tau_path(model.affinity_matrix_, 4, taus=[0.0], tol=1e-7)
    np.testing.assert_allclose(PathDisplay(path=path).softness, 1, atol=1e-6)


@pytest.mark.parametrize(
    "display", [BlocksDisplay, MembershipDisplay, PathDisplay, SizesDisplay]
)
def test_a_path_is_a_path(display):
    with pytest.raises(TypeError, match="path must be a TauPath, got ndarray"):
        display.from_path(X)


def test_path_refuses_classes_of_other_samples(path):
    with pytest.raises(ValueError, match="y must hold n_samples=90 classes"):
        PathDisplay.from_path(path, Y[:5])


def test_convergence_shows_the_history(axes):
    model = LoRD(4, start="random", random_state=0, n_init=1).fit(X)
    display = ConvergenceDisplay.from_estimator(model, ax=axes)
    np.testing.assert_array_equal(display.line_.get_ydata(), model.history_)
    display.plot(ax=Figure().subplots(), show="gap")
    gap = np.asarray(display.line_.get_ydata())
    last = model.history_[-1]
    assert np.isnan(gap[-1])
    assert np.nanmax(gap) == pytest.approx(abs(model.history_[0] / last - 1))
    assert display.ax_.get_yscale() == "log"


def test_rounding_errors_are_not_blown_up(axes):
    history = 1 + 1e-9 * np.array([0.0, 1.0, -1.0])
    ConvergenceDisplay(history=history).plot(ax=axes)
    assert np.ptp(axes.get_ylim()) == pytest.approx(1e-3)


def test_convergence_refuses_what_it_cannot_show(model):
    still = KMeans(2, n_init=1, random_state=0).fit(X)
    with pytest.raises(ValueError, match="KMeans has none"):
        ConvergenceDisplay.from_estimator(still)
    with pytest.raises(ValueError, match=r"Unknown show 'gaps'\. Did you mean 'gap'"):
        ConvergenceDisplay.from_estimator(model, show="gaps")


def test_bars_are_sizes_and_marks_are_shares(axes):
    model = BLoRD(3, proportions=[0.2, 0.3, 0.5], tau=1.0).fit(X)
    display = SizesDisplay.from_estimator(model, ax=axes)
    assert [bar.get_height() for bar in display.bars_] == model.sizes_.tolist()
    marks = axes.collections[0].get_segments()
    np.testing.assert_allclose([m[0, 1] for m in marks], [18, 27, 45])


def test_shares_of_weight_are_not_marked(axes):
    """They cannot be compared with numbers of samples."""
    w = np.random.default_rng(0).uniform(0.5, 2, len(X))
    weighted = SizesDisplay.from_estimator(
        PAPER(3).fit(X, sample_weight=w),
        ax=axes,
    )
    assert weighted.asked is None
    twice = PAPER(3).fit(X, sample_weight=np.full(len(X), 2.0))
    np.testing.assert_allclose(SizesDisplay.from_estimator(twice, ax=axes).asked, 30)


def test_bars_at_one_tau_of_a_path(path, axes):
    display = SizesDisplay.from_path(path, 0.05, ax=axes)
    counts = np.bincount(path.labels[path.at(0.05)], minlength=4)
    assert [bar.get_height() for bar in display.bars_] == counts.tolist()
    np.testing.assert_allclose(display.asked, 22.5)


def test_empty_clusters_have_a_bar(axes):
    X = np.repeat([[0.0, 0.0], [9.0, 9.0]], 20, axis=0)
    X = X + np.random.default_rng(0).normal(size=X.shape)
    model = BLoRD(4, proportions="auto", tau=1.0).fit(X)
    display = SizesDisplay.from_estimator(model, ax=axes)
    assert len(display.bars_) == 4
    assert sum(bar.get_height() for bar in display.bars_) == 40


def test_selection_shows_every_candidate(chosen, axes):
    display = SelectionDisplay.from_estimator(chosen, ax=axes)
    found = chosen.selection_
    shown = np.concatenate([line.get_xydata() for line in display.lines_])
    every = np.column_stack([found.taus, found.evidence])
    assert sorted(map(tuple, shown)) == sorted(map(tuple, every))
    best = display.best_.get_xydata()[0]
    np.testing.assert_array_equal(best, every[found.best])


def test_selection_needs_a_choice(model):
    with pytest.raises(ValueError, match="BLoRD has no selection_"):
        SelectionDisplay.from_estimator(model)


def test_fifty_clusters_have_fifty_colours():
    colours = cluster_colours(50)
    assert len(np.unique(colours.round(6), axis=0)) == 50
    assert colours.min() >= 0
    assert colours.max() <= 1
    with pytest.raises(ValueError, match="n_clusters must be a positive integer"):
        cluster_colours(0)


# -- reliability ----------------------------------------------------------------


def test_reliability_draws_the_bins_with_samples(model, axes):
    display = ReliabilityDisplay.from_estimator(model, Y, bins=8, ax=axes)
    found = display.found
    some = found.weight > 0
    np.testing.assert_array_equal(display.line_.get_xdata(), found.certainty[some])
    np.testing.assert_array_equal(display.line_.get_ydata(), found.accuracy[some])
    areas = display.points_.get_sizes()
    assert areas.argmax() == found.weight[some].argmax()
    assert found.error == calibration_error(Y, model.membership_, bins=8)
    assert display.line_.get_label() == f"BLoRD, error {found.error:.3f}"


def test_reliability_of_two_models_shares_axes(model, axes):
    first = ReliabilityDisplay.from_estimator(model, Y, ax=axes)
    hard = KMeans(4, n_init=1, random_state=0).fit(X)
    second = ReliabilityDisplay.from_estimator(hard, Y, ax=axes)
    assert to_hex(first.line_.get_color()) != to_hex(second.line_.get_color())
    assert len(axes.lines) == 3  # with one diagonal
    assert second.found.weight[-1] == 1  # labels alone count as certain


def test_reliability_passes_settings_on(model, axes):
    display = ReliabilityDisplay.from_predictions(
        Y, model.membership_, ax=axes, color="red", label="mine"
    )
    assert display.line_.get_color() == "red"
    assert display.line_.get_label() == "mine"
