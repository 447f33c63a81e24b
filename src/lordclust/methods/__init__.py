"""The estimators, one file per method; each is loaded on first use."""

from typing import Any

from lordclust.registry import BUILT_IN

_CLASSES = {method.class_name: method for method in BUILT_IN}

__all__ = list(_CLASSES)


def __getattr__(name: str) -> Any:
    if name in _CLASSES:
        return _CLASSES[name].load()
    raise AttributeError(f"module 'lordclust.methods' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
