import json
import sys

import matplotlib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_blobs

from benchmarks.suggest import PAGE, PICTURE, RESULTS, with_table
from lordclust import KSuggestion, suggest_k
from lordclust.choose.evidence import Evidence
from lordclust.choose.n_clusters import best_n_clusters
from lordclust.graph import KNNGraph
from lordclust.solver.seeds import Seeds
from strategies import generators

matplotlib.use("Agg")


def cliques(count, size):
    return sparse.csr_array(
        np.kron(np.eye(count), np.ones((size, size)) - np.eye(size))
    )


def suggestion(score):
    score = np.asarray(score, dtype=float)
    ks, zeros = np.arange(2, len(score) + 2), np.zeros(len(score))
    return KSuggestion(ks, zeros, zeros, zeros, zeros, score)


def segments(sizes, apart=10.0, d=3, seed=0):
    """Return unit Gaussians at the corners of a simplex, or on a line of it."""
    rng = np.random.default_rng(seed)
    centres = apart / np.sqrt(2) * np.eye(max(d, len(sizes)))[: len(sizes)]
    X = np.vstack([rng.standard_normal((m, len(c))) + c
                   for m, c in zip(sizes, centres, strict=True)])  # fmt: skip
    return rng.permutation(X)


# -- the whole rule ---------------------------------------------------------------


@pytest.mark.parametrize(("count", "size"), [(2, 9), (3, 5), (4, 6)])
def test_disjoint_cliques(count, size):
    found = suggest_k(cliques(count, size), range(2, 6))
    assert found.best_k == count
    assert found.surprise[count - 2] == 0.0
    assert found.eigenvalues[count - 1] == pytest.approx(0, abs=1e-12)
    assert found.eigenvalues[count] == pytest.approx(size / (size - 1))


@pytest.mark.parametrize("k", [2, 3, 5, 12])
def test_gaussians_far_apart(k):
    X, _ = make_blobs(40 * k, centers=20 * np.eye(k), random_state=0)
    assert suggest_k(X, affinity="knn").best_k == k


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    "sizes", [(500, 300, 120, 60, 20), (500, 50, 50, 12), (400, 200, 133, 100, 80, 66)]
)
def test_uneven_segments(sizes, seed):
    X = segments(sizes, seed=seed)
    assert suggest_k(X, affinity="knn").best_k == len(sizes)


def test_rings_are_not_gaussian():
    angle = np.linspace(0, 2 * np.pi, 300, endpoint=False)
    ring = np.c_[np.cos(angle), np.sin(angle)]
    X = np.vstack([ring, 3 * ring]) + 0.1 * segments([600], d=2)
    assert suggest_k(X, affinity="knn").best_k == 2


def test_one_clique_is_one_cluster():
    found = suggest_k(np.ones((12, 12)), range(1, 5))
    assert found.best_k == 1
    assert (found.gap[0], found.surprise[0], found.fit[0]) == (0, 0, 0)


def test_from_one_cluster_to_one_for_each_sample():
    assert suggest_k(cliques(3, 2), [1, 3, 6]).best_k == 3


def test_samples_without_edges():
    S = sparse.block_diag([cliques(2, 6), sparse.csr_array((2, 2))])
    assert suggest_k(S, [2, 3, 4]).best_k == 2
    assert suggest_k(np.zeros((6, 6)), [2, 3]).best_k in (2, 3)


def test_default_range():
    np.testing.assert_array_equal(suggest_k(cliques(3, 3)).ks, [2, 3, 4])
    np.testing.assert_array_equal(suggest_k(cliques(1, 2)).ks, [2])


# -- its parts --------------------------------------------------------------------


