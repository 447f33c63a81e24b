"""Fitted models as files: plain arrays and one JSON document, no pickles."""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from lordclust._core.typing import FloatArray, Graph, IntArray, Json
from lordclust._core.validation import check_indices, check_similarity, check_tau
from lordclust._version import __version__
from lordclust.files.archive import Arrays, read_archive, write_archive
from lordclust.files.error import InputError
from lordclust.graph import KNNGraph
from lordclust.graph.gower import Columns
from lordclust.result import Selection
from lordclust.solver.omega import Omega
from lordclust.solver.problem import BLoRDProblem
from lordclust.solver.spectrum import Spectrum

FORMAT = "lordclust model"
VERSION = 2

#: Fitted arrays: their type, and their dimensions (any length for "*"). Floats are
#: double or single.
ARRAYS = {
    "labels_": ("iu", "n"),
    "membership_": ("f", "nk"),
    "V_": ("f", "nk"),
    "proportions_": ("f", "k"),
    "sizes_": ("iu", "k"),
    "history_": ("f", "*"),
    "all_objectives_": ("f", "*"),
    "_weight": ("f", "n"),
    "broken_links_": ("iu", "*2"),
}
#: The arrays of a selection of m candidates.
CANDIDATES = {
    "rounds": ("iu", "m"),
    "taus": ("f", "m"),
    "surprise": ("f", "m"),
    "balance": ("f", "m"),
    "features": ("f", "m"),
    "evidence": ("f", "m"),
    "sizes": ("f", "mk"),
}
#: Fitted numbers and their types.
NUMBERS: dict[str, type] = {
    "objective_": float,
    "residual_": float,
    "_norm2": float,
    "n_iter_": int,
    "converged_": bool,
    "n_features_in_": int,
}
#: Attributes that are stored in a form of their own.
SPECIAL = {"feature_names_in_", "extras_"}
#: Parts of the state that are not attributes of the same name.
OF_INPUT = {"recall_", "samples", "columns", "_weight"}
#: Further numbers of B-LoRD.
TAU_NUMBERS: dict[str, type] = {"tau_": float, "gamma_": float}


