"""Known reasons for numbers that are far from the paper's."""

from reproduction.paper import UNSETTLED

_UNREAD = "open; a reconstruction, since the paper of the method could not be read."

#: By method and data set, or by method alone. Those of data sets are in UNSETTLED.
REASONS = {
    "nlr": (
        "open; the paper tunes the step and the penalty by hand until it converges, "
        "ours are set by the method."
    ),
    "symnmf mnist": (
        "open; on Semeion and Isolet the exponent 1/4 of the cited update and a stop "
        "after 300, 500 or 1000 iterations change the scores by at most .015."
    ),
    "dcd": "open; a normalised cut with another rounding starts elsewhere.",
    "dsdc yale": (
        "open; k-means ends in many partitions of nearly equal inertia, and the "
        "authors' least squares (n <= d + 2 here) do not explain it."
    ),
    "dsdc semeion": "open; k-means ends in many partitions of nearly equal inertia.",
    "s3nmf": (
        "open; hard and soft rebuilding and 1, 2, 5 and 10 rounds were tried, each "
        "from 5 starts, where the paper has 50."
    ),
    "sds": (
        "open; our penalty for seven weights at six scales of S and the authors' "
        "augmented Lagrangian, with and without a fixed trace, were tried."
    ),
    "dbsc chart": (
        "open; the four printed scores are those of `symnmf`, so that DBSC found its "
        "partition, which ours does not."
    ),
    "dbsc": _UNREAD,
    "directsc": _UNREAD,
    "dvd": _UNREAD,
    "dsni": _UNREAD,
}


def reason(method: str, data: str) -> str | None:
    """Return the reason for a cell, or None if none is known.

    Examples
    --------
    >>> reason("sc", "coil100")
    'rebuilt from the colour pictures, 102 of 7200 in part by estimate.'
    """
    if data in UNSETTLED:
        return f"{UNSETTLED[data]}."
    return REASONS.get(f"{method} {data}", REASONS.get(method))
