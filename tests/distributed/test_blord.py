"""B-LoRD on workers gives the local solver's answer; no worker holds all of S.

Here S stays on the workers; tests/distributed/test_driver.py is about the default.
"""

from functools import partial
from itertools import pairwise

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from distributed import Client, LocalCluster, worker_client
from sklearn.datasets import load_digits, load_iris

from lordclust import BLoRD as LocalBLoRD
from lordclust.distributed import BLoRD, _crew
from lordclust.distributed._graph import GraphBuilder
from lordclust.distributed._spectrum import lanczos, spectrum
from lordclust.distributed.blord import check_workers
from lordclust.graph import KNNGraph
from lordclust.solver import path
from lordclust.solver.spectrum import find_spectrum
from strategies import block_graph

#: What is solved here: a whole path, and the most probable clusters.
OPTIONS = {"tau": 1.0, "proportions": None, "start": "path", "rounding": "argmax"}
Local, Whole = partial(LocalBLoRD, **OPTIONS), partial(BLoRD, **OPTIONS)
DIGITS = load_digits().data[:200]
CUTS = [60, 133, 150]
#: Iterations are the local solver's one by one, so that few of them tell as much.
FEW = {"max_iter": 6, "tau": 0.04}
pytestmark = pytest.mark.filterwarnings("ignore:BLoRD stopped")


@pytest.fixture(autouse=True)
def no_race(monkeypatch):
    """Coarse paths that compete need S on one machine: leave them out here too."""
    monkeypatch.setattr(path, "RACE_UP_TO", 0)


@pytest.fixture(scope="module")
def S():
    return KNNGraph().build(DIGITS)


def row_blocks(A, cuts=CUTS):
    edges = [0, *cuts, A.shape[0]]
    return [A[x:y] for x, y in pairwise(edges)]


def assert_same(ours, local):
    assert ours.objective_ == pytest.approx(local.objective_, rel=1e-8)
    assert ours.n_iter_ == local.n_iter_
    assert ours.converged_ == local.converged_
    ours.gather()
    np.testing.assert_array_equal(ours.labels_, local.labels_)
    np.testing.assert_allclose(ours.membership_, local.membership_, atol=1e-6)
    np.testing.assert_array_equal(ours.sizes_, local.sizes_)
    np.testing.assert_allclose(ours.proportions_, local.proportions_)


# -- the same answer --------------------------------------------------------------


def test_a_fit_to_the_end(client):
    S, _ = block_graph(np.random.default_rng(0), [30, 25, 20])
    options = {"n_clusters": 3, "affinity": "precomputed", "tol": 1e-2, "tau": 0.1}
    ours = Whole(client=client, **options).fit(row_blocks(S, [20, 37, 60]))
    assert ours.converged_
    assert_same(ours, Local(**options).fit(S))
    assert ours.traffic_.passes >= ours.traffic_.steps > 0


@pytest.mark.parametrize(
    "options",
    [
        {"tau": 0.08, "random_state": 3},
        {"proportions": ([0.4, 0.3, 0.2, 0.1], 1.0)},
        {"proportions": [0.4, 0.3, 0.2, 0.1], "n_init": 2, "tau": 0.03},
    ],
    ids=["equal", "soft", "two-paths"],
)
def test_blocks_of_a_similarity(client, S, options):
    options = {"n_clusters": 4, "affinity": "precomputed"} | FEW | options
    ours = Whole(client=client, **options).fit(row_blocks(S))
    local = Local(**options).fit(S)
    assert_same(ours, local)
    # Every block has its own entries, and none has all of them.
    assert ours.blocks_.tolist() == [block.nnz for block in row_blocks(S)]
    assert ours.blocks_.max() < S.nnz


def test_many_clusters(client):
    """One machine would multiply with H; the workers return it, as for any k."""
    S, _ = block_graph(np.random.default_rng(0), [3] * 70)
    options = {"n_clusters": 70, "affinity": "precomputed"} | FEW
    ours = Whole(client=client, **options).fit(row_blocks(S))
    assert_same(ours, Local(**options).fit(S))


def test_files_of_a_similarity(client, S, tmp_path):
    files = [tmp_path / f"s-{i}.npz" for i in range(4)]
    for file, block in zip(files, row_blocks(S), strict=True):
        sp.save_npz(file, block)
    options = {"n_clusters": 4, "affinity": "precomputed"} | FEW
    assert_same(Whole(client=client, **options).fit(files), Local(**options).fit(S))


def test_answers_stay_on_the_workers(client):
    X = load_iris().data
    ours = Whole(3, client=client, **FEW).fit(da.from_array(X, chunks=(40, 2)))
    assert isinstance(ours.labels_, da.Array)
    assert ours.labels_.chunks == ((40, 40, 40, 30),)
    assert ours.membership_.shape == (150, 3)
    assert_same(ours, Local(3, **FEW).fit(X))


def test_files_of_samples(client, tmp_path):
    files = [str(tmp_path / f"x-{i}.npy") for i in range(4)]
    for file, block in zip(files, row_blocks(DIGITS), strict=True):
        np.save(file, block)
    ours = Whole(4, client=client, **FEW).fit(files)
    assert_same(ours, Local(4, **FEW).fit(DIGITS))


