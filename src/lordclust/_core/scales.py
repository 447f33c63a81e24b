"""Whether features have scales so different that few of them decide all distances."""

from typing import NamedTuple

import numpy as np

from lordclust._core.typing import FloatArray

#: Standard deviations may differ by this factor.
FACTOR = 10.0
#: Rows that the standard deviations are estimated from.
ROWS = 1000


class Scales(NamedTuple):
    """Two features whose standard deviations differ much: a large and a small one."""

    large: int
    small: int
    factor: float


def different_scales(X: FloatArray) -> Scales | None:
    """Return two features of very different scales, or None.

    The largest standard deviation is compared with the lower quartile: pixels at the
    margin of an image, which hardly ever differ, are of the same scale as the others.
    Constant features do not count.

    Examples
    --------
    >>> different_scales(np.array([[1.0, 100.0], [2.0, 300.0]]))
    Scales(large=1, small=0, factor=200.0)
    >>> different_scales(np.eye(3)) is None
    True
    """
    with np.errstate(over="ignore", invalid="ignore"):
        spread = X[:: 1 + len(X) // ROWS].std(axis=0)
    order = np.argsort(spread, kind="stable")
    order = order[(spread[order] > 0) & np.isfinite(spread[order])]
    if len(order) < 2:
        return None
    large, small = int(order[-1]), int(order[(len(order) - 1) // 4])
    factor = float(spread[large] / spread[small])
    return Scales(large, small, factor) if factor > FACTOR else None
