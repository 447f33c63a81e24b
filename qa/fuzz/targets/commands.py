"""Command lines of ``lordclust``: exit codes, messages, and complete files."""

import json
import os
import re
import shutil
import tempfile
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from click.testing import CliRunner
from hypothesis import strategies as st

from lordclust import BLoRD, files
from lordclust.cli.app import main
from lordclust.cli.exits import BAD_INPUT, FAILED, NOT_CONVERGED, USAGE
from lordclust.methods._saving import load_model
from qa.fuzz.outcome import Outcome, require, require_finite

SECONDS = 60.0
CODES = {0: "done", FAILED: "failed", USAGE: "usage", BAD_INPUT: "bad input",
         NOT_CONVERGED: "not converged"}  # fmt: skip
#: What options write, whatever the name; otherwise the suffix determines it.
KINDS = {"--model": ".lord", "--report": ".html", "--json": ".json"}
_NAN = re.compile(r"\bnan\b", re.IGNORECASE)
OLD = "this file was here before\n"
#: Names of outputs; those that begin with "old" exist already.
_OUTPUTS = [
    "new.csv", "new.tsv", "new.parquet", "new.npy", "new.npz", "old.csv", "old.lord",
    "new.lord", "new.html", "new.json", "-", "no/new.csv", "new.doc", ".", "",
    "points.csv", "new", "é.csv", "new.csv.gz",
]  # fmt: skip
_INPUTS = [
    "points.csv", "points.csv", "points.csv", "points.npy", "graph.mtx", "graph.edges",
    "bare.csv", "text.csv", "empty.csv", "binary.csv", "nan.csv", "one.csv", "no.csv",
    "-", ".", "broken.npz", "odd.csv", "messy.csv", "messy.csv", "messy.csv",
    "messy.xlsx",
]  # fmt: skip
_MODELS = ["model.lord", "model.lord", "graph.lord", "broken.lord", "points.csv", "no"]
_NUMBERS = [
    "2",
    "3",
    "1",
    "0",
    "-1",
    "12",
    "1000",
    "2.5",
    "x",
    "",
    "1e400",
    "nan",
    "auto",
]
_COLUMNS = [
    "x",
    "y",
    "class",
    "name",
    "weight",
    "known",
    "x,y",
    "0",
    "no",
    "",
    "array:X",
]
_READING: dict[str, list[Any]] = {
    "--drop": ["plan", "paid", "x", "plan,since", *_COLUMNS],
    "--categorical": ["plan", "plan", "class", "plan,active", *_COLUMNS],
    "--missing": ["median", "median", "drop", "error", "no"],
    "--encoding": ["utf-8", "cp1252", "utf-16", "no"],
    "--decimal": [".", ",", "x"],
    "--header": ["yes", "no", "auto", "x"],
    "--columns": _COLUMNS,
    "--id-column": _COLUMNS,
    "--label-column": ["class", "class", *_COLUMNS],
    "--format": ["csv", "npy", "mtx", "no", ""],
}
_SOLVING: dict[str, list[Any]] = {
    "-k": ["2", "3", *_NUMBERS],
    "--weight-column": ["weight", *_COLUMNS],
    "--known-labels": ["known", *_COLUMNS],
    "--precomputed": [None],
    "--affinity": ["knn", "self_tuning", "precomputed", "no"],
    "--neighbors": _NUMBERS,
    "--seed": _NUMBERS,
    "--jobs": ["1", "2", "0", "-1", "x"],
    "--scale": ["minmax", "zscore", "none", "auto", "no"],
}
_SHARES = ["0.5,0.5", "0.2,0.8", "equal", "auto", "1", "0,1", "a,b", "", "nan,1", "no",
           "0.3,0.3,0.4", "points.csv", "model"]  # fmt: skip
_SIZES = ["6,6", "4,8", "12", "0,12", "-1,13", "a", "", "6,6,0", "1e3"]
_BOUNDS = ["1", "3", "5", "0.2", "0.6", "2,4", "100", "-1", "x", ""]
_LINKS = ["pairs.csv", "pairs.csv", "points.csv", "empty.csv", "no.csv", "-"]
_TAUS = ["0", "0.3", "1", "auto", "n", "blocks", "2", "-1", "nan", ""]
_METHODS = ["blord", "lord", "sc", "ncut", "gmm", "kkm", "balanced_kmeans", "no", ""]
_COMMON: dict[str, list[Any]] = {"--force": [None], "-q": [None], "--no-such": [None],
                                 "--help": [None]}  # fmt: skip
