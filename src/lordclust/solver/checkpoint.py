"""Checkpoints of a long path, which resumes from the last finished tau.

A checkpoint holds plain arrays and one JSON document, see ``files/archive.py``. It is
written atomically and belongs to one problem, identified by a fingerprint of the graph,
the parameters and the version of the library. It holds all of the solver's state that
the next tau depends on, so that a resumed path has the same result bit for bit.
"""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp

from lordclust._core.typing import FloatArray, PathLike
from lordclust._version import __version__
from lordclust.files.archive import Arrays, read_archive, read_document, write_archive
from lordclust.files.atomic import check_target
from lordclust.files.error import InputError
from lordclust.solver import kernels, rules
from lordclust.solver.engine import Engine, from_tiles, to_tiles
from lordclust.solver.loop import Solver
from lordclust.solver.objective import blord_step, lord_step
from lordclust.solver.problem import Problem
from lordclust.solver.spectrum import Spectrum

P = TypeVar("P", bound=Problem)

FORMAT, VERSION = "lordclust checkpoint", 1
#: Relative error of a row of V that is allowed in float32.
ROUNDING = 1e-4
#: Largest multiplier of a column, relative to the largest entry of V. Newton's method
#: does not recover from larger ones; usual ones are a few times V.
MULTIPLIER = 1e10
#: Counters that persist between runs; the other slots are positions in memory.
COUNTERS = (kernels.ITERATION, kernels.STATUS, kernels.SWEEPS, kernels.VERIFY)
#: Logs the tau from which a path resumes.
LOG = logging.getLogger(__name__)


def places(checkpoint: PathLike, count: int) -> list[PathLike]:
    """Return a file for each of several paths: FILE, FILE.2, FILE.3 and so on."""
    return [checkpoint, *(f"{checkpoint}.{i}" for i in range(2, count + 1))]


class Place(NamedTuple):
    """The position of a path: its next tau, its step, and whether the race is over."""

    tau: float
    step: float
    open_race: bool
    done: bool


def fingerprint(*parts: object) -> str:
    """Return a digest of all that a result depends on: these parts and our version."""
    digest = blake2b(__version__.encode(), digest_size=16)
    for part in parts:
        _feed(digest, part)
    return digest.hexdigest()


def _feed(digest: blake2b, part: Any) -> None:
    """Add one part, with its type, to a digest."""
    digest.update(f"|{type(part).__name__}|".encode())
    if isinstance(part, Problem):
        # The spectrum is only approximate, and is stored in the file instead.
        part = part.S, part.shift, replace(part.omega, width=1.0)
    if sp.issparse(part):
        for array in (part.indptr, part.indices, part.data):
            _feed(digest, array)
    elif isinstance(part, np.ndarray):
        digest.update(f"{part.dtype.str}{part.shape}".encode())
        digest.update(np.ascontiguousarray(part).data)
    elif isinstance(part, tuple):
        for one in part:
            _feed(digest, one)
    elif is_dataclass(part):
        _feed(digest, tuple(getattr(part, field.name) for field in fields(part)))
    else:
        digest.update(repr(part).encode())


def with_saved_spectrum(problem: P, saves: Sequence["Checkpoint | None"]) -> P:
    """Return the problem with the spectrum of saved paths, if there are any.

    The last bits of a spectrum depend on the machine, and a path depends on all bits.
    """
    found = (save.spectrum for save in saves if save is not None)
    spectrum = next((one for one in found if one is not None), None)
    if spectrum is None:
        return problem
    return problem.posed(problem.S, problem.omega, spectrum, problem.shift)


def check_place(path: object) -> Path:
    """Return the path of a checkpoint; raise an error if it cannot be written."""
    if not isinstance(path, str | os.PathLike) or str(path) in ("", "-"):
        raise TypeError(
            f"checkpoint must be the name of a file, got {path!r}. Pass for example "
            'checkpoint="path.ckpt", or leave it out.'
        )
    return check_target(Path(path), force=True)


def exists(path: object) -> bool:
    """Return whether a file exists; one that is not a checkpoint raises an error."""
    place = check_place(path)
    if not place.exists():
        return False
    with _named_as_checkpoint(place):
        document = read_document(place)
    _check_format(place, document)
    return True


