"""A path that is stopped goes on, and ends in the same bits."""

import json
import random
import signal
import subprocess
import sys
import time
import tracemalloc
import zipfile
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from lordclust import LoRD, tau_path
from lordclust.files import InputError, read_archive, write_archive
from lordclust.graph import KNNGraph
from lordclust.solver import checkpoint as module
from lordclust.solver import kernels
from models import PAPER
from strategies import block_graph

CHILD = """
import sys
import numpy as np
from sklearn.datasets import load_digits
from lordclust import tau_path
from lordclust.graph import KNNGraph

S = KNNGraph().build(load_digits().data)
path = tau_path(S, 10, keep=[0.3, 1.0], tol=1e-6, checkpoint=sys.argv[1])
parts = {f"P{i}": P for i, P in enumerate(path.memberships.values())}
np.savez(sys.argv[2], taus=path.taus, objectives=path.objectives, labels=path.labels,
         n_iter=path.n_iter, residuals=path.residuals, **parts)
"""


class StopError(Exception):
    """Thrown in the middle of a path, as if the process had ended."""


def stop_after(count):
    """Return a callback that ends the path after so many taus, without mercy."""
    seen = []

    def callback(tau):
        seen.append(tau)
        if len(seen) > count:
            raise StopError

    return callback


def same(a, b):
    """Tell whether two paths are equal in every bit."""
    for field in fields(a):
        one, two = getattr(a, field.name), getattr(b, field.name)
        if field.name == "memberships":
            assert list(one) == list(two)
            one, two = np.array(list(one.values())), np.array(list(two.values()))
        one, two = np.asarray(one), np.asarray(two)
        assert one.dtype == two.dtype, field.name
        assert one.tobytes() == two.tobytes(), field.name
    return True


@pytest.fixture(scope="module")
def blocks():
    return block_graph(np.random.default_rng(0), [25, 20, 15], between=0.05)[0]


def test_killed_at_random_moments_it_ends_in_the_same_bits(tmp_path):
    saved, out = tmp_path / "path.ckpt", tmp_path / "out.npz"
    whole = tmp_path / "whole.npz"
    subprocess.run(
        [sys.executable, "-c", CHILD, tmp_path / "other.ckpt", whole], check=True
    )
    rng, kills = random.Random(1), 0
    for _ in range(40):
        process = subprocess.Popen([sys.executable, "-c", CHILD, saved, out])
        before, deadline = _stamp(saved), time.monotonic() + 60
        while kills < 4 and process.poll() is None and time.monotonic() < deadline:
            if _stamp(saved) != before:  # it has come on: any moment from here on
                time.sleep(rng.uniform(0, 0.15))
                process.send_signal(signal.SIGKILL)
                kills += 1
                break
            time.sleep(0.002)
        process.wait()
        if process.returncode == 0:
            break
    assert kills >= 2
    assert process.returncode == 0
    assert read_archive(saved)[0]["format"] == module.FORMAT
    one, two = np.load(whole), np.load(out)
    assert one.files == two.files
    for name in one.files:
        assert one[name].tobytes() == two[name].tobytes(), name


def _stamp(path):
    return path.stat().st_mtime_ns if path.exists() else 0


CASES = {
    "plain": {},
    "kept": {"keep": "all"},
    "some kept": {"keep": [0.1, 0.5]},
    "own taus": {"taus": np.linspace(0.02, 0.9, 9)},
    "late taus": {"taus": [0.3, 0.5, 0.7, 0.9]},
    "weights": {"sample_weight": np.arange(60.0)},
    "known": {"known_labels": np.r_[0, np.full(58, -1), 2]},
    "soft": {"proportions": (None, 1.0)},
    "shares": {"proportions": [0.5, 0.3, 0.2]},
    "short": {"max_iter": 5},
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("count", [0, 1, 3])
def test_stopped_anywhere_it_ends_in_the_same_bits(blocks, tmp_path, name, count):
    options, file = CASES[name], tmp_path / "path.ckpt"
    whole = tau_path(blocks, 3, random_state=1, **options)
    with pytest.raises(StopError):
        tau_path(
            blocks, 3, random_state=1, checkpoint=file, callback=stop_after(count),
            **options,
        )  # fmt: skip
    assert file.exists() == (count > 0)
    taus = []
    again = tau_path(
        blocks, 3, random_state=1, checkpoint=file, callback=taus.append, **options
    )
    assert taus == whole.taus[count:].tolist()
    assert same(again, whole)
    assert same(tau_path(blocks, 3, random_state=1, checkpoint=file, **options), whole)


def test_samples_that_were_renumbered(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4, 3))[rng.integers(4, size=5200)] * 3
    S, file = KNNGraph(5).build(X + rng.normal(size=X.shape)), tmp_path / "p.ckpt"
    taus = [0.02, 0.1, 0.2]
    whole = tau_path(S, 4, taus=taus, n_jobs=1)
    with pytest.raises(StopError):
        tau_path(S, 4, taus=taus, n_jobs=2, checkpoint=file, callback=stop_after(1))
    assert same(tau_path(S, 4, taus=taus, n_jobs=3, checkpoint=file), whole)


