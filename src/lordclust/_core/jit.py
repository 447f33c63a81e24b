"""The numba settings, in one place.

Kernels release the GIL, are cached on disk and never use ``parallel=True``: its
default threading layer aborts the process when two Python threads enter it.
``reassoc`` lets sums run in vector registers; infinities and NaN keep their meaning.

``counts=False`` leaves out the reference counts of arrays, for kernels that allocate
none: there is much less to compile.
"""

import inspect
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from types import ModuleType
from typing import Any

import numba
from numba.core import event

from lordclust._core import _inlining
from lordclust._core._cache import SafeCache
from lordclust._core.compiling import CLOCK

SAFE_FASTMATH = {"reassoc", "contract", "nsz"}
_SETTINGS = {
    "nogil": True,
    "fastmath": SAFE_FASTMATH,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}


class Watch(event.Listener):
    """Tell the clock when a kernel of ours is compiled, not read from disk."""

    def on_start(self, event: Any) -> None:
        """Start the clock."""
        if _is_ours(event):
            CLOCK.begin()

    def on_end(self, event: Any) -> None:
        """Stop it."""
        if _is_ours(event):
            CLOCK.end()


def _is_ours(event: Any) -> bool:
    """Return whether the function that is compiled belongs to lordclust."""
    module = event.data["dispatcher"].py_func.__module__ or ""
    return bool(module.partition(".")[0] == "lordclust")


event.register("numba:compile", Watch())


def njit(function: Any, *, counts: bool = True) -> Any:
    """Compile a function on its first call, and cache it on disk if possible."""
    compiled = numba.njit(_nrt=counts, **_inlining.OPTIONS, **_SETTINGS)(function)
    # Neither the package's folder nor the user's may be writable.
    with suppress(Exception):
        compiled._cache = SafeCache(function)
    return compiled


def njit_with(*modules: ModuleType, counts: bool = True) -> Callable[[Any], Any]:
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
            return njit(function, counts=counts)
        finally:
            function.__qualname__ = name

    return decorate


def inlined(function: Any, *, counts: bool = True, optimised: bool = False) -> Any:
    """Compile a function into those that call it, never on its own.

    A function that is called keeps a symbol, and each compiled caller has a copy of it
    in its own context, where sums may be reassociated differently. Which copy runs
    depends on what was loaded first, from disk or not. Without a symbol there is only
    one version of the code, and every process computes the same bits. Python cannot
    call it.

    ``optimised`` functions are optimised once before they become part of a caller.
    """
    options = {"forceinline": True, "no_cpython_wrapper": True, "_nrt": counts}
    options |= _inlining.OPTIONS if optimised else _inlining.INLINED_OPTIONS
    return numba.njit(**options, **_SETTINGS)(function)
