"""Fits in threads: the same bits as alone, in a server too, and signals elsewhere."""

import json
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config

import digests
from lordclust import BLoRD, LoRD, list_methods
from lordclust.cli.app import main
from models import PAPER

TASKS = [
    lambda: PAPER(4, tau=0.3).fit(digests.SMALL),
    lambda: LoRD(4).fit(digests.SMALL),
    lambda: PAPER(5, tau=0.3, tol=1e-3, n_jobs=2).fit(digests.LARGE),
    lambda: BLoRD(4, cluster_sizes=[30, 20, 20, 20], tau=1.0).fit(digests.SMALL),
]
ONE_THREAD_HEARS = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(),
    reason="signals reach the main thread only",
)


def run(task):
    return digests.of_model(TASKS[task]())


def test_different_fits_at_once():
    alone = [run(task) for task in range(len(TASKS))]
    order = [3, 0, 2, 1, 0, 3, 1, 2]
    with ThreadPoolExecutor(len(order)) as pool:
        assert list(pool.map(run, order)) == [alone[task] for task in order]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_method_at_once():
    """Methods share compiled code, but no arrays."""

    def labels(name):
        return digests.quick(name).fit(digests.SMALL[:30]).labels_.tolist()

    names = [name for name in list_methods() if name not in ("lord", "blord")]
    alone = [labels(name) for name in names]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(labels, names)) == alone


def test_threads_of_joblib():
    alone = [run(task) for task in (0, 1)]
    with parallel_config("threading", n_jobs=2):
        assert Parallel()(delayed(run)(task) for task in (0, 1, 0, 1)) == alone * 2


# -- a server -------------------------------------------------------------------------


class Clusters(BaseHTTPRequestHandler):
    """Answers a list of samples with their memberships."""

    def do_POST(self):
        wish = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            model = PAPER(wish["k"], tau=0.3).fit(wish["X"])
            status, answer = 200, {"membership": model.membership_.tolist()}
        except ValueError as error:
            status, answer = 400, {"error": str(error)}
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Clusters) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def ask(address, X, k):
    body = json.dumps({"X": np.asarray(X).tolist(), "k": k}).encode()
    with urlopen(Request(address, body), timeout=120) as answer:
        return np.array(json.load(answer)["membership"])


def test_requests_at_once(server):
    """JSON keeps every bit of a float, so answers are those of a fit alone."""
    parts = [digests.SMALL[start : start + 60] for start in range(0, 30, 5)]
    with ThreadPoolExecutor(len(parts)) as pool:
        answers = list(pool.map(lambda X: ask(server, X, 3), parts))
    for X, P in zip(parts, answers, strict=True):
        np.testing.assert_array_equal(
            P,
            PAPER(3, tau=0.3).fit(X).membership_,
        )


def test_a_bad_request_harms_no_other(server):
    with ThreadPoolExecutor(4) as pool:
        bad = [pool.submit(ask, server, [[0.0], [1.0]], 5) for _ in range(2)]
        good = [pool.submit(ask, server, digests.SMALL, 4) for _ in range(2)]
    for request in bad:
        with pytest.raises(HTTPError, match="400") as caught:
            request.result()
        caught.value.close()  # its socket would be missed by a later test
    np.testing.assert_array_equal(good[0].result(), good[1].result())


# -- signals --------------------------------------------------------------------------


@pytest.fixture
def ctrl_c():
    """Let Ctrl-C be heard also where a shell in the background had it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@ONE_THREAD_HEARS
@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_while_another_thread_fits():
    """The main thread hears it; the fit goes on to the same end."""
    alone = run(2)
    with ThreadPoolExecutor(1) as pool:
        fit = pool.submit(run, 2)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert fit.result() == alone


@ONE_THREAD_HEARS
@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_a_fit(n_jobs):
    """In a fit of many threads too; none is left, and the next fit is as before."""
    alone, before = run(0), threading.active_count()
    endless = PAPER(5, start="path", tau=0.9, tol=1e-300, max_iter=10**8, n_jobs=n_jobs)
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        endless.fit(digests.LARGE)
    timer.join()
    assert threading.active_count() == before
    assert run(0) == alone


def test_the_command_in_a_thread(tmp_path):
    """Handlers of signals can be set in the main thread only: it does without."""
    table = tmp_path / "points.csv"
    np.savetxt(table, digests.SMALL, delimiter=",")
    arguments = ["fit", str(table), "-k", "3", "-o", str(tmp_path / "labels.csv"), "-q"]

    def command():
        return main(arguments, standalone_mode=False)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(command).result()
    assert len((tmp_path / "labels.csv").read_text().splitlines()) == 91
