"""Our numba settings, in one place.

Kernels release the GIL, are cached on disk and never use ``parallel=True``: its
default threading layer aborts the process when two Python threads enter it.
``reassoc`` lets sums run in vector registers; infinities and NaN keep their meaning.
"""

from typing import Any

import numba

SAFE_FASTMATH = {"reassoc", "contract", "nsz"}

njit: Any = numba.njit(
    nogil=True, cache=True, fastmath=SAFE_FASTMATH, error_model="numpy"
)
