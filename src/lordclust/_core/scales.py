"""Whether features have scales so different that few of them decide all distances."""

from typing import NamedTuple

import numpy as np

from lordclust._core.typing import FloatArray

#: Standard deviations may differ by this factor.
FACTOR = 10.0
#: Rows that the standard deviations are estimated from.
ROWS = 1000
#: Standard deviations within which the densest quarter of Gaussian values lies.
QUARTER = 0.637
#: The least number of samples.
FEWEST = 10
#: A standard deviation below this part of the largest value is rounding.
ROUNDING = 1e-12


class Scales(NamedTuple):
    """Two features whose standard deviations differ much: a large and a small one."""

    large: int
    small: int
    factor: float


def different_scales(X: FloatArray) -> Scales | None:
    """Return two features of very different scales, or None.

    The largest standard deviation is compared with the lower quartile of all: pixels at
    the margin of an image hardly ever differ, but have the unit of the others. For the
    same reason the scale of a rare indicator is an eighth of its range. Neither is a
    feature large because clusters are far apart in it: its scale within them, that of
    the densest quarter of its values, must be larger as well. Constant features do not
    count, and few samples do not tell.

    Examples
    --------
    >>> X = np.arange(10.0)[:, None] * [1.0, 64.0]
    >>> different_scales(X)
    Scales(large=1, small=0, factor=64.0)
    >>> different_scales(np.eye(10)) is None
    True
    """
    part = X[:: 1 + len(X) // ROWS]
    with np.errstate(over="ignore", invalid="ignore"):
        spread = part.std(axis=0, dtype=np.float64)
        scale = np.maximum(spread, np.ptp(part, axis=0) / 8)
    varies = (spread > ROUNDING * np.abs(part).max(axis=0)) & np.isfinite(scale)
    varies = np.flatnonzero(varies)
    if len(X) < FEWEST or len(varies) < 2:
        return None
    order = varies[np.argsort(scale[varies], kind="stable")]
    large, small = varies[spread[varies].argmax()], order[(len(order) - 1) // 4]
    factor = float(spread[large] / scale[small])
    if factor <= FACTOR or _densest(part[:, large]) <= FACTOR * scale[small]:
        return None
    return Scales(int(large), int(small), factor)


def _densest(x: FloatArray) -> float:
    """Return the scale of the densest quarter of values; inf if these are equal.

    Of Gaussian values it is the standard deviation.
    """
    x, m = np.sort(x), max(FEWEST // 2, len(x) // 4)
    width = float((x[m - 1 :] - x[: len(x) - m + 1]).min())
    return width / QUARTER if width > 0 else np.inf
