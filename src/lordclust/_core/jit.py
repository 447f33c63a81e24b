"""The numba settings, in one place.

Kernels release the GIL, are cached on disk and never use ``parallel=True``: its
default threading layer aborts the process when two Python threads enter it.
``reassoc`` lets sums run in vector registers; infinities and NaN keep their meaning.
"""

import inspect
from collections.abc import Callable
from hashlib import sha256
from types import ModuleType
from typing import Any

import numba

SAFE_FASTMATH = {"reassoc", "contract", "nsz"}
_SETTINGS = {"nogil": True, "fastmath": SAFE_FASTMATH, "error_model": "numpy"}


def njit(function: Any) -> Any:
    """Compile a function on its first call, and cache it on disk if possible."""
    try:
        return numba.njit(cache=True, **_SETTINGS)(function)
    except RuntimeError:  # neither the package's folder nor the user's is writable
        return numba.njit(**_SETTINGS)(function)


def njit_with(*modules: ModuleType) -> Callable[[Any], Any]:
    """Return an :func:`njit` for functions that use compiled code of these modules.

    numba's disk cache notices edits in the function's own file only. It names its files
    by the function's qualified name: a digest of the other modules goes in there, so
    that edits in them lead to other files.
    """
    digest = sha256()
    for module in modules:
        digest.update(module.__name__.encode())
        try:
            digest.update(inspect.getsource(module).encode())
        except OSError:  # installed without sources, so they cannot change
            continue
    suffix = digest.hexdigest()[:8]

    def decorate(function: Any) -> Any:
        name = function.__qualname__
        function.__qualname__ = f"{name}-{suffix}"
        try:
            return njit(function)
        finally:
            function.__qualname__ = name

    return decorate


def inlined(function: Any) -> Any:
    """Compile a function into those that call it, never on its own.

    A function that is called keeps a symbol, and each compiled caller has a copy of it
    in its own context, where sums may be reassociated differently. Which copy runs
    depends on what was loaded first, from disk or not. Without a symbol there is only
    one version of the code, and every process computes the same bits.
    """
    return numba.njit(forceinline=True, **_SETTINGS)(function)