#: The commands: their arguments, and their options with valid and invalid values.
COMMANDS: dict[str, tuple[list[list[str]], dict[str, list[Any]]]] = {
    "fit": (
        [_INPUTS],
        _READING | _SOLVING | _COMMON | {
            "--proportions": _SHARES, "--cluster-sizes": _SIZES, "--tau": _TAUS,
            "--strength": _NUMBERS, "--rounding": ["argmax", "exact", "no"],
            "--method": _METHODS, "-o": _OUTPUTS, "--proba": _OUTPUTS,
            "--model": ["new.lord", *_OUTPUTS], "--report": ["new.html", *_OUTPUTS],
            "--json": ["new.json", *_OUTPUTS], "--strict": [None], "--join": [None],
            "--outliers": ["0.1", "auto", "0.9", "1", "x"], "--size-min": _BOUNDS,
            "--size-max": _BOUNDS, "--must-link": _LINKS, "--cannot-link": _LINKS,
            "--links": ["soft", "hard", "no"], "--profiles": _OUTPUTS,
            "--names": ["a,b", "a,b,c", "a,a", "", "\x1b[31m,b"],
            "--title": ["A title", "", "<b>"],
        },
    ),
    "predict": (
        [_MODELS, _INPUTS],
        _READING | _COMMON | {
            "--proportions": _SHARES, "--cluster-sizes": _SIZES, "-o": _OUTPUTS,
            "--proba": _OUTPUTS,
        },
    ),
    "path": (
        [_INPUTS],
        _READING | _SOLVING | _COMMON | {
            "--proportions": _SHARES, "--strength": _NUMBERS, "-o": _OUTPUTS,
            "--labels": _OUTPUTS, "--taus": ["0.2:1:0.4", "0.5", "1:0:1", "x", ""],
        },
    ),
    "compare": (
        [_INPUTS],
        _READING | _SOLVING | _COMMON | {
            "--methods": ["sc", "blord,sc", "no", "", "gmm,kkm"], "-o": _OUTPUTS,
            "--json": [None], "--report": _OUTPUTS,
        },
    ),
    "layers": (
        [_INPUTS],
        _READING | _COMMON | {
            "--k-max": _NUMBERS, "-o": _OUTPUTS, "--affinity": _SOLVING["--affinity"],
            "--scale": _SOLVING["--scale"],
        },
    ),
    "suggest": (
        [_INPUTS],
        _READING | _COMMON | {
            "--max-clusters": _NUMBERS, "--json": [None], "--precomputed": [None],
            "--weight-column": ["weight", *_COLUMNS],
        },
    ),
    "report": ([_MODELS, [*_INPUTS, None]], _READING | _COMMON | {"-o": _OUTPUTS}),
    "list": ([["methods", "datasets", "no", None]], {"--json": [None]}),
    "no-such-command": ([[None]], {}),
}  # fmt: skip
_WEIGHTS = ["fit"] * 6 + ["predict"] * 4 + ["path"] * 2 + ["report"] + list(COMMANDS)


def prepare() -> None:
    """Write the files and run each command once."""
    folder()
    for line in (
        ["fit", "points.csv", "-k", "2", "--report", "new.html", "-o", "new.csv"],
        ["predict", "model.lord", "points.csv", "--proba", "new.parquet"],
        ["path", "points.csv", "-k", "2", "--taus", "0.5", "--label-column", "class"],
        ["compare", "points.csv", "-k", "2", "--methods", "blord,sc,gmm"],
        ["report", "model.lord", "-o", "new.html"],
        ["layers", "points.csv", "--label-column", "class", "--k-max", "3"],
        ["suggest", "points.csv", "--label-column", "class"],
        ["fit", "messy.xlsx", "-k", "2", "--missing", "median"],
    ):
        check({"line": line, "input": b""})


