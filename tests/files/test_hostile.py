"""Hostile files of every format: refused with one sentence, in bounded memory and time.

All are read by one process of its own, whose memory is bounded by the system: a crash
there fails the tests, and does not end them.
"""

import json
import subprocess
import sys

import hostile
import pytest

from lordclust.files import InputError, read

resource = pytest.importorskip("resource", reason="needs limits of the system")

#: Bytes of memory beyond what the libraries take, and seconds of work, for one file
#: and for all. The system limits what is reserved; PEAK, promised by SECURITY.md, is
#: what is used, in MB.
MEMORY, SECONDS, ALL, PEAK = 1500 * 2**20, 10.0, 120, 800

#: Part of the message, where it matters which one it is.
SAID = {
    "shape.npy": "claims an array of shape (1000000000000, 1000000)",
    "negative.npy": "claims an array of shape (-1, -2)",
    "pickled.npy": "could run any code",
    "pickled.npz": "could run any code",
    "pickled.lord": "could run any code",
    "claim.npz": "claims an array of shape (1000000000000,)",
    "bomb.npz": "it unpacks to more than the",
    "narrow.npz": "it unpacks to more than the",
    "together.npz": "it unpacks to more than the",
    "lines.csv.gz": "it cannot be read as csv (CRC check failed",
    "lines.edges.gz": "it cannot be read as edges (CRC check failed",
    "lzma.npz": "compressed in a way that numpy does not use",
    "rows.npz": "not plausible",
    "csc.npz": "must be <",
    "bomb.mat": "an array claims more than it holds",
    "claim.mat": "an array claims more than it holds",
    "claims.mat": "it unpacks to more than the",
    "nested.mat": "two arrays have the same name",
    "wild.mat": "must be <",
    "columns.mat": "the parts of an array do not fit",
    "type.mat": "the parts of an array do not fit",
    "values.mat": "the parts of an array do not fit",
    "imaginary.mat": "the parts of an array do not fit",
    "shape.mat": "claims an array 'X' of shape",
    "shape.mtx": "not plausible",
    "entries.mtx": "claims 99999999999 entries",
    "bomb.mtx.gz": "Unpack it first (gunzip) if it is yours",
    "line.csv.gz": "a line is longer than 64 million characters",
    "endless.csv": "a line is longer than 64 million characters",
    "cells.csv": "4000000 cells that a row of text may have",
    "folded.csv.gz": "4000000 cells that a row of text may have",
    "rows.csv.gz": "Unpack it first (gunzip) if it is yours",
    "quote.csv.gz": "Look for a quotation mark that is not closed",
    "rows.edges.gz": "Unpack it first (gunzip) if it is yours",
    "wide.lord": "its document is longer than 8 MB",
    "outside.lord": "an array is called '../x'",
    "h5ad/external.h5ad": "links 'X' to another place or file",
    "h5ad/storage.h5ad": "takes 'X' from another file",
    "h5ad/virtual.h5ad": "takes 'X' from another file",
    "h5ad/circle.h5ad": "links 'again' to another place or file",
    "h5ad/laughs.h5ad": "groups in groups without end",
    "h5ad/often.h5ad": "it unpacks to more than",
    "h5ad/wild.h5ad": "must be <",
    "h5ad/length.h5ad": "claims a text in 's' that it does not hold",
    "h5ad/attribute.h5ad": "claims a text in 'encoding-type' that it does not hold",
    "h5ad/chunk.h5ad": "packs more into 'a' than it claims",
    "parquet/rows.parquet": "more than the",
    "parquet/lists.parquet": "features must be numbers",
    "parquet/fixed.parquet": "features must be numbers",
}
#: What is only large: it is read, in bounded memory.
READ = {"parquet/words.parquet", "parquet/cells.parquet", "lists.lord"}

READER = """
import json, os, resource, sys, time, warnings
import anndata, pyarrow.parquet, scipy.io
from lordclust.files import InputError, read, read_archive
warnings.simplefilter("error")
warnings.filterwarnings("ignore", "The 'future.infer_string'")  # anndata, a new pandas
with open("/proc/self/statm") as file:
    now = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + int(sys.argv[1]),) * 2)
resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[2]),) * 2)
def status(word):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(word))
for name in sys.stdin.read().splitlines():
    print(json.dumps([name, "crashed", 0.0, 0.0]), flush=True)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # begin to measure the peak
    before = status("VmRSS")
    begin = time.process_time()
    try:
        if name.endswith(".lord"):
            read_archive(name)
        else:
            read(name, label_column="y" if "words.parquet" in name else None)
        end = "read"
    except InputError as error:
        end = str(error)
    except BaseException as error:
        end = f"raised {error!r}"
    peak = (status("VmHWM") - before) / 1024
    print(json.dumps([name, end, time.process_time() - begin, peak]), flush=True)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture(scope="module")
def ends(folder):
    """The outcome for each file, with the seconds and the memory it took."""
    if not sys.platform.startswith("linux"):
        pytest.skip("memory is bounded on Linux only")
    pytest.importorskip("anndata")
    pytest.importorskip("pyarrow")
    names = hostile.make(folder, folder / "mark")
    done = subprocess.run(
        [sys.executable, "-c", READER, str(MEMORY), str(ALL)],
        input="\n".join(names), capture_output=True, text=True, cwd=folder, check=False,
        env={"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    found = {name: tuple(rest) for name, *rest in
             map(json.loads, done.stdout.splitlines())}  # fmt: skip
    assert list(found) == names, done.stderr
    return found


def test_all_are_refused_with_a_sentence(ends):
    wrong = {n: end for n, (end, *_) in ends.items()
             if n not in READ and not end.startswith(f"{n}: ")}  # fmt: skip
    assert wrong == {}
    assert {n: ends[n][0] for n in READ if ends[n][0] != "read"} == {}


def test_the_sentence_says_what_is_wrong(ends):
    assert {n: ends[n][0] for n, said in SAID.items() if said not in ends[n][0]} == {}


def test_the_sentence_is_short_and_does_nothing(ends):
    assert all(len(end) < 1100 and end.isprintable() for end, *_ in ends.values())


def test_names_do_nothing_to_a_terminal(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"a\x1b]0;owned\x07\x1b[2J,b\n1,2\n3,4\n")
    with pytest.raises(InputError) as caught:
        read(path, columns="c")
    assert r"columns a\x1b]0;owned\x07\x1b[2J, b" in str(caught.value)


def test_it_is_soon_over(ends):
    assert {n: s for n, (_, s, _) in ends.items() if s > SECONDS} == {}


def test_memory_is_bounded(ends):
    assert {n: mb for n, (_, _, mb) in ends.items() if mb > PEAK} == {}


def test_nothing_was_run(ends, folder):
    assert not (folder / "mark").exists()
