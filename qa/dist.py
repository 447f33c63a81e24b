"""Build the project, and try the wheel as a new user would.

The wheel is installed into an empty environment, in a folder whose name has spaces and
non-ASCII letters. That folder, including the home folder in it, is then made read-only,
so that numba cannot write its cache. Warnings are errors. The environment that runs
``python -m qa.dist`` needs the packages build, twine and mypy: see ``make dist``.
"""

import os
import shutil
import subprocess  # all commands are fixed  # nosec B404
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = "Prüfung – das Rad läuft"
#: Largest size of the sdist in kilobytes.
MOST = 2_000
#: Files that the sdist must contain to be built and tested.
NEEDED = ("pyproject.toml", "README.md", "LICENSE", "SECURITY.md", "Makefile",
          "src/lordclust/py.typed", "tests/conftest.py", "qa/dist.py")  # fmt: skip

#: An environment without traces of other installations.
BARE = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}

FIT = """
import time
begin = time.perf_counter()
import numpy as np
from lordclust import BLoRD
X = np.random.default_rng(0).normal(size=(60, 3)) + 9.0 * (np.arange(60) % 3)[:, None]
model = BLoRD(3).fit(X)
assert model.sizes_.tolist() == [20, 20, 20], model.sizes_
print(f"a fit in a fresh process: {time.perf_counter() - begin:.1f} s")
"""

USER = """
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lordclust
from lordclust import BLoRD, files, tau_path
from lordclust.report import write_report


def clusters(path: Path, k: int) -> NDArray[np.integer[Any]]:
    table: files.Table = files.read(path, label_column="kind")
    model = BLoRD(k, tau=0.3).fit(table.X)
    model.save(path.with_suffix(".lord"), force=True)
    again: BLoRD = BLoRD.load(path.with_suffix(".lord"))
    page: Path = write_report(path.with_suffix(".html"), again, X=table.X)
    print(page, lordclust.__version__, tau_path(np.eye(4), 2).taus)
    labels: NDArray[np.integer[Any]] = again.predict(table.X)
    return labels
"""
WRONG = USER + "\n\nfiles.read(3)\nBLoRD(2).save(path=None)\n"


def demand(condition: bool, message: str) -> None:
    """Exit with a message unless a condition holds."""
    if not condition:
        sys.exit(message)


def run(*command: object, cwd: Path = ROOT, **env: str) -> str:
    """Run a command; return its output, or exit with its errors."""
    words = [str(word) for word in command]
    done = subprocess.run(  # all commands are fixed  # nosec B603
        words, cwd=cwd, env=env or None, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(words[:6])} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def build() -> Path:
    """Build both archives and check their contents; return the wheel."""
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", ROOT / "dist", ROOT)
    (wheel,), (source,) = ROOT.glob("dist/*.whl"), ROOT.glob("dist/*.tar.gz")
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, source)
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}
        demand("lordclust/py.typed" in archive.namelist(), "py.typed is missing")
    about = f"{wheel.name.removesuffix('-py3-none-any.whl')}.dist-info"
    demand(tops == {"lordclust", about}, f"the wheel contains {tops}")
    with tarfile.open(source) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    missing = set(NEEDED) - names
    demand(not missing, f"the sdist lacks {missing}")
    sizes = [path.stat().st_size // 1000 for path in (wheel, source)]
    demand(sizes[1] < MOST, f"the sdist has {sizes[1]} kB")
    print(f"built {wheel.name}, {sizes[0]} kB, and {source.name}, {sizes[1]} kB")
    return wheel


def install(wheel: Path, place: Path) -> Path:
    """Install the wheel into an empty environment; return its Python."""
    venv.create(place / "env", with_pip=True, symlinks=os.name == "posix")
    python = place / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", f"{wheel}[plot]")
    (place / "home").mkdir()
    return python


def frozen(place: Path) -> list[str]:
    """Return the prefix of a command that makes a folder read-only for it."""
    if os.name == "posix" and os.geteuid() == 0:  # not bound by file modes
        script = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
        words = ["unshare", "--mount", "sh", "-c", script, str(place)]
        if shutil.which(words[0]):
            run(*words, "true")
            return words
        sys.exit("As root this needs unshare: install util-linux, or run as a user.")
    for folder, _, names in os.walk(place):
        for name in [folder, *(os.path.join(folder, n) for n in names)]:
            if not os.path.islink(name):
                os.chmod(name, os.stat(name).st_mode & ~0o222)
    return []


def thaw(place: Path) -> None:
    """Make a folder removable again."""
    for folder, _, _ in os.walk(place):
        os.chmod(folder, 0o700)


def use(python: Path, place: Path, work: Path) -> None:
    """Fit and run the demo: with a cache, then in a read-only folder."""
    bare = BARE.copy()
    for times in ("first", "second"):
        output = run(python, "-W", "error", "-c", FIT, cwd=work, HOME=str(work), **bare)
        print(f"with a cache, {times} time: {output.strip()}")
    # The cache is next to the package now; remove it, as in a read-only image.
    for cache in place.rglob("*.nb[ic]"):
        cache.unlink()
    words = frozen(place)
    bare["HOME"] = str(place / "home")
    output = run(*words, python, "-W", "error", "-c", FIT, cwd=work, **bare)
    print(f"read-only, no cache: {output.strip()}")
    script = python.parent / "lordclust"
    run(*words, script, "demo", "--output", work / "dé mo", cwd=work, **bare)
    written = sorted(path.name for path in (work / "dé mo").iterdir())
    expected = ["demo.png", "labels.csv", "membership.csv", "path.csv"]
    demand(written == expected, f"the demo wrote {written}")
    print("the demo wrote", *written)


def check_types(python: Path, work: Path) -> None:
    """Check the types of a user's program; the errors of a wrong one must be found."""
    mypy = (sys.executable, "-m", "mypy", "--strict", "--python-executable", python)
    (work / "user.py").write_text(USER)
    print("mypy --strict:", run(*mypy, "user.py", cwd=work, **BARE).strip())
    (work / "wrong.py").write_text(WRONG)
    words = [*map(str, mypy), "wrong.py"]
    done = subprocess.run(  # all commands are fixed  # nosec B603
        words, cwd=work, env=BARE, capture_output=True, text=True, check=False
    )
    demand(done.stdout.count("error:") >= 2, f"mypy passed: {done.stdout}")


def main() -> None:
    """Build, install, use."""
    wheel = build()
    place = Path(tempfile.mkdtemp()) / FOLDER
    work = Path(tempfile.mkdtemp()) / "Arbeit und mehr"
    for folder in (place, work):
        folder.mkdir()
    try:
        python = install(wheel, place)
        check_types(python, work)
        use(python, place, work)
    finally:
        thaw(place)
        shutil.rmtree(place.parent)
        shutil.rmtree(work.parent)


if __name__ == "__main__":
    main()