def test_a_path_ended_by_its_callback_can_be_gone_on_with(blocks, tmp_path):
    file = tmp_path / "p.ckpt"
    part = tau_path(blocks, 3, checkpoint=file, callback=lambda tau: tau > 0.1)
    assert part.taus[-1] < 0.3
    assert same(tau_path(blocks, 3, checkpoint=file), tau_path(blocks, 3))


# -- models ------------------------------------------------------------------------


def fitted(model):
    """Return what a fit left, bit by bit."""
    return {
        name: np.asarray(value).tobytes()
        for name, value in vars(model).items()
        if name.endswith("_") and name != "affinity_matrix_"
    }


@pytest.mark.parametrize(
    "model",
    [
        PAPER(4, tau=0.6, start="path"),
        PAPER(4, proportions=[0.4, 0.3, 0.2, 0.1], random_state=3, start="path"),
        PAPER(4, tau="n", n_init=2, start="path"),
        LoRD(4, start="path"),
    ],
    ids=["one path", "five paths", "two paths", "lord"],
)
def test_a_fit_goes_on(model, tmp_path, monkeypatch):
    X, file = load_digits().data[:150], tmp_path / "fit.ckpt"
    whole = fitted(model.fit(X))
    write, count = write_archive, iter(range(100))

    def stopping(*args, **kwargs):
        write(*args, **kwargs)
        if next(count) == 4:
            raise StopError

    monkeypatch.setattr(module, "write_archive", stopping)
    with pytest.raises(StopError):
        model.fit(X, checkpoint=file)
    assert file.exists()
    assert fitted(model.fit(X, checkpoint=file)) == whole
    assert fitted(model.fit(X, checkpoint=str(file))) == whole


def test_what_has_no_path_is_refused(tmp_path):
    X, file = load_digits().data[:60], tmp_path / "a.ckpt"
    for model in (
        PAPER(3, start="random"),
        LoRD(3, algorithm="paper"),
    ):
        with pytest.raises(ValueError, match="checkpoint saves a path, but start="):
            model.fit(X, checkpoint=file)
    with pytest.raises(ValueError, match='checkpoint saves a path to one tau, but "a'):
        PAPER(3, tau="auto").fit(X, checkpoint=file)


# -- refusals ----------------------------------------------------------------------


@pytest.fixture
def half(blocks, tmp_path):
    """A checkpoint of half a path."""
    file = tmp_path / "half.ckpt"
    with pytest.raises(StopError):
        tau_path(blocks, 3, checkpoint=file, callback=stop_after(3))
    return file


@pytest.mark.parametrize(
    "change",
    [
        {"n_clusters": 2},
        {"tol": 1e-5},
        {"random_state": 7},
        {"max_iter": 10},
        {"taus": [0.1, 0.5]},
        {"keep": "all"},
        {"proportions": [0.5, 0.3, 0.2]},
        {"sample_weight": np.arange(60.0)},
    ],
)
def test_another_problem_is_refused(blocks, half, change):
    options = {"n_clusters": 3} | change
    before = half.read_bytes()
    with pytest.raises(InputError, match="belongs to another problem: the graph, a pa"):
        tau_path(blocks, checkpoint=half, **options)
    assert half.read_bytes() == before


