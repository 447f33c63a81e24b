import json
import sys
from itertools import combinations

import matplotlib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from benchmarks.suggest import PAGE, PICTURE, RESULTS, with_table
from lordclust import KSuggestion, suggest_k
from lordclust.choose.n_clusters import _agreement, _reweighted, _stability
from lordclust.graph import KNNGraph
from strategies import generators, labels

matplotlib.use("Agg")
FEW = {"n_paths": 3}


def cliques(count, size):
    return sparse.csr_array(
        np.kron(np.eye(count), np.ones((size, size)) - np.eye(size))
    )


def suggestion(score, errors=0.0):
    score = np.asarray(score, dtype=float)
    ks, zeros = np.arange(2, len(score) + 2), np.zeros(len(score))
    return KSuggestion(ks, zeros, zeros, score, zeros + errors)


# -- the whole rule ---------------------------------------------------------------


@pytest.mark.parametrize(("count", "size"), [(2, 9), (3, 5), (4, 6)])
def test_disjoint_cliques(count, size):
    """Both measures are perfect at their number: the gap of a clique is s / (s - 1)."""
    found = suggest_k(cliques(count, size), range(1, 6), **FEW)
    assert found.best_k == count
    assert found.stability[count - 1] == 1.0
    assert found.eigengaps[count - 1] == pytest.approx(size / (size - 1))
    assert found.errors[count - 1] == 0.0
    np.testing.assert_allclose(found.eigengaps[: count - 1], 0, atol=1e-12)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_gaussians_far_apart(k):
    X, _ = make_blobs(20 * k, centers=20 * np.eye(k), random_state=0)
    assert suggest_k(X, range(2, 7), affinity="knn", **FEW).best_k == k


def test_one_clique_is_one_cluster():
    found = suggest_k(np.ones((12, 12)), range(1, 5), **FEW)
    assert found.best_k == 1
    assert found.eigengaps[0] == pytest.approx(1)
    assert found.stability[0] == 0.0


def test_from_one_cluster_to_one_for_each_sample():
    found = suggest_k(cliques(3, 2), [1, 3, 6], **FEW)
    assert found.stability[0] == 0.0
    assert found.eigengaps[-1] == 0.0
    assert found.best_k == 3


@given(generators(), st.integers(4, 9))
@settings(max_examples=5)
def test_gaps_are_those_of_the_laplacian(rng, n):
    A = np.triu(rng.random((n, n)), 1)
    A = A + A.T
    d = A.sum(axis=1)
    expected = np.linalg.eigvalsh(np.eye(n) - A / np.sqrt(np.outer(d, d)))
    ks = [1, 2, n - 1]
    found = suggest_k(A, ks, **FEW)
    np.testing.assert_allclose(found.eigenvalues, expected, atol=1e-10)
    np.testing.assert_allclose(
        found.eigengaps, np.diff(expected)[[0, 1, -1]], atol=1e-9
    )
    np.testing.assert_array_equal(found.score, found.eigengaps + found.stability)


def test_samples_or_their_graph():
    X, _ = make_blobs(60, 3, centers=3, random_state=0)
    from_X = suggest_k(X, [2, 3], affinity="knn", **FEW)
    from_S = suggest_k(KNNGraph().build(X), [2, 3], **FEW)
    np.testing.assert_array_equal(from_X.score, from_S.score)


def test_the_same_every_time_and_on_any_number_of_threads():
    S = KNNGraph().build(make_blobs(40, 3, centers=4, random_state=0)[0])
    first = suggest_k(S, [2, 5, 6], n_jobs=1, **FEW)
    again = suggest_k(S, [2, 5, 6], n_jobs=2, **FEW)
    np.testing.assert_array_equal(first.score, again.score)
    np.testing.assert_array_equal(first.errors, again.errors)
    other = suggest_k(S, [2, 5, 6], random_state=1, **FEW)
    assert (first.stability != other.stability).any()


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.coo_array])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_any_kind_of_matrix_is_left_alone(kind, dtype):
    S = kind(cliques(3, 5).toarray().astype(dtype))
    before = S.copy()
    assert suggest_k(S, [2, 3, 4], **FEW).best_k == 3
    assert abs(S - before).max() == 0


def test_samples_without_edges():
    S = sparse.block_diag([cliques(2, 6), sparse.csr_array((2, 2))])
    assert suggest_k(S, [2, 3, 4], **FEW).best_k == 2
    assert np.isfinite(suggest_k(np.zeros((6, 6)), [2, 3], **FEW).score).all()


def test_default_range():
    ks = suggest_k(cliques(3, 3), **FEW).ks
    np.testing.assert_array_equal(ks, [2, 3, 4])
    np.testing.assert_array_equal(suggest_k(cliques(1, 2), **FEW).ks, [2])


# -- stability --------------------------------------------------------------------


@given(st.data(), st.integers(2, 30))
def test_agreement_is_the_adjusted_rand_index(data, n):
    a, b = data.draw(labels(n, 4)), data.draw(labels(n, 4))
    trivial = all(len(set(y)) in (1, n) for y in (a, b)) and len(set(a)) == len(set(b))
    expected = 0.0 if trivial else adjusted_rand_score(a, b)
    assert _agreement(a, b) == pytest.approx(expected, abs=1e-12)


def test_agreement_below_chance():
    assert _agreement(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])) == -0.5


