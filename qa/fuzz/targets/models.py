"""Saved models and checkpoints: changed bytes, and valid archives of forged parts."""

import io
import json
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from lordclust import BLoRD, LoRD, tau_path
from lordclust._core.typing import FloatArray
from lordclust.files.archive import DOCUMENT
from lordclust.methods._saving import load_model
from qa.fuzz import mutate, seeds
from qa.fuzz.outcome import (
    Outcome,
    recorded_warnings,
    require,
    require_finite,
    require_input_error,
    require_refusal,
)

SECONDS = 20.0
_X = np.random.default_rng(0).standard_normal((12, 2)) + np.repeat([[0.0], [6.0]], 6, 0)
_S = np.exp(-((_X[:, None] - _X) ** 2).sum(axis=2))
_KINDS = [
    "float64", "float32", "float16", "int64", "int32", "uint8", "bool", "complex128",
    "U2", "O",
]  # fmt: skip


@cache
def saved() -> dict[str, bytes]:
    """Return valid files: models of every kind, and a checkpoint of half a path."""
    known = np.where(np.arange(12) % 4 == 0, np.arange(12) // 6, -1)
    models = {
        "plain.lord": BLoRD(2, tau=0.4).fit(_X),
        "lord.lord": LoRD(2).fit(_X),
        "auto.lord": BLoRD(3, tau="auto", proportions="auto").fit(_X),
        "graph.lord": BLoRD(2, affinity="precomputed").fit(_S),
        "known.lord": BLoRD(2, proportions=([0.4, 0.6], 1.0)).fit(
            _X, known_labels=known, sample_weight=np.arange(1.0, 13)
        ),
        "single.lord": BLoRD(2, dtype="float32", proba_top=1).fit(_X),
        "sizes.lord": BLoRD(2, cluster_sizes=[8, 4]).fit(_X),
    }
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, model in models.items():
            model.save(Path(folder, name))
            found[name] = Path(folder, name).read_bytes()
        path = Path(folder, "half.ckpt")
        _walk(path, stop_at=0.3)
        found["half.ckpt"] = path.read_bytes()
    return found


def _walk(checkpoint: Path, stop_at: float = 2.0) -> Any:
    """Follow the path that checkpoints belong to, or a part of it."""
    return tau_path(
        _S, 2, checkpoint=checkpoint, n_jobs=1, callback=lambda tau: tau > stop_at
    )


def prepare() -> None:
    """Write the files, and read them."""
    for name, content in saved().items():
        check({"name": name, "content": content})


def make(rng: Random) -> dict[str, Any]:
    """Return a modified file."""
    name = rng.choice(sorted(saved()))
    content = saved()[name]
    if rng.random() < 0.2:
        return {"name": name, "content": mutate.changed(rng, content)}
    return {"name": name, "content": _forged(rng, content)}


def _forged(rng: Random, content: bytes) -> bytes:
    """Return a valid archive with modified parts."""
    parts = dict(seeds.members(content))
    document = json.loads(parts[DOCUMENT])
    ways = rng.choices(["document", "array", "bytes", "lost"], [5, 5, 1, 1], k=2)
    for way in ways[: rng.randint(1, 2)]:
        arrays = [name for name in parts if name != DOCUMENT]
        name = rng.choice(arrays) if arrays else DOCUMENT
        if way == "document":
            document = mutate.changed_document(rng, document, most=2)
        elif way == "array" and arrays:
            parts[name], listed = _other_array(rng, parts[name])
            if isinstance(document, dict) and isinstance(document.get("arrays"), dict):
                document["arrays"][name.removesuffix(".npy")] = listed
        elif way == "bytes":
            parts[name] = mutate.changed(rng, parts[name])
        else:
            parts.pop(name)
    if DOCUMENT in parts and "bytes" not in ways[:1]:
        parts[DOCUMENT] = mutate.as_json(document)
    return seeds.packed(list(parts.items()))


def _other_array(rng: Random, content: bytes) -> tuple[bytes, list[Any]]:
    """Return an array with other values, shape or type, and its description."""
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception:  # its bytes were changed before; numpy raises many errors
        return content, []
    way = rng.choice(["value", "value", "value", "shape", "type", "scale", "order"])
    with np.errstate(all="ignore"):
        if way == "value" and array.size:
            array = array.copy()
            odd = rng.choice(
                [x for x in mutate.ODD_NUMBERS if abs(x) < 2**63 or x != x]
            )
            flat = array.reshape(-1)
            flat[rng.randrange(array.size)] = _fitting(odd, array.dtype)
        elif way == "shape":
            array = np.atleast_1d(array)
            others = [array[:-1], array.T, array.ravel(), array[None], array[:0]]
            array = rng.choice(others)
        elif way == "type":
            kind = rng.choice(_KINDS[:7])
            array = array.astype(kind)
        elif way == "scale" and array.dtype.kind == "f":
            array = array * rng.choice([0.0, -1.0, 1e300, 1e-300, 2.0])
        elif way == "order":
            array = array[::-1]
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue(), [array.dtype.name, list(array.shape)]


def _fitting(value: Any, dtype: Any) -> Any:
    """Return a value, or the nearest one that the type can represent."""
    if dtype.kind == "f":
        return value
    if value != value or abs(value) == float("inf"):
        value = -1
    if dtype.kind == "b":
        return bool(value)
    info = np.iinfo(dtype)
    return int(min(max(value, info.min), info.max))


def check(case: dict[str, Any]) -> Outcome:
    """Read a file: refused, or a model (a path) with valid results."""
    name = case["name"]
    kind = "checkpoint" if name.endswith(".ckpt") else "model"
    with tempfile.TemporaryDirectory(prefix="model-") as folder:
        path = Path(folder, name)
        path.write_bytes(case["content"])
        try:
            with recorded_warnings():
                found = _walk(path) if kind == "checkpoint" else load_model(path)
        except Exception as error:
            require_input_error(error)
            require(
                path.read_bytes() == case["content"], "a refused file is left alone"
            )
            require(len(list(Path(folder).iterdir())) == 1, "nothing else is written")
            return Outcome(kind, "refused")
        if kind == "checkpoint":
            require(zipfile.is_zipfile(path), "the checkpoint is complete")
    if kind == "checkpoint":
        _check_path(found)
        return Outcome(kind, "resumed")
    return Outcome(kind, _use(found))


def _check_path(path: Any) -> None:
    """Fail unless a path is valid."""
    require_finite(path.objectives, "the objectives")
    require((np.diff(path.taus) > 0).all(), "taus rise")
    for P in path.memberships.values():
        _check_probabilities(P)


def _use(model: Any) -> str:
    """Call all methods of a loaded model; return how that ended."""
    _check_probabilities(model.membership_)
    require(len(model.sizes_) == len(model.proportions_), "there is one size per share")
    try:
        with recorded_warnings():
            require_finite(model.uncertainty_, "the uncertainty")
            model.confusable_pairs()
            repr(model)
            if not model._is_precomputed():
                X = np.zeros((3, model.n_features_in_))
                _check_probabilities(model.predict_proba(X))
                labels = model.predict(X)
                require(labels.max() < len(model.proportions_), "labels are clusters")
            kept = hasattr(model, "_problem")
            if kept and hasattr(model, "agreement"):
                model.max_iter = min(model.max_iter, 500)  # to save time
                model.agreement(n_paths=1)
    except AssertionError:
        raise
    except Exception as error:
        require_refusal(error)
        return "loaded, question refused"
    return "loaded"


def _check_probabilities(P: FloatArray) -> None:
    """Fail unless rows are finite, nonnegative and sum to 1."""
    require_finite(P, "probabilities")
    require(P.min() >= -1e-6, "probabilities are nonnegative")
    require(np.abs(P.sum(axis=1) - 1).max() < 1e-5, "probabilities sum to 1")