class Checkpoint:
    """The file of one path: read at the beginning, written after each tau.

    The file need not exist; one that is not a complete checkpoint of the problem (by
    its :func:`fingerprint`) raises an InputError.
    """

    def __init__(self, path: object, problem: str) -> None:
        self.path, self.problem = check_place(path), problem
        #: The position of the path; None at its beginning.
        self.place: Place | None = None
        #: Returns further arrays to write with the solver's state.
        self.more: Callable[[], Arrays] = dict
        self.arrays: Arrays = self._read() if self.path.exists() else {}
        self._begun = False

    @property
    def spectrum(self) -> Spectrum | None:
        """The spectrum that the path began with, or None before the beginning."""
        return Spectrum(*self.arrays["ends"].tolist()) if self.arrays else None

    def resume(self, engine: Solver) -> bool:
        """Restore an engine from the file; return whether there was one."""
        if not self.arrays:
            return False
        try:
            _check_solver(self.arrays, _compiled(engine))
            tau, step, open_race, done = self.arrays["place"].tolist()
        except (KeyError, ValueError) as error:
            raise self.invalid(f"its parts are inconsistent ({error})") from error
        if not 0 <= tau <= 1 or not 0 <= step <= 1:
            raise self.invalid("its parts are inconsistent (place)")
        self.place = Place(tau, step, bool(open_race), bool(done))
        _put(_compiled(engine), self.arrays)
        unit = "step" if _compiled(engine).shared.memory[kernels.QUARTIC] else "tau"
        where = "the end" if done else f"{unit} {tau:.2f}"
        LOG.info("resumed at %s, from %s", where, self.path.name)
        return True

    def at(self, engine: Solver, problem: Problem, place: Place) -> None:
        """Write the position of the path, if it has changed since it was read."""
        if not self._begun:  # nothing is finished yet, or all of it is in the file
            self._begun, self.arrays = True, {}  # no longer needed
            return
        document = {
            "format": FORMAT,
            "version": VERSION,
            "library": __version__,
            "problem": self.problem,
        }
        arrays = _state_of(_compiled(engine)) | self.more()
        arrays["ends"] = np.array(problem.spectrum)
        arrays["place"] = np.array(place, dtype=np.float64)
        write_archive(self.path, document, arrays, force=True)

    def check(
        self, name: str, kind: str, shape: tuple[int | None, ...], below: int = 0
    ) -> None:
        """Raise an error unless an array has this kind and shape (None: any length)."""
        array = self.arrays.get(name, np.zeros((0,) * 9))
        fits = array.dtype.kind == kind and len(array.shape) == len(shape)
        fits = fits and (kind != "f" or array.dtype.name in ("float32", "float64"))
        for got, expected in zip(array.shape, shape, strict=False):
            fits = fits and expected in (None, got)
        fits = fits and array.size > 0 and np.isfinite(array).all()
        if not fits or (below and array.max() >= below):
            raise self.invalid(f"its parts are inconsistent ({name})")

    def _read(self) -> Arrays:
        """Return the arrays of the file, if it is a checkpoint of this problem."""
        with _named_as_checkpoint(self.path):
            document, arrays = read_archive(self.path)
        _check_format(self.path, document)
        if document.get("problem") != self.problem:
            raise self.invalid(
                "it belongs to another problem: the graph, a parameter or the version "
                f"of lordclust differs (it was written by {document.get('library')})"
            )
        for name, shape in {"ends": (2,), "place": (4,)}.items():
            if name not in arrays or not _is_finite(arrays[name], shape):
                raise self.invalid(f"its parts are inconsistent ({name})")
        if arrays["ends"][0] > arrays["ends"][1]:
            raise self.invalid("its parts are inconsistent (ends)")
        return arrays

    def invalid(self, reason: str) -> InputError:
        """Return the error for a file that cannot be resumed from."""
        return _invalid(self.path, reason)


def _invalid(path: Path, reason: str) -> InputError:
    """Return the error for a file that cannot be resumed from."""
    return InputError(
        path,
        f"{reason.rstrip('.')}. Pass another file, or delete this one to start again.",
    )


@contextmanager
def _named_as_checkpoint(path: Path) -> Iterator[None]:
    """Turn errors about a model file into errors about a checkpoint."""
    try:
        yield
    except InputError as error:
        reason = error.message.partition(". ")[0]
        raise _invalid(path, reason.replace("model file", "checkpoint")) from error


def _check_format(path: Path, document: dict[str, Any]) -> None:
    """Raise an error for an archive of another kind."""
    if document.get("format") != FORMAT or document.get("version") != VERSION:
        raise _invalid(
            path,
            f"it is not a checkpoint of version {VERSION}, its format is "
            f"{document.get('format')!r}",
        )