@cache
def folder() -> Path:
    """Create the folder of inputs of each command line."""
    place = Path(tempfile.mkdtemp(prefix="commands-"))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 2)) + np.repeat([[0.0], [6.0]], 6, axis=0)
    known = [str(i // 6) if i % 4 == 0 else "" for i in range(12)]
    lines = [f"s{i},{a!r},{b!r},{'uv'[i // 6]},{1 + i % 3},{known[i]}"
             for i, (a, b) in enumerate(X.tolist())]  # fmt: skip
    head = "name,x,y,class,weight,known\n"
    texts = {
        "points.csv": head + "\n".join(lines) + "\n",
        "bare.csv": "\n".join(f"{a!r},{b!r}" for a, b in X.tolist()) + "\n",
        "text.csv": "a,b\nx,y\nz,w\n",
        "empty.csv": "",
        "nan.csv": "x,y\n1,nan\n2,3\n",
        "one.csv": "x,y\n1,2\n",
        "odd.csv": "\x1b[31m,label\n1,2\n3,4\n5,1e308\n",
        "graph.edges": "".join(f"{i} {(i + 1) % 12}\n" for i in range(12)),
        "graph.mtx": "%%MatrixMarket matrix coordinate real symmetric\n12 12 11\n"
        + "".join(f"{i + 2} {i + 1} 1.5\n" for i in range(11)),
        "messy.csv": "customer_id,plan,active,paid,since,class\n"
        + "".join(
            f"C-{i},{'' if i == 7 else 'ab'[i % 2]},{['yes', 'no'][i // 6]},"
            f"{'n/a' if i == 3 else f'${100 * i + 0.5:.2f}'},2024-{1 + i:02d}-15,"
            f"{'uv'[i // 6]}\n"
            for i in range(12)
        ),
        "pairs.csv": "s0,s1\ns2,s9\n",
        "old.csv": OLD,
        "old.lord": OLD,
    }
    for name, text in texts.items():
        (place / name).write_text(text, encoding="utf-8")
    np.save(place / "points.npy", X)
    pd.read_csv(place / "messy.csv").to_excel(place / "messy.xlsx", index=False)
    BLoRD(2, tau=0.5).fit(X).save(place / "model.lord")
    S = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    BLoRD(2, affinity="precomputed").fit(S).save(place / "graph.lord")
    complete = (place / "model.lord").read_bytes()
    (place / "broken.lord").write_bytes(complete[: len(complete) // 2])
    (place / "broken.npz").write_bytes(b"PK\x03\x04" + bytes(40))
    (place / "binary.csv").write_bytes(bytes(range(256)))
    return place


def cases() -> Any:
    """Return command lines and standard inputs."""
    return _case()


@st.composite
def _case(draw: Any) -> dict[str, Any]:
    command = draw(st.sampled_from(_WEIGHTS))
    arguments, options = COMMANDS[command]
    line = [command]
    if "-k" in options and draw(st.integers(0, 9)):
        line += ["-k", draw(st.sampled_from(["2", "2", "3"]))]
    if {"points.csv", "messy.csv", "messy.xlsx"} & set(
        given := [draw(st.sampled_from(a)) for a in arguments]
    ) and draw(st.integers(0, 4)):
        line += ["--label-column", "class"]
    line += [name for name in given if name is not None]
    for option in draw(st.lists(st.sampled_from([*options, None]), max_size=4)):
        if option is not None:
            value = draw(st.sampled_from(options[option]))
            line += [option] if value is None else [option, value]
    stdin = draw(st.sampled_from([b"", b"x,y\n1,2\n3,4\n5,6\n", b"\xff\x00"]))
    return {"line": line, "input": stdin}


def check(case: dict[str, Any]) -> Outcome:
    """Run a command line in a folder of its own, and check what it leaves."""
    with tempfile.TemporaryDirectory(prefix="line-") as place:
        shutil.copytree(folder(), place, dirs_exist_ok=True)
        before, back = _contents(Path(place)), os.getcwd()
        os.chdir(place)
        try:
            result = CliRunner().invoke(main, case["line"], input=case["input"])
            after = _contents(Path(place))
            _check_ending(result)
            _check_files(case["line"], result.exit_code, before, after)
        finally:
            os.chdir(back)
    return Outcome(case["line"][0], CODES[result.exit_code])


def _contents(place: Path) -> dict[str, bytes]:
    """Return all files below a folder."""
    return {str(p.relative_to(place)): p.read_bytes()
            for p in place.rglob("*") if p.is_file()}  # fmt: skip


def _check_ending(result: Any) -> None:
    """Fail unless a command ends with a documented exit code and a message."""
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    words = result.stderr
    require(result.exit_code in CODES, "the exit code is documented", result.exit_code)
    require("Traceback" not in words, "no traceback is shown", words[-500:])
    require("LORDCLUST_DEBUG" not in words, "no error is unexpected", words[-500:])
    plain = words.replace("\n", " ").replace("\t", " ")
    require(plain.isprintable(), "messages are printable", ascii(words[-500:]))
    require(result.exit_code == 0 or words.strip(), "a failure has a message")
    shown = result.stdout
    require(not _NAN.search(shown), "no NaN is printed", shown[:500])


def _check_files(
    line: list[str], code: int, before: dict[str, bytes], after: dict[str, bytes]
) -> None:
    """Fail unless files are complete and kept, and a failure leaves nothing."""
    changed = {n for n in after if after[n] != before.get(n)}
    require(set(before) <= set(after), "no file is lost", set(before) - set(after))
    require(not any(".part" in n for n in changed), "no partial file is left", changed)
    if code != 0:
        require(not changed, "a command that fails writes nothing", changed)
        return
    known = changed & set(before)
    require("--force" in line or not known, "old files are kept", known)
    require(changed <= {str(Path(x)) for x in line}, "only named files are written",
            changed)  # fmt: skip
    named = {value: KINDS.get(word) for word, value in pairwise(line)}
    for name in changed:
        kind = {Path(value): kind for value, kind in named.items()}[Path(name)]
        _check_complete(Path(name), kind or Path(name).suffix)


def _check_complete(path: Path, kind: str) -> None:
    """Fail unless a file is complete and of the requested kind."""
    if kind == ".json":
        json.loads(path.read_text(), parse_constant=_refuse)
    elif kind == ".html":
        require(path.read_text().rstrip().endswith("</html>"), "the page is complete")
    elif kind == ".lord":
        load_model(path)
    elif kind in (".csv", ".tsv"):
        text = path.read_text()
        require(text.endswith("\n") and not _NAN.search(text), "the table is complete")
    elif kind == ".npy":
        require_finite(np.load(path), "the array")
    elif kind == ".parquet":
        files.read(path, missing="keep")  # a method may have no evidence


def _refuse(word: str) -> Any:
    raise ValueError(f"JSON contains {word}")