@given(generators(), st.integers(4, 9))
@settings(max_examples=10)
def test_gaps_are_those_of_the_laplacian(rng, n):
    A = np.triu(rng.random((n, n)), 1)
    A = A + A.T
    d = A.sum(axis=1)
    expected = np.linalg.eigvalsh(np.eye(n) - A / np.sqrt(np.outer(d, d)))
    found = suggest_k(A, [1, 2, n - 1, n])
    np.testing.assert_allclose(found.eigenvalues, expected, atol=1e-10)
    ratio = (expected[2] + 1e-3) / (expected[1] + 1e-3)
    assert found.gap[1] == pytest.approx(np.log(ratio / 4))
    assert found.gap[3] == pytest.approx(-2 * np.log(n / (n - 1)))


def test_an_interval_has_no_gap():
    """The ratio of its eigenvalues is what is subtracted."""
    path = sparse.diags_array([np.ones(99)] * 2, offsets=[-1, 1], shape=(100, 100))
    gap = suggest_k(path, range(2, 6)).gap
    assert np.abs(gap).max() < 0.7
    assert (gap < 0).all()


def test_surprise_is_that_of_the_best_partition():
    X, _ = make_blobs(120, 3, centers=4, random_state=0)
    S = KNNGraph().build(X)
    found = suggest_k(X, [3, 4], affinity="knn")
    for k, surprise in zip(found.ks, found.surprise, strict=True):
        seeds, evidence = Seeds(S, k, X), Evidence(S, k, X)
        scores = [evidence.score(getattr(seeds, name))
                  for name in ("cut", "centres", "tree", "uneven_tree")
                  if getattr(seeds, name) is not None]  # fmt: skip
        best = max(scores, key=lambda score: score.total)
        assert surprise == pytest.approx(best.surprise)


def test_score_is_the_sum_of_its_parts():
    X, _ = make_blobs(60, 3, centers=3, random_state=0)
    found = suggest_k(X, affinity="knn")
    total = found.gap + found.separation + found.fit
    np.testing.assert_array_equal(found.score, total)
    ratio = (found.eigenvalues[found.ks] + 1e-3) / (found.surprise + 2)
    np.testing.assert_allclose(found.separation, np.log(ratio))


def test_features_are_used_with_samples_only():
    X, _ = make_blobs(60, 3, centers=3, random_state=0)
    S = KNNGraph().build(X)
    from_X, from_S = suggest_k(X, [2, 3], affinity="knn"), suggest_k(S, [2, 3])
    np.testing.assert_array_equal(from_X.gap, from_S.gap)
    assert (from_X.fit != from_S.fit).all()
    assert from_S.fit[1] == pytest.approx(-np.log(3) / 2)  # of equal shares


def test_distances_are_not_features():
    X, _ = make_blobs(60, 3, centers=3, random_state=0)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    found = suggest_k(D, [2, 3], affinity=KNNGraph(metric="precomputed"))
    assert found.fit[1] == pytest.approx(-np.log(3) / 2)


# -- what does not matter ---------------------------------------------------------


def test_the_same_every_time_and_on_any_number_of_threads():
    X, _ = make_blobs(80, 3, centers=4, random_state=0)
    first = suggest_k(X, affinity="knn", n_jobs=1)
    again = suggest_k(X, affinity="knn", n_jobs=2)
    np.testing.assert_array_equal(first.score, again.score)


@pytest.mark.parametrize("m", [40, 200])  # dense and iterative eigenvectors
def test_order_does_not_matter(m):
    X = segments([2 * m, m, m // 2], apart=6.0)
    order = np.random.default_rng(1).permutation(len(X))
    first = suggest_k(X, [2, 3], affinity="knn")
    again = suggest_k(X[order], [2, 3], affinity="knn")
    np.testing.assert_allclose(first.score, again.score, atol=1e-6)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.coo_array])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_any_kind_of_matrix_is_left_alone(kind, dtype):
    S = kind(cliques(3, 5).toarray().astype(dtype))
    before = S.copy()
    assert suggest_k(S, [2, 3, 4]).best_k == 3
    assert abs(S - before).max() == 0