class _OfGraph:
    """An attribute that a model saved without its graph does not have."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, model: Any, owner: type) -> Any:
        if model is None:
            return self
        raise AttributeError(
            f"{owner.__name__} has no {self.name}: it is not fitted, or was saved with "
            "graph=False. Fit it, or save it with graph=True."
        )


class SavedModel:
    """``save`` and ``load`` of all methods."""

    # Attributes that fit sets hide these.
    affinity_matrix_: Any = _OfGraph()
    _problem: Any = _OfGraph()
    _check_parameters: Any  # of the estimator

    def save(
        self,
        path: str | Path,
        *,
        graph: bool = True,
        samples: bool = True,
        force: bool = False,
        extras: dict[str, Any] | None = None,
    ) -> None:
        """Write the fitted model to a file, atomically.

        The file holds the parameters, all fitted attributes and what ``predict``
        needs, including the samples: whoever has the file has the data. A new file with
        samples can only be read by its owner; a file that is replaced keeps its
        permissions. It is a zip file of plain arrays and one JSON document; by
        convention its name ends in ``.lord``.

        Parameters
        ----------
        path : str or Path
            The file.
        graph : bool, default=True
            Store ``affinity_matrix_`` (and other matrices of n x n numbers), which
            ``agreement`` needs too.
        samples : bool, default=True
            Store the samples. Without them the loaded model cannot predict new samples.
            A model fitted to similarities holds no samples, and predicts without them.
        force : bool, default=False
            Replace a file that exists.
        extras : dict, optional
            Further data to store as JSON, such as the names of columns. It is restored
            as ``extras_``.

        Raises
        ------
        lordclust.files.InputError
            If the file exists or cannot be written.
        TypeError
            If a parameter cannot be saved, such as a function as ``affinity``.

        Examples
        --------
        >>> import tempfile
        >>> from lordclust import BLoRD
        >>> model = BLoRD(2).fit([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
        >>> path = f"{tempfile.mkdtemp()}/two.lord"
        >>> model.save(path)
        >>> BLoRD.load(path).predict([[8.5], [0.5]])
        array([1, 0])
        """
        check_is_fitted(self)
        self._check_parameters()  # they may have changed since fit
        arrays: Arrays = {}
        document = {
            "format": FORMAT,
            "version": VERSION,
            "library": __version__,
            "class": type(self).__name__,
            "parameters": _packed_parameters(self, arrays),
            "fitted": self._packed_state(arrays, graph=graph, samples=samples),
            "extras": getattr(self, "extras_", None) if extras is None else extras,
        }
        private = any(name.startswith("samples") for name in arrays)
        write_archive(path, document, arrays, force=force, private=private)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the model that ``save`` wrote; its results are the same bit for bit.

        Parameters
        ----------
        path : str or Path
            The file. It may come from anyone: nothing in it is executed, and a damaged
            file raises an error.

        Returns
        -------
        model : object
            Of the class that ``load`` was called on.

        Raises
        ------
        lordclust.files.InputError
            If it is not a complete model file of this class.
        """
        document, arrays = read_archive(path)
        name = document.get("class")
        if document.get("format") == FORMAT and name != cls.__name__:
            raise InputError(
                path,
                f"it holds a model of class {name!r}, not {cls.__name__}. Load it "
                "with that class.",
            )
        model: Self = _restored(cls, document, arrays, path)
        return model

    def _packed_state(self, arrays: Arrays, *, graph: bool, samples: bool) -> Json:
        """Return the fitted attributes."""
        n = len(vars(self)["labels_"])
        state = _packed_input(self, arrays, samples)
        for name, value in vars(self).items():
            public = name.endswith("_") and not name.startswith("_")
            square = getattr(value, "shape", None) == (n, n)
            if public and name not in SPECIAL and (graph or not square):
                state[name] = _packed(value, name, arrays)
        weight = vars(self).get("_weight")
        return state | {"_weight": _packed(weight, "_weight", arrays)}

    def _put_state(self, state: Json, arrays: Arrays) -> None:
        """Set the fitted attributes; raise an error if they are inconsistent."""
        for name in sorted(state.keys() - SPECIAL - OF_INPUT):
            if not name.isidentifier() or name.startswith("_") or name[-1] != "_":
                raise ValueError(f"{name!r} is not a fitted attribute")
            setattr(self, name, _unpacked(state[name], arrays))
        labels, sizes = self.labels_, self.sizes_  # type: ignore[attr-defined]
        _check_array(labels, "labels_", "iu", [None])
        inside = len(labels) and labels.min() >= 0 and labels.max() < len(sizes)
        if not inside or (np.bincount(labels, minlength=len(sizes)) != sizes).any():
            raise ValueError("labels_ and sizes_ do not agree")
        if type(state["n_features_in_"]) is not int:
            raise TypeError(f"n_features_in_ is {state['n_features_in_']!r}")
        weight = _unpacked(state["_weight"], arrays)
        if weight is not None:
            _check_array(weight, "_weight", "f", [len(labels)])
            self._weight = weight
        _put_input(self, state, arrays, len(labels))
        model: Any = self
        if not model.takes_graph and model._samples is not None:
            model.predict(model._samples[:1])  # from attributes of its own


class SavedProbabilities(SavedModel):
    """``save`` and ``load`` for the models over Omega(mu)."""

    # Set by fit.
    labels_: IntArray
    membership_: Graph
    _nats: FloatArray

    def _packed_state(self, arrays: Arrays, *, graph: bool, samples: bool) -> Json:
        names = [*ARRAYS, *_numbers_of(self)]
        state = {name: _packed(getattr(self, name), name, arrays) for name in names}
        if hasattr(self, "_nats"):
            state["_nats"] = _packed(self._nats, "_nats", arrays)
        state |= _packed_input(self, arrays, samples)
        if hasattr(self, "selection_"):
            state["selection_"] = _packed_fields(self.selection_, "selection_", arrays)
        if graph:
            S = self.affinity_matrix_
            state["affinity_matrix_"] = _packed(S, "affinity_matrix_", arrays)
            if hasattr(self, "_problem"):
                state["problem"] = _packed_problem(self, arrays)
        return state

    def _put_state(self, state: Json, arrays: Arrays) -> None:
        n, k = _unpacked(state["membership_"], arrays).shape
        self.n_clusters_ = k
        for name, (kinds, lengths) in ARRAYS.items():
            array = _unpacked(state[name], arrays)
            _check_array(
                array, name, kinds, [{"n": n, "k": k, "2": 2}.get(c) for c in lengths]
            )
            setattr(self, name, array)
        if not n or self.labels_.min() < -1 or self.labels_.max() >= k:
            raise ValueError("labels_ are not clusters")
        for name in ("membership_", "proportions_"):
            _check_shares(getattr(self, name), name)
        for name, kind in _numbers_of(self).items():
            number = _unpacked(state[name], arrays)
            if type(number) is not kind:
                raise TypeError(f"{name} is {number!r}")
            setattr(self, name, number)
        if "_nats" in state:
            self._nats = _unpacked(state["_nats"], arrays)
            _check_array(self._nats, "_nats", "f", [n])
        if sparse.issparse(self.membership_) != hasattr(self, "_nats"):
            raise ValueError("membership_ and proba_top do not agree")
        if "selection_" in state:
            self.selection_ = _selection(_unpacked(state["selection_"], arrays), k)
        _put_input(self, state, arrays, n)
        if "affinity_matrix_" in state:
            _put_graph(self, state, arrays, n)


def load_model(path: str | Path) -> Any:
    """Return a saved model of any method.

    Parameters
    ----------
    path : str or Path
        The file that ``save`` wrote. It may come from anyone: nothing in it is
        executed, and a damaged file raises an error.

    Returns
    -------
    model : object
        Of the class that was saved.

    Examples
    --------
    >>> import tempfile
    >>> from lordclust import load_model, make_method
    >>> model = make_method("sc", 2).fit([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
    >>> path = f"{tempfile.mkdtemp()}/two.lord"
    >>> model.save(path)
    >>> load_model(path).predict([[8.5], [0.5]])
    array([1, 0])
    """
    from lordclust.registry import METHODS

    document, arrays = read_archive(path)
    name = document.get("class")
    known = {line.class_name: line for line in METHODS.values()}
    cls = known.get(str(name), METHODS["blord"]).load()
    if not issubclass(cls, SavedModel):
        raise InputError(path, f"its class {name!r} is not one that can be saved.")
    return _restored(cls, document, arrays, path)


def _restored(cls: Any, document: Any, arrays: Arrays, path: str | Path) -> Any:
    """Return the model in a document; raise an error if its parts are inconsistent."""
    if document.get("format") != FORMAT or document.get("version") != VERSION:
        raise InputError(
            path,
            f"it is not a model file of version {VERSION}: its format is "
            f"{document.get('format')!r}, version {document.get('version')!r}. Update "
            "lordclust, or save the model again.",
        )
    try:
        model = cls(**_unpacked(document["parameters"], arrays))
        model._put_state(document["fitted"], arrays)
        model._check_parameters()
    except Exception as error:  # a forged document can fail in many ways
        raise InputError(
            path,
            f"its parts are inconsistent ({type(error).__name__}: "
            f"{str(error)[:200].rstrip('.')}). Save the model again.",
        ) from error
    if document.get("extras") is not None:
        model.extras_ = document["extras"]
    return model


# -- values -----------------------------------------------------------------------


def _packed(value: Any, name: str, arrays: Arrays) -> object:
    """Return a value as JSON; its arrays go into ``arrays``."""
    if name == "dtype":
        value = str(np.dtype(value))
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else {"float": str(value)}
    if isinstance(value, list | tuple):
        items = [_packed(v, f"{name}.{i}", arrays) for i, v in enumerate(value)]
        return items if isinstance(value, list) else {"tuple": items}
    if type(value) is KNNGraph:
        return {"KNNGraph": _packed_parameters(value, arrays)}
    if sparse.issparse(value):
        csr = sparse.csr_array(value)
        for part in ("data", "indices", "indptr"):
            arrays[f"{name}.{part}"] = getattr(csr, part)
        return {"csr": [name, *csr.shape]}
    if not hasattr(value, "__array__") or np.asarray(value).dtype.kind not in "biuf":
        raise _not_savable(value, name)
    arrays[name] = np.asarray(value)
    return {"array": name}


def _not_savable(value: object, name: str) -> TypeError:
    """Return the error for a value that is neither number, text nor array."""
    hint = {
        "affinity": 'fit with a KNNGraph, or with affinity="precomputed" on S',
        "random_state": "call set_params(random_state=None), which changes no result",
    }.get(name, "pass numbers, text or arrays")
    return TypeError(
        f"{name} cannot be saved, got {type(value).__name__}: a model file holds "
        f"numbers and text, no code. Instead, {hint}."
    )


def _unpacked(value: Any, arrays: Arrays) -> Any:
    """Return the value that :func:`_packed` stored."""
    if isinstance(value, list):
        return [_unpacked(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1 or next(iter(value)) not in _TAGS:
        return {name: _unpacked(item, arrays) for name, item in value.items()}
    tag, content = next(iter(value.items()))
    return _TAGS[tag](content, arrays)


def _csr(content: list[Any], arrays: Arrays) -> sparse.csr_array:
    """Return a sparse array that is safe for compiled code."""
    name, n, m = content
    parts = tuple(arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
    csr = sparse.csr_array(parts, shape=(n, m))
    check_indices(csr)
    return csr


_TAGS: dict[str, Callable[[Any, Arrays], object]] = {
    "float": lambda content, arrays: float(content),
    "tuple": lambda content, arrays: tuple(_unpacked(content, arrays)),
    "KNNGraph": lambda content, arrays: KNNGraph(**_unpacked(content, arrays)),
    "array": lambda content, arrays: arrays[content],
    "csr": _csr,
}


def _packed_parameters(estimator: BaseEstimator, arrays: Arrays) -> Json:
    """Return the parameters of an estimator."""
    parameters = estimator.get_params(deep=False)
    return {name: _packed(value, name, arrays) for name, value in parameters.items()}


def _packed_fields(record: Any, prefix: str, arrays: Arrays) -> Json:
    """Return the fields of a dataclass."""
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    return {
        name: _packed(value, f"{prefix}.{name}", arrays)
        for name, value in values.items()
    }


# -- fitted attributes --------------------------------------------------------------


def _packed_input(model: Any, arrays: Arrays, samples: bool) -> Json:
    """Return the names of the features, and the samples."""
    state: Json = {}
    if hasattr(model, "_recall"):
        state["recall_"] = model._recall
    if hasattr(model, "feature_names_in_"):
        state["feature_names_in_"] = [str(name) for name in model.feature_names_in_]
    if model._has_metric("gower"):
        ranges, categories = model._columns
        state["columns"] = {
            "ranges": _packed(ranges, "columns", arrays),
            "categories": [list(names) for names in categories],
        }
    if model._samples is not None and samples:
        state["samples"] = _packed(model._samples, "samples", arrays)
    elif not model._is_precomputed():
        state["samples"] = False
    return state


def _put_input(model: Any, state: Any, arrays: Arrays, n: int) -> None:
    """Set the names of the features, and the samples."""
    if "recall_" in state:
        found = state["recall_"]
        model._recall = None if found is None else float(found)
    d, names = model.n_features_in_, state.get("feature_names_in_")
    if names is not None:
        if len(names) != d or not all(type(name) is str for name in names):
            raise ValueError("feature_names_in_ are not a name for each feature")
        model.feature_names_in_ = np.array(names, dtype=object)
    if model._has_metric("gower"):
        columns = _unpacked(state["columns"], arrays)
        ranges, values = columns["ranges"], tuple(map(tuple, columns["categories"]))
        fits = all(type(value) is str for one in values for value in one)
        fits = fits and ranges.shape == (d,) and ranges.dtype == np.float64
        if not fits or len(values) != d:
            raise ValueError("columns are not those of the features")
        model._columns = Columns(ranges, values)
    _put_samples(model, _unpacked(state.get("samples"), arrays), n)


def _numbers_of(model: Any) -> dict[str, type]:
    """Return the fitted numbers of a model, with their types."""
    return NUMBERS | (TAU_NUMBERS if hasattr(model, "tau") else {})


def _packed_problem(model: Any, arrays: Arrays) -> Json:
    """Return the problem that was solved, with its graph only if it differs from S."""
    problem = model._problem
    same = problem.S is model.affinity_matrix_
    own = None if same else _packed(problem.S, "problem.S", arrays)
    spectrum = [float(value) for value in problem.spectrum]
    return {
        "omega": _packed_fields(problem.omega, "problem", arrays),
        "spectrum": spectrum,
        "tau": model.tau_,
        "S": own,
        "shift": problem.shift,
    }


def _check_shares(array: Graph, name: str) -> None:
    """Raise an error unless entries are nonnegative and sum to 1, to rounding."""
    slack = 1e-5 if array.dtype == np.float32 else 1e-6
    if array.min() < -slack or np.abs(array.sum(axis=-1) - 1).max() > slack:
        raise ValueError(f"{name} are not shares of 1")


def _selection(parts: Any, k: int) -> Selection:
    """Return the candidates of a choice; raise an error if they are inconsistent."""
    found = Selection(**parts)
    m = len(found.sources)
    for name, (kinds, lengths) in CANDIDATES.items():
        array = getattr(found, name)
        _check_array(array, name, kinds, [{"m": m, "k": k}[c] for c in lengths])
    if not all(type(source) is str for source in found.sources):
        raise TypeError("sources are not names")
    if type(found.best) is not int or not 0 <= found.best < m:
        raise ValueError(f"best is {found.best!r}")
    if type(found.stability) is not float or not 0 <= found.stability <= 1:
        raise ValueError(f"stability is {found.stability!r}")
    return found


def _check_array(
    array: Graph, name: str, kinds: str, lengths: list[int | None]
) -> None:
    """Raise an error for an array with the wrong type or shape, or with NaN."""
    fits = array.dtype.kind in kinds and len(array.shape) == len(lengths)
    fits = fits and (array.dtype.kind != "f" or array.dtype.itemsize in (4, 8))
    for got, expected in zip(array.shape, lengths, strict=False):
        fits = fits and expected in (None, got)
    values = array.data if sparse.issparse(array) else array
    if not fits or not np.isfinite(values).all():
        raise ValueError(f"{name} is {array.dtype} of shape {array.shape}")


def _put_samples(model: Any, X: Graph, n: int) -> None:
    """Set the samples that new samples are compared with."""
    if model._is_precomputed() != (X is None):
        raise ValueError("samples are needed unless similarities were precomputed")
    if X is False:
        X = None
    if X is not None:
        values = X.data if sparse.issparse(X) else X
        d = model.n_features_in_
        if model._has_metric("gower"):
            d = sum(len(names) + 1 for names in model._columns.categories)
        missing = np.isnan(values) if model._has_metric("nan_euclidean") else False
        if X.shape != (n, d) or not (np.isfinite(values) | missing).all():
            raise ValueError(f"samples are of shape {X.shape}")
    model._samples, model._extensions, model._novelties = X, [], []
    if X is not None:
        extension = model._extension()  # now, while an error is still about the file
        if extension.n == 0 or not isinstance(extension.metric, str):
            raise ValueError("no sample has a weight, or metric is not a name")


def _put_graph(model: Any, state: dict[str, Any], arrays: Arrays, n: int) -> None:
    """Set the graph, and the problem that was solved on it."""
    S = _unpacked(state["affinity_matrix_"], arrays)
    saved = _unpacked(state.get("problem"), arrays)
    own = S if saved is None or saved["S"] is None else saved["S"]
    for graph in (S, own):
        checked = check_similarity(graph)
        if checked.shape != (n, n) or checked.dtype != graph.dtype:
            raise ValueError(f"the graph is {graph.dtype} of shape {graph.shape}")
    model.affinity_matrix_ = S
    if saved is None:
        return
    omega, spectrum = Omega(**saved["omega"]), Spectrum(*saved["spectrum"])
    _check_omega(omega, n, len(model.proportions_))
    numbers = (*spectrum, saved["shift"])
    if not all(type(x) is float and np.isfinite(x) for x in numbers):
        raise ValueError(f"the spectrum is {tuple(spectrum)}, shift {saved['shift']!r}")
    if spectrum.low > spectrum.high or model.tau_ != check_tau(saved["tau"]):
        raise ValueError(f"the spectrum is {tuple(spectrum)}, tau {saved['tau']!r}")
    model._problem = BLoRDProblem(own, omega, spectrum, saved["shift"])


def _check_omega(omega: Omega, n: int, k: int) -> None:
    """Raise an error for a set that is not safe for compiled code."""
    _check_array(omega.mu, "mu", "f", [None])
    _check_array(omega.mass, "mass", "f", [n])
    _check_array(omega.weight, "weight", "f", [n])
    if omega.known is not None:
        _check_array(omega.known, "known", "i", [n])
        wide = omega.known.dtype == np.int64  # else the solver is compiled again
        if not wide or omega.known.min() < -1 or omega.known.max() >= len(omega.mu):
            raise ValueError("known labels are not clusters")
    for name in ("strength", "width"):
        if type(getattr(omega, name)) is not float or not getattr(omega, name) >= 0:
            raise ValueError(f"{name} is {getattr(omega, name)!r}")
    if omega.weight.min() < 0 or abs(omega.weight.sum() / n - 1) > 1e-6:
        raise ValueError("the weights are not those of samples")
    if np.abs(n * omega.mass - 1).max() > 1e-6:
        raise ValueError("the rows are not those of samples")
    if not 0 < len(omega.mu) <= k or omega.mu.min() <= 0:
        raise ValueError("the shares are not those of clusters")
    _check_shares(omega.mu**2, "the squares of mu")