def test_another_graph_and_another_version_are_refused(blocks, half, monkeypatch):
    other = blocks.copy()
    other[0, 1] = other[1, 0] = other[0, 1] + 1e-9
    with pytest.raises(InputError, match="another problem"):
        tau_path(other, 3, checkpoint=half)
    monkeypatch.setattr(module, "__version__", "0.0.0")
    with pytest.raises(InputError, match=r"version of lordclust differs"):
        tau_path(blocks, 3, checkpoint=half)


def test_no_checkpoint_at_all(blocks, tmp_path):
    file = tmp_path / "note.txt"
    file.write_text("Dear diary")
    with pytest.raises(InputError, match=r"is not a checkpoint.*delete this one"):
        tau_path(blocks, 3, checkpoint=file)
    PAPER(2).fit(np.arange(8.0)[:, None]).save(tmp_path / "model.lord")
    with pytest.raises(InputError, match="not a checkpoint of version 1"):
        tau_path(blocks, 3, checkpoint=tmp_path / "model.lord")


def test_places_that_cannot_be_written(blocks, tmp_path):
    with pytest.raises(InputError, match="this is a folder"):
        tau_path(blocks, 3, checkpoint=tmp_path)
    with pytest.raises(InputError, match="there is no folder"):
        tau_path(blocks, 3, checkpoint=tmp_path / "none" / "a.ckpt")
    for bad in (3, "", "-", b"a"):
        with pytest.raises(TypeError, match="checkpoint must be the name of a file"):
            tau_path(blocks, 3, checkpoint=bad)
        with pytest.raises(TypeError, match="checkpoint must be the name of a file"):
            PAPER(2).fit([[0.0], [1.0], [5.0]], checkpoint=bad)


@settings(
    max_examples=40, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(at=st.floats(0, 1, exclude_max=True), flip=st.booleans())
def test_cut_or_damaged_files_are_told_in_one_sentence(blocks, half, at, flip):
    content = bytearray(half.read_bytes())
    place = int(at * len(content))
    if flip:
        content[place] ^= 0xFF
    other = half.with_name("broken.ckpt")
    other.write_bytes(content if flip else content[:place])
    told = ""
    try:
        path = tau_path(blocks, 3, checkpoint=other)
    except InputError as error:
        told = str(error)
    if not told:  # a flipped bit of no consequence
        assert same(path, tau_path(blocks, 3))
        return
    assert str(other) in told
    assert "\n" not in told
    assert "delete this one" in told


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("V", np.full((60, 3), np.nan)),
        ("V", np.full((60, 3), -1.0)),
        ("V", np.zeros((2, 3))),
        ("V", np.zeros((60, 3))),  # rows that sum to nothing became NaN
        ("V", np.full((60, 3), 1e300)),
        ("b", np.zeros(5)),
        ("memory", np.zeros(3)),
        ("memory", np.full(11, np.nan)),
        ("memory", np.full(11, 6e-301)),  # steps so short that multipliers ran away
        ("a", np.array([1e300, -1e300, 0])),
        ("counters", np.array([10**9, 1, 0, 0])),
        ("counters", np.array([3, 9, 0, 0])),
        ("counters", np.array([-1, 1, 0, 0])),
        ("history", np.zeros(1)),
        ("place", np.array([0.5, np.inf, 0, 0])),
        ("place", np.zeros(2)),
        ("place", np.array([2.0, 0.1, 0, 0])),
        ("ends", np.array([np.nan, 1])),
        ("ends", np.array([1.0, -1.0])),
        ("ends", np.array([8e-302, 2.6e-300])),  # steps without end
        ("rows.labels", np.full((3, 60), 200, dtype=np.uint8)),
        ("rows.numbers", np.zeros((6, 0))),
        ("rows.numbers", np.full((6, 3), np.nan)),
        ("kept.taus", np.array([0.1, 0.2])),
        ("kept.taus", np.array([0.777])),
        ("kept.0", np.zeros((2, 2))),
        ("kept.0", np.zeros((60, 3))),
    ],
)
def test_forged_parts_are_refused(blocks, half, name, value):
    document, arrays = read_archive(half)
    write_archive(half, document, arrays | {name: value}, force=True)
    with pytest.raises(InputError, match="its parts are inconsistent"):
        tau_path(blocks, 3, checkpoint=half)
    missing = {key: array for key, array in arrays.items() if key != name}
    write_archive(half, document, missing, force=True)
    with pytest.raises(InputError, match="its parts are inconsistent"):
        tau_path(blocks, 3, checkpoint=half)