def test_sparse_samples():
    X, _ = make_blobs(90, 4, centers=3, random_state=0)
    dense = suggest_k(X, range(2, 6), affinity="knn")
    thin = suggest_k(sparse.csr_array(X), range(2, 6), affinity="knn")
    np.testing.assert_allclose(dense.score, thin.score, atol=1e-8)


# -- for an estimator -------------------------------------------------------------


def test_best_n_clusters_is_suggest_k():
    X, _ = make_blobs(90, 4, centers=3, random_state=0)
    S = KNNGraph().build(X)
    found = best_n_clusters(S, X, np.ones(90))
    np.testing.assert_array_equal(found.ks, np.arange(2, 21))
    np.testing.assert_array_equal(found.score, suggest_k(X, affinity="knn").score)


def test_samples_without_weight_do_not_count():
    S = sparse.block_diag([cliques(3, 6), sparse.csr_array((2, 2))], format="csr")
    weight = np.r_[np.ones(18), 0, 0]
    assert best_n_clusters(S, None, weight, 5).best_k == 3


@pytest.mark.parametrize(
    ("n", "most", "ks"), [(1, 20, [1]), (2, 20, [2]), (3, 1, [1]), (9, 20, [2, 3, 4])]
)
def test_few_samples_or_clusters(n, most, ks):
    found = best_n_clusters(np.ones((n, n)), None, np.ones(n), most)
    assert found.ks.tolist() == ks


def test_negative_entries_count_as_zero():
    S = cliques(3, 6).toarray()
    S[S == 0] = -1.0
    assert best_n_clusters(S, None, np.ones(18), 6).best_k == 3


def test_max_clusters_is_a_count():
    with pytest.raises(ValueError, match="max_clusters must be a positive integer"):
        best_n_clusters(np.ones((4, 4)), None, np.ones(4), 0)


# -- the record -------------------------------------------------------------------


def test_ranking_takes_the_smaller_of_equals():
    found = suggestion([0.25, 0.75, 0.125, 0.75])
    assert found.ranking.tolist() == [3, 5, 2, 4]
    assert (found.best_k, found.runner_up) == (3, 5)
    assert suggestion([0.2]).runner_up is None


def test_text():
    found = suggestion([0.2, 0.7, -np.inf])
    assert repr(found) == "KSuggestion(best_k=3, runner_up=2, ks=2..4)"
    lines = str(found).splitlines()
    assert lines[0] == "Best: 3 clusters, then 2."
    assert len(lines) == 2 + 3
    assert [line.endswith("<") for line in lines[2:]] == [False, True, False]
    assert len({len(line.rstrip(" <")) for line in lines[1:]}) == 1  # columns line up
    assert str(suggestion([0.5])).startswith("Best: 2 clusters.")


def test_picture():
    found = suggest_k(cliques(3, 5), range(2, 7))
    top, bottom = found.plot()
    curves = {line.get_label(): line.get_ydata() for line in top.get_lines()}
    np.testing.assert_array_equal(curves["score"], found.score)
    bars = [bar.get_height() for bar in bottom.patches]
    np.testing.assert_array_equal(bars, found.gap)
    colours = [bar.get_facecolor() for bar in bottom.patches]
    assert [c != colours[0] for c in colours] == [False, True, False, False, False]
    assert top.get_title(loc="left").startswith("Best: 3 clusters")
    assert top.get_xlim() == bottom.get_xlim()
    matplotlib.pyplot.close(top.figure)


def test_picture_in_a_given_place():
    figure, (_, ax) = matplotlib.pyplot.subplots(1, 2)
    top, bottom = suggestion([0.2, 0.7, -np.inf]).plot(ax)
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
        (np.ones((3, 2)), {"affinity": "precomputed"}, 'square matrix.*"knn"'),
        (-np.ones((3, 3)), {}, "nonnegative for suggest_k"),
        (np.triu(np.ones((3, 3))), {}, "symmetric"),
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
