"""The readers, guided by coverage: atheris keeps the inputs that reach new lines.

The first byte chooses the format; the rest is the file, or what is packed in it.
Needs ``pip install atheris``, which is libFuzzer for Python.
"""

import gzip
import os
import signal
import time
from pathlib import Path
from typing import Any

from qa.fuzz.outcome import Outcome

SECONDS = 10.0
GUIDED = True
#: Instrumented packages: our readers, and the Python parts of what they call.
INSTRUMENTED = ["lordclust.files", "scipy.io", "zipfile"]


def _as_member(data: bytes) -> bytes:
    from qa.fuzz import seeds

    return seeds.packed([("X.npy", data)])


#: How bytes become a file: as they are, packed, or as the member of an archive.
FORMATS: list[tuple[str, Any]] = [
    ("x.csv", bytes),
    ("x.tsv", bytes),
    ("x.edges", bytes),
    ("x.mtx", bytes),
    ("x.npy", bytes),
    ("x.npz", bytes),
    ("x.mat", bytes),
    ("x.parquet", bytes),
    ("x.h5ad", bytes),
    ("x.csv.gz", lambda data: gzip.compress(data, 1, mtime=0)),
    ("x.npz", _as_member),
]


def prepare() -> None:
    """Import the readers, so that atheris sees which lines an input reaches."""
    import atheris

    with atheris.instrument_imports(include=INSTRUMENTED):
        from qa.fuzz.targets import readers

        readers.prepare()  # the formats are imported when they are first read


def case_of(data: bytes) -> dict[str, Any]:
    """Return the input that libFuzzer's bytes encode."""
    name, build = FORMATS[data[0] % len(FORMATS) if data else 0]
    return {"name": name, "content": build(data[1:]), "options": {}}


def check(case: dict[str, Any]) -> Outcome:
    """Read a file, as the target ``readers`` does."""
    from qa.fuzz.targets import readers

    return readers.check(case)


def corpus(folder: Path) -> None:
    """Write the valid files as libFuzzer's corpus."""
    from qa.fuzz import seeds

    for name, content in seeds.files().items():
        for number, (example, build) in enumerate(FORMATS):
            if build is bytes and name.partition(".")[2] == example.partition(".")[2]:
                (folder / f"{number}-{name}").write_bytes(bytes([number]) + content)
            packed = example.endswith(".npz") and build is not bytes
            if packed and name.endswith(".npy"):
                (folder / f"{number}-{name}").write_bytes(bytes([number]) + content)


def drive(session: Any, inputs: int, seed: int, end: float) -> None:
    """Let libFuzzer generate inputs; its loop is endless, so exit from within."""
    import atheris

    folder = Path("corpus")
    folder.mkdir()
    corpus(folder)

    def once(data: bytes) -> None:
        # atheris ends the process when its timer rings, although it has no limit.
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        session.run(case_of(data))
        if session.count >= inputs or time.time() > end:
            session.after()
            os._exit(0)

    options = [
        "-timeout=0",
        "-rss_limit_mb=0",
        "-print_final_stats=0",
        "-max_len=16384",
    ]
    atheris.Setup(["guided", f"-seed={seed + 1}", *options, str(folder)], once)
    atheris.Fuzz()
