"""Graph-based clustering with probabilities and prescribed cluster shares.

>>> from lordclust import BLoRD
>>> from sklearn.datasets import load_iris
>>> BLoRD(3).fit_predict(load_iris().data).shape
(150,)
"""

import sys
from importlib import import_module
from opcode import opname
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

from lordclust._core.collection import paused
from lordclust._version import __version__

if TYPE_CHECKING:
    from lordclust import datasets, files, graph, methods, metrics, plots, tl
    from lordclust import report as report
    from lordclust.choose.n_clusters import KSuggestion, suggest_k
    from lordclust.methods._saving import load_model
    from lordclust.methods.layers import Layers, layers
    from lordclust.methods.lord import BLoRD, LoRD
    from lordclust.registry import list_methods, make_method, register_method
    from lordclust.result import TauPath
    from lordclust.solver.projection import project_omega
    from lordclust.solver.start import sinkhorn_start
    from lordclust.solver.tau_path import tau_path

__all__ = [
    "BLoRD",
    "KSuggestion",
    "Layers",
    "LoRD",
    "TauPath",
    "__version__",
    "datasets",
    "files",
    "graph",
    "layers",
    "list_methods",
    "load_model",
    "make_method",
    "methods",
    "metrics",
    "plots",
    "project_omega",
    "register_method",
    "sinkhorn_start",
    "suggest_k",
    "tau_path",
    "tl",
]

# The module of each public name; loaded on first use, so that the import is fast.
_HOME = {
    "BLoRD": "lordclust.methods.lord",
    "KSuggestion": "lordclust.choose.n_clusters",
    "Layers": "lordclust.methods.layers",
    "LoRD": "lordclust.methods.lord",
    "TauPath": "lordclust.result",
    "layers": "lordclust.methods.layers",
    "list_methods": "lordclust.registry",
    "load_model": "lordclust.methods._saving",
    "make_method": "lordclust.registry",
    "project_omega": "lordclust.solver.projection",
    "register_method": "lordclust.registry",
    "sinkhorn_start": "lordclust.solver.start",
    "suggest_k": "lordclust.choose.n_clusters",
    "tau_path": "lordclust.solver.tau_path",
}
_PACKAGES = ("datasets", "files", "graph", "methods", "metrics", "plots", "tl")
_NOT_IN_STAR = ("report",)  # special


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(_loaded(_HOME[name]), name)
    if name in (*_PACKAGES, *_NOT_IN_STAR):
        return _loaded(f"lordclust.{name}")
    hint = "" if name.startswith("_") else _hint(name)
    if hint and _is_import(sys._getframe(1)):
        # Python would replace the message of an AttributeError.
        raise ImportError(hint, name=name)
    raise AttributeError(hint or f"module 'lordclust' has no attribute {name!r}")


def _loaded(name: str) -> ModuleType:
    """Return a module, with all that it needs: scikit-learn, SciPy and numba."""
    with paused():
        return import_module(name)


def _hint(name: str) -> str:
    """Return where a name is, if it is in another module, otherwise ""."""
    for place in ("lordclust", *(f"lordclust.{package}" for package in _PACKAGES)):
        for known in import_module(place).__all__:
            if known.lower() == name.lower():
                return f"lordclust has no {name}. Use: from {place} import {known}"
    return ""


def _is_import(frame: FrameType) -> bool:
    """Return whether a frame is at ``from ... import``."""
    return opname[frame.f_code.co_code[frame.f_lasti]] == "IMPORT_FROM"


def __dir__() -> list[str]:
    return sorted(__all__)