def test_agreement_of_many_samples_does_not_overflow():
    y = np.arange(200_000) % 7
    assert _agreement(y, (y + 3) % 7) == 1.0


@settings(max_examples=10)
@given(st.data(), st.integers(3, 5))
def test_stability_and_its_jackknife(data, m):
    ys = [data.draw(labels(12, 3)) for _ in range(m)]
    pairs = {(i, j): _agreement(ys[i], ys[j]) for i, j in combinations(range(m), 2)}
    without = np.array(
        [np.mean([a for pair, a in pairs.items() if i not in pair]) for i in range(m)]
    )
    value, error = _stability(ys)
    assert value == pytest.approx(np.mean(list(pairs.values())))
    spread = ((without - without.mean()) ** 2).sum() * (m - 1) / m
    assert error == pytest.approx(np.sqrt(spread), abs=1e-9)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_weights_keep_the_graph_and_its_mean(kind):
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((300, 300)) * (rng.random((300, 300)) < 0.3))
    A = A + A.T
    B = _reweighted(kind(A), rng)
    B = B.toarray() if sparse.issparse(B) else B
    np.testing.assert_array_equal(B, B.T)
    np.testing.assert_array_equal(B != 0, A != 0)
    edges = np.triu(A) > 0
    ratios = B[edges] / A[edges]
    assert len(ratios) > 10_000
    assert ratios.mean() == pytest.approx(1, abs=0.05)
    assert ratios.var() == pytest.approx(1, abs=0.15)  # that of the exponential
    assert ratios.min() > 0


# -- the record -------------------------------------------------------------------


def test_ranking_takes_the_smaller_of_equals():
    found = suggestion([0.2, 0.7, 0.1, 0.7])
    assert found.ranking.tolist() == [3, 5, 2, 4]
    assert (found.best_k, found.runner_up) == (3, 5)
    assert suggestion([0.2]).runner_up is None


def test_plausible_ks():
    found = suggestion([0.2, 0.7, 0.65, 0.61], errors=0.06)
    assert found.plausible_ks.tolist() == [3, 4]


def test_text():
    found = suggestion([0.2, 0.7, 0.1])
    assert repr(found) == "KSuggestion(best_k=3, runner_up=2, ks=2..4)"
    lines = str(found).splitlines()
    assert lines[0] == "Best: 3 clusters, then 2."
    assert len(lines) == 3 + 3
    assert [line.endswith("<") for line in lines[3:]] == [False, True, False]
    assert len({len(line.rstrip(" <")) for line in lines[2:]}) == 1  # columns line up
    assert str(suggestion([0.5])).startswith("Best: 2 clusters.")


def test_picture():
    found = suggest_k(cliques(3, 5), range(2, 7), **FEW)
    top, bottom = found.plot()
    curves = {line.get_label(): line.get_ydata() for line in top.get_lines()}
    np.testing.assert_array_equal(curves["score = stability + eigengap"], found.score)
    bars = [bar.get_height() for bar in bottom.patches]
    np.testing.assert_array_equal(bars, found.eigengaps)
    colours = [bar.get_facecolor() for bar in bottom.patches]
    assert [c != colours[0] for c in colours] == [False, True, False, False, False]
    assert top.get_title(loc="left").startswith("Best: 3 clusters")
    assert top.get_xlim() == bottom.get_xlim()
    matplotlib.pyplot.close(top.figure)


def test_picture_in_a_given_place():
    figure, (_, ax) = matplotlib.pyplot.subplots(1, 2)
    top, bottom = suggestion([0.2, 0.7, 0.1]).plot(ax)
    assert top in ax.child_axes
    assert bottom in ax.child_axes
    figure.canvas.draw()
    matplotlib.pyplot.close(figure)


def test_picture_needs_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "lordclust\[plot\]"'):
        suggestion([0.2, 0.7]).plot()


# -- refusals ---------------------------------------------------------------------


@pytest.mark.parametrize("ks", [[], [0, 1], [2, 16], [3, 2], [2, 2], range(2, 17)])
def test_bad_ranges(ks):
    with pytest.raises(ValueError, match="increasing integers from 1 to n_samples=15"):
        suggest_k(cliques(3, 5), ks)


@pytest.mark.parametrize("ks", [3, [2.0, 3.0], [True], ["2"], "23"])
def test_ranges_without_integers(ks):
    with pytest.raises(TypeError, match="k_range must hold increasing integers"):
        suggest_k(cliques(3, 5), ks)


@pytest.mark.parametrize(
    ("S", "settings", "message"),
    [
        (np.ones((3, 2)), {}, 'square matrix.*affinity="knn"'),
        (-np.ones((3, 3)), {}, "nonnegative for suggest_k"),
        (np.triu(np.ones((3, 3))), {}, "symmetric"),
        (np.ones((3, 3)), {"n_paths": 2}, "n_paths must be at least 3, got 2"),
        (np.ones((3, 3)), {"n_paths": 2.5}, "n_paths must be a positive integer"),
        (np.ones((3, 3)), {"affinity": "kn"}, "Did you mean 'knn'"),
        (np.ones((1, 1)), {}, "from 1 to n_samples=1"),
    ],
)
def test_refusals(S, settings, message):
    with pytest.raises(ValueError, match=message):
        suggest_k(S, **settings)


def test_the_page_is_made_from_the_results():
    text = PAGE.read_text()
    assert text == with_table(text, json.loads(RESULTS.read_text()))
    assert PICTURE.is_file()
