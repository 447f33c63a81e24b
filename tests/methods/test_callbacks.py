"""scikit-learn's callbacks hear of every part of a fit, and can end it early."""

import pickle
import runpy
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from lordclust import BLoRD, LoRD
from lordclust.choose.search import SEEDS
from lordclust.methods import KKM, NLR, SymNMF, _callbacks
from models import MODELS, PAPER

pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")

X, _ = make_blobs(80, centers=3, n_features=4, cluster_std=3.0, random_state=0)


class Recorder:
    """Writes down what it hears; says stop at a name that begins so."""

    def __init__(self, stop_at=None):
        self.events, self.stop_at = [], stop_at

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context):
        self.events.append(f"end {context.task_name}")
        return self.stop_at is not None and context.task_name.startswith(self.stop_at)

    def parts(self):
        begun = [e.partition(" ")[2] for e in self.events if e.startswith("begin")]
        return [name for name in begun if name not in ("fit", _callbacks.BETWEEN)]


def listened(model, stop_at=None):
    recorder = Recorder(stop_at)
    return model.set_callbacks(recorder).fit(X), recorder


def test_a_path_reports_each_tau():
    model, heard = listened(PAPER(3, start="path"))
    assert heard.events[:2] == ["setup", "begin fit"]
    assert heard.events[-2:] == ["end fit", "teardown"]
    parts = heard.parts()
    assert parts[0] == "graph"
    assert parts[-1] == "start"
    taus = [float(name.split()[1]) for name in parts[1:-1]]
    assert len(taus) > 5
    assert taus == sorted(taus)
    assert taus[-1] == model.tau_ == 1.0


@pytest.mark.parametrize(
    ("model", "parts"),
    [
        (LoRD(3, start="random", n_init=1), ["graph", "start"]),
        (PAPER(3, start="random", n_init=3, n_jobs=1), ["graph", *["start"] * 3]),
        (PAPER(3, start="random", n_init=3, n_jobs=2), ["graph", *["start"] * 3]),
        (
            LoRD(3, n_init=2, n_jobs=1),
            ["graph", *["step 0.50", "step 1.00", "start"] * 2],
        ),
        (
            PAPER(3, tau=0.2, n_init=1),
            ["graph", "tau 0.100", "tau 0.200", "start"],
        ),
    ],
)
def test_other_ways_report_their_parts(model, parts):
    assert listened(model)[1].parts() == parts


@pytest.mark.parametrize("proportions", [None, "auto"])
def test_a_choice_reports_each_tau_of_each_path(proportions):
    model, heard = listened(BLoRD(3, tau="auto", proportions=proportions))
    parts = heard.parts()
    assert (parts[0], parts[-1]) == ("graph", "choice")
    taus = [float(name.split()[1]) for name in parts[1:-1]]
    found = model.selection_
    solved = found.taus[[name not in SEEDS for name in found.sources]]
    assert len(solved) >= 6
    # Of several paths to the same shares only the best at each tau is a candidate.
    assert len(taus) >= len(solved)
    assert set(np.round(solved, 3)) <= set(taus)


@pytest.mark.parametrize("model", [BLoRD(3), LoRD(3), PAPER(3, start="path")])
def test_progress_is_even(model):
    heard = listened(clone(model))[1]
    ends = [event for event in heard.events if event.startswith("end ")]
    assert len(ends) == _callbacks.STEPS + 1  # of the subtasks, and of the fit
    parts = [i for i, event in enumerate(ends) if event != "end progress"]
    assert parts[0] == 0  # the graph
    assert ends[1:200] == ["end progress"] * 199
    assert max(np.diff(parts)) <= 300


@pytest.mark.parametrize("shares", [{}, {"proportions": [0.2, 0.3, 0.5]}])
@MODELS
def test_listening_changes_nothing(Model, shares):
    heard = listened(Model(3, n_jobs=2, **shares))[0]
    alone = Model(3, n_jobs=1, **shares).fit(X)
    np.testing.assert_array_equal(heard.membership_, alone.membership_)
    assert heard.objective_ == alone.objective_


@pytest.mark.parametrize("start", ["auto", "path"])
def test_a_stop_ends_the_path_but_not_the_fit(start):
    model, heard = listened(PAPER(3, tau=0.8, start=start, n_init=1), stop_at="tau")
    assert len(heard.parts()) == 3  # graph, the first tau, start
    assert heard.events[-1] == "teardown"
    assert model.tau_ == 0.8
    assert model.converged_
    np.testing.assert_allclose(model.membership_.sum(axis=1), 1)
    np.testing.assert_allclose(model.membership_.mean(axis=0), 1 / 3)


def test_a_stop_ends_lords_path_but_not_the_fit():
    whole, heard = listened(LoRD(3, start="path"))
    assert sum(name.startswith("step") for name in heard.parts()) == 20
    model, heard = listened(LoRD(3, start="path"), stop_at="step 0.3")
    assert sum(name.startswith("step") for name in heard.parts()) == 6
    assert model.converged_  # of its own problem, not of the tilted one
    assert model.objective_ >= whole.objective_ * (1 - 1e-3)


def test_a_stop_leaves_out_further_starts():
    model = listened(
        PAPER(3, start="random", n_init=4, n_jobs=1),
        stop_at="start",
    )[0]
    assert len(model.all_objectives_) == 1


