"""Our numba settings, in one place.

Kernels release the GIL, are cached on disk and never use ``parallel=True``: its
default threading layer aborts the process when two Python threads enter it.
``reassoc`` lets sums run in vector registers; infinities and NaN keep their meaning.
"""

from typing import Any

import numba

SAFE_FASTMATH = {"reassoc", "contract", "nsz"}
_SETTINGS = {"nogil": True, "fastmath": SAFE_FASTMATH, "error_model": "numpy"}


def njit(function: Any) -> Any:
    """Compile a function on its first call, and keep it on disk where that can be."""
    try:
        return numba.njit(cache=True, **_SETTINGS)(function)
    except RuntimeError:  # neither the package's folder nor the user's can be written
        return numba.njit(**_SETTINGS)(function)
