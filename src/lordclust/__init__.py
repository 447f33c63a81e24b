"""Graph-based clustering with probabilities and prescribed cluster shares.

>>> from lordclust import BLoRD
>>> from sklearn.datasets import load_iris
>>> BLoRD(3).fit_predict(load_iris().data).shape
(150,)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
        return getattr(import_module(_HOME[name]), name)
    if name in (*_PACKAGES, *_NOT_IN_STAR):
        return import_module(f"lordclust.{name}")
    if not name.startswith("_"):
        _point_to(name)
    raise AttributeError(f"module 'lordclust' has no attribute {name!r}")


def _point_to(name: str) -> None:
    """Raise an error that says where a name is, if it is in another module.

    Python would replace the message of an AttributeError in an import statement.
    """
    for place in ("lordclust", *(f"lordclust.{package}" for package in _PACKAGES)):
        for known in import_module(place).__all__:
            if known.lower() == name.lower():
                raise ImportError(
                    f"lordclust has no {name}. Use: from {place} import {known}",
                    name=name,
                )


def __dir__() -> list[str]:
    return sorted(__all__)