def test_a_stop_leaves_out_further_starts_side_by_side():
    model = PAPER(3, start="random", n_init=8, n_jobs=2)
    assert 1 <= len(listened(model, stop_at="start")[0].all_objectives_) <= 3


@pytest.mark.parametrize("proportions", [None, "auto"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_stop_keeps_the_best_candidate_so_far(proportions, threads):
    model = BLoRD(3, tau="auto", proportions=proportions, n_jobs=threads)
    model, _ = listened(model, stop_at="tau 0.2")
    found = model.selection_
    assert 2 <= len(found.taus) < 15
    assert set(found.rounds) == {0}
    assert found.evidence[found.best] == max(found.evidence)
    best = np.sort(found.sizes[found.best])[::-1]
    np.testing.assert_array_equal(np.sort(model.sizes_)[::-1], best)
    np.testing.assert_allclose(model.membership_.mean(axis=0), model.proportions_)


class Ear:
    """Takes down what a listener hears; has enough of a part that begins so."""

    def __init__(self, enough="nothing"):
        self.enough, self.names, self.gains, self.shares = enough, [], [], []

    def graph(self, share):
        self.shares.append(share)

    def part(self, name, gain):
        self.names.append(name)
        self.gains.append(gain)
        return name.startswith(self.enough)


def test_the_same_seed_has_the_same_best_start_when_listened_to():
    model = SymNMF(3, n_init=4, random_state=0)
    ear = Ear()
    with _callbacks.heard_by(model, ear):
        labels = model.fit(X).labels_
    assert ear.names == ["graph", *["start"] * 4]
    assert not hasattr(model, "_listener")
    alone = SymNMF(3, n_init=4, random_state=0).fit(X).labels_
    np.testing.assert_array_equal(labels, alone)


@pytest.mark.parametrize(
    "model",
    [
        BLoRD(3),
        BLoRD(3, tau=0.3),
        BLoRD(3, proportions=[0.2, 0.3, 0.5]),
        BLoRD(3, start=np.arange(80) % 3),
        PAPER(3),
        PAPER(3, start="path"),
        PAPER(3, proportions=[0.2, 0.3, 0.5], start="path", n_jobs=2),
        PAPER(3, start="random", n_init=3),
        PAPER(3, tau="auto"),
        LoRD(3),
        LoRD(3, start="path"),
        SymNMF(3, n_init=4),
        NLR(3, n_init=2),
        KKM(3),
    ],
)
def test_the_gains_of_all_parts_are_the_whole(model):
    ear = Ear()
    with _callbacks.heard_by(model, ear):
        model.fit(X)
    assert ear.names[0] == "graph"
    assert min(ear.gains) >= 0
    assert sum(ear.gains) == pytest.approx(1)


@pytest.mark.parametrize("method", [SymNMF, NLR, KKM])
def test_other_methods_keep_the_best_start_so_far(method):
    model = method(3, n_init=5, random_state=0)
    with _callbacks.heard_by(model, Ear("start")):
        model.fit(X)
    assert len(model.all_objectives_) == 1
    assert len(model.labels_) == len(X)


def test_a_large_graph_says_how_much_is_built(monkeypatch):
    monkeypatch.setattr("lordclust.graph.knn.LARGE", 50)
    monkeypatch.setattr("lordclust.graph.knn.TREE_DIM", 2)
    monkeypatch.setattr("lordclust.graph._brute.TILE_ROWS", 20)
    ear, model = Ear(), PAPER(3)
    with _callbacks.heard_by(model, ear):
        model.fit(X)
    assert len(ear.shares) == 4
    assert ear.shares == sorted(ear.shares)
    assert ear.shares[-1] == 1


def test_nothing_is_left_behind():
    model, _ = listened(BLoRD(3))
    assert not hasattr(model, "_callback_fit_ctx")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert clone(model).get_params() == model.get_params()


def test_a_failing_callback_is_torn_down():
    recorder = Recorder()
    recorder.on_fit_task_end = lambda estimator, context: 1 / 0
    with pytest.raises(ZeroDivisionError):
        BLoRD(3).set_callbacks(recorder).fit(X)
    assert recorder.events[-1] == "teardown"


def test_the_warning_still_points_at_the_caller():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        PAPER(3, start="random", n_init=1, random_state=0, max_iter=1).fit(X)
    (found,) = [w for w in caught if w.category is ConvergenceWarning]
    assert found.filename == __file__


def test_the_progress_bar_of_scikit_learn(capsys):
    from sklearn.callback import ProgressBar

    BLoRD(3).set_callbacks(ProgressBar()).fit(X)
    assert "BLoRD - fit" in capsys.readouterr().out


def test_before_scikit_learn_1_9_there_are_none(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    old = runpy.run_path(_callbacks.__file__)
    model = old["CallbackSupportMixin"]()
    assert not hasattr(model, "set_callbacks")
    old["begin"](model)
    assert old["step"](model, "graph") is False
    old["end"](model)
    assert old["with_callbacks"](len)("abc") == 3


def test_stops_of_a_path_are_printed_on_request(capsys):
    model = PAPER(3, tau=0.2, n_init=1, verbose=1).fit(X)
    assert capsys.readouterr().out == "[BLoRD] graph\n[BLoRD] start\n"
    model.set_params(verbose=2).fit(X)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "[BLoRD] graph"
    assert lines[-2:] == ["[BLoRD] tau 0.200", "[BLoRD] start"]