def _compiled(engine: Solver) -> Engine:
    """Return the compiled solver: checkpoints hold its memory."""
    assert isinstance(engine, Engine)  # callers ensure this  # nosec B101
    return engine


def _state_of(engine: Engine) -> Arrays:
    """Return the state of an engine that its next run depends on."""
    s = engine.shared
    return {
        "V": engine.get(),
        "a": s.a.copy(),
        "b": s.b.copy(),
        "memory": s.memory.copy(),
        "counters": s.slots[list(COUNTERS)],
        "history": engine.history(),
    }


def _check_solver(arrays: Arrays, engine: Engine) -> None:
    """Raise an error for arrays that are not safe for compiled code."""
    s = engine.shared
    shapes = {
        "V": (engine.n, engine.k),
        "a": s.a.shape,
        "b": s.b.shape,
        "memory": s.memory.shape,
    }
    for name, shape in shapes.items():
        dtype = engine.dtype if name == "V" else np.float64
        fits = arrays[name].dtype == dtype and arrays[name].shape == shape
        if not fits or not (name == "memory" or np.isfinite(arrays[name]).all()):
            raise ValueError(name)
    counters = arrays["counters"]
    if counters.shape != (len(COUNTERS),) or counters.dtype != np.int64:
        raise ValueError("counters")
    length = int(counters[0]) + 1
    if counters.min() < 0 or counters[1] > kernels.EXHAUSTED or counters[3] > 1:
        raise ValueError("counters")
    if not _is_finite(arrays["history"], (length,)):
        raise ValueError("history")
    rows = engine.n * (arrays["V"] @ engine.omega.mu)
    if arrays["V"].min() < 0 or np.abs(rows - 1).max() > ROUNDING:
        raise ValueError("V")
    if np.abs(arrays["a"]).max() > MULTIPLIER * arrays["V"].max():
        raise ValueError("a")
    low, high = arrays["ends"]
    inexact = 0.01 * max(abs(low), abs(high))  # they are found to 1e-3 of this
    if abs(_quotient(engine) - (low + high) / 2) > 0.5 * (high - low) + inexact:
        raise ValueError("ends")
    _check_memory(arrays["memory"], engine, Spectrum(float(low), float(high)))


def _quotient(engine: Engine) -> float:
    """Return a number within the spectrum of S, in the metric Q."""
    q = engine.omega.weight
    return float(q @ (engine.S @ q) / q.sum())


def _check_memory(memory: FloatArray, engine: Engine, spectrum: Spectrum) -> None:
    """Raise an error for numbers that no run of this problem can produce."""
    rest = np.delete(memory, kernels.PRICE)  # infinite for exact shares
    if not np.isfinite(rest).all():
        raise ValueError("memory")
    lord, bound = engine.shared.memory[kernels.QUARTIC], engine.omega.bound
    if lord:
        steps = [lord_step(spectrum, bound, tilt) for tilt in (0.0, -spectrum.high)]
    else:
        steps = [blord_step(spectrum, tau) for tau in (0.0, 1.0)]
    # The multipliers are divided by the step: a tiny one would make them huge.
    within = 0.99 * min(steps) <= memory[kernels.STEP] <= 1.01 * max(steps)
    if memory[kernels.QUARTIC] != lord or not within:
        raise ValueError("memory")


def _is_finite(array: FloatArray, shape: tuple[int, ...]) -> bool:
    """Return whether an array holds finite doubles and has this shape.

    For numbers of another type the solver would have to be compiled again.
    """
    fits = array.dtype == np.float64 and array.shape == shape
    return bool(fits and np.isfinite(array).all())


def _put(engine: Engine, arrays: Arrays) -> None:
    """Restore the state of an engine from arrays."""
    s, slots = engine.shared, engine.shared.slots
    V = arrays["V"] if engine.order is None else arrays["V"][engine.order]
    slots[:] = 0
    slots[kernels.BEFORE], slots[kernels.SPARE] = 1, 2
    slots[kernels.SV_BEFORE] = 1
    slots[list(COUNTERS)] = arrays["counters"]
    s.V[0] = s.V[1] = to_tiles(V, len(s.U))
    s.rows[0, :, : engine.k] = from_tiles(s.V[0] * s.weight[:, None], engine.n)
    s.a[:], s.b[:] = arrays["a"], arrays["b"]
    s.memory[:] = arrays["memory"]
    engine.shared = s._replace(history=arrays["history"].copy())
    engine.converged = bool(slots[kernels.STATUS] == rules.CONVERGED)
    engine.passes = int(slots[kernels.SWEEPS])