@pytest.mark.parametrize("name", ["V", "a", "memory", "history", "kept.0"])
def test_numbers_of_another_type_are_refused(blocks, half, name):
    # For a history of them the solver was compiled anew, which takes half a minute.
    document, arrays = read_archive(half)
    for dtype in ("float16", "longdouble") if name == "kept.0" else ("float32",):
        other = {name: arrays[name].astype(dtype)}
        write_archive(half, document, arrays | other, force=True)
        with pytest.raises(InputError, match=rf"are inconsistent \({name}\)"):
            tau_path(blocks, 3, checkpoint=half)


def test_counts_that_are_none_are_refused(blocks, half):
    document, arrays = read_archive(half)
    arrays["rows.numbers"][2] = 1e308
    write_archive(half, document, arrays, force=True)
    with pytest.raises(InputError, match=r"are inconsistent \(rows.numbers\)"):
        tau_path(blocks, 3, checkpoint=half)


def test_a_tau_that_is_done_is_not_done_again(blocks, half):
    document, arrays = read_archive(half)
    arrays["place"][0] = arrays["rows.numbers"][0, -1]
    write_archive(half, document, arrays, force=True)
    with pytest.raises(InputError, match=r"are inconsistent \(taus\)"):
        tau_path(blocks, 3, checkpoint=half)


@pytest.mark.parametrize("step", [0.0, 1e-320])
def test_steps_that_lead_nowhere_become_the_smallest(blocks, half, step):
    document, arrays = read_archive(half)
    arrays["place"][1] = step
    write_archive(half, document, arrays, force=True)
    path = tau_path(blocks, 3, checkpoint=half)
    assert path.taus[-1] == 1
    assert (np.diff(path.taus) > 0.01).all()


@pytest.mark.parametrize(
    "change", [lambda t: t[::-1], lambda t: t + 1, lambda t: 0 * t]
)
def test_taus_that_do_not_rise_are_refused(blocks, half, change):
    document, arrays = read_archive(half)
    numbers = arrays["rows.numbers"].copy()
    numbers[0] = change(numbers[0])
    write_archive(half, document, arrays | {"rows.numbers": numbers}, force=True)
    with pytest.raises(InputError, match=r"are inconsistent \(taus\)"):
        tau_path(blocks, 3, checkpoint=half)


def test_the_file_holds_arrays_and_json_alone(half):
    with zipfile.ZipFile(half) as archive:
        names = archive.namelist()
        document = json.loads(archive.read("document.json"))
    assert {name.rpartition(".")[2] for name in names} == {"json", "npy"}
    assert document["format"] == "lordclust checkpoint"


def test_ends_that_are_found_roughly_are_no_forgery(tmp_path):
    """Of a regular graph the quotient is the largest eigenvalue itself."""
    S, path = np.ones((60, 60)) + 900 * np.eye(60), tmp_path / "run.ckpt"
    with pytest.raises(KeyboardInterrupt):
        tau_path(S, 3, taus=[0.2, 0.4, 0.6], checkpoint=path, callback=interrupt)
    document, arrays = read_archive(path)
    ends, memory = arrays["ends"] * [1.0, 1 - 1e-3], arrays["memory"].copy()
    memory[kernels.STEP] *= np.ptp(arrays["ends"]) / np.ptp(ends)
    rough = arrays | {"ends": ends, "memory": memory}
    write_archive(path, document, rough, force=True)
    assert len(tau_path(S, 3, taus=[0.2, 0.4, 0.6], checkpoint=path).taus) == 3


def interrupt(tau):
    if tau > 0.3:
        raise KeyboardInterrupt


def test_a_bomb_is_not_unpacked(tmp_path):
    path = tmp_path / "p.ckpt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("document.json", '{"x": [' + "[]," * 2**23 + "[]]}")
    for read in (module.exists, lambda path: module.Checkpoint(path, "")):
        tracemalloc.start()
        with pytest.raises(InputError, match="its document is longer than 8 MB"):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 10 * 2**20
        tracemalloc.stop()