# -- the graph --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "graph"),
    [
        (DIGITS, KNNGraph()),
        (load_iris().data, KNNGraph(5, include_self=True)),
        (1e6 + np.random.default_rng(0).random((60, 2)), KNNGraph(scale_neighbor=3)),
        (np.repeat(np.arange(18.0), 4)[:, None], KNNGraph(4)),
    ],
    ids=["digits", "self", "far", "copies"],
)
def test_the_graph_is_that_of_one_machine(client, X, graph):
    def blocks_of_keepers():
        from lordclust.distributed._blocks import KEEPERS

        return [pair for keeper in KEEPERS.values() for pair in keeper.blocks.items()]

    sources = [_crew.InMemory(x) for x in row_blocks(X, [20, 45])]
    crew = _crew.Crew(client, sources, graph=False, build=GraphBuilder(graph))
    crew.ask("drop_features")
    kept = client.run(blocks_of_keepers)
    crew.close()
    known, blocks = graph.build(X), {b: S for one in kept.values() for b, S in one}
    ours = sp.vstack([blocks[b] for b in sorted(blocks)], format="csr")
    np.testing.assert_array_equal(ours.indptr, known.indptr)
    np.testing.assert_array_equal(ours.indices, known.indices)
    np.testing.assert_allclose(ours.data, known.data, rtol=1e-12)


def test_the_spectrum_is_that_of_one_machine(client, S):
    sources = [_crew.InMemory(x) for x in row_blocks(S)]
    crew = _crew.Crew(client, sources, graph=True)
    crew.number(np.array([1.0]))
    assert spectrum(crew) == pytest.approx(find_spectrum(S), rel=1e-12)
    low, high = lanczos(crew)
    values = np.linalg.eigvalsh(S.toarray())
    assert low <= values[0] + 1e-12
    assert high >= values[-1] - 1e-12
    assert [low, high] == pytest.approx(values[[0, -1]], rel=5e-3)
    crew.close()


# -- what cannot be ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (np.eye(4), {}, "blocks of rows, got ndarray"),
        ([np.eye(4)[:2], np.eye(3)[:2]], {}, "equally many columns"),
        ([np.ones((4, 2))] * 2, {}, "two different samples"),
        ([np.full((4, 2), np.nan)], {}, "must be finite"),
        (["nowhere.npy"], {}, "cannot read block file"),
        ([np.eye(4)[:2]], {"affinity": "precomputed"}, "each must have 2 columns"),
        ([np.triu(np.ones((60, 60)))], {"affinity": "precomputed"}, "symmetric"),
        ([np.eye(4)], {"tau": "soft"}, "tau rule"),
        ([np.eye(4)], {"start": "random"}, "start"),
        ([np.eye(4)], {"start": "path"}, "compare many starts"),
        (
            [np.eye(4)],
            {"start": "path", "tau": "blocks", "proportions": "equal"},
            "needs S on one machine",
        ),
        ([np.eye(4)], {"affinity": KNNGraph(metric="cosine")}, "Euclidean"),
        ([np.eye(4)], {"outliers": 1.5}, "outliers must be a share"),
        (
            [np.eye(4)],
            {"outliers": 0.1, "start": "path", "tau": 0.5, "proportions": "equal"},
            "outliers need X, or S, on the driver",
        ),
    ],
)
def test_bad_input_gets_a_sentence(client, X, options, message):
    with pytest.raises(ValueError, match=message):
        BLoRD(2, client=client, **options).fit(X)


def fit_in_a_task(X):
    return BLoRD(2, **FEW).fit([X]).sizes_


def test_a_fit_in_the_only_thread_of_a_worker(client):
    future = client.submit(fit_in_a_task, DIGITS)
    with pytest.raises(ValueError, match="only thread of its worker"):
        future.result(timeout=60)


def fit_in_a_task_that_seceded(X):
    with worker_client() as client:
        return BLoRD(2, client=client, **FEW).fit([X]).sizes_


def test_a_task_that_gives_its_thread_back_may_fit(client):
    assert client.submit(fit_in_a_task_that_seceded, DIGITS).result(60).sum() == len(
        DIGITS
    )


def test_a_client_that_cannot_be_used(client):
    with pytest.raises(ValueError, match=r"Client, got 'tcp://.*'\. Pass"):
        BLoRD(2, client="tcp://127.0.0.1:8786").fit([DIGITS])
    other = Client(client.scheduler.address)
    other.close()
    with pytest.raises(ValueError, match="must be a connected"):
        BLoRD(2, client=other).fit([DIGITS])


def test_a_cluster_that_adapts():
    where = {"processes": False, "n_workers": 0, "dashboard_address": ":0"}
    with LocalCluster(**where) as cluster, Client(cluster) as client:
        with pytest.raises(ValueError, match="no workers"):
            BLoRD(2, client=client).fit([DIGITS])
        cluster.adapt(minimum=1, maximum=2)
        client.wait_for_workers(1)
        check_workers(client)  # one that will stay
        cluster.adapt(minimum=0, maximum=2)
        with pytest.raises(ValueError, match="go down to 0 of"):
            BLoRD(2, client=client).fit([DIGITS])
