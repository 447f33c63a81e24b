"""Colours and marks of clusters that colour-blind readers can tell apart."""

import numpy as np

from lordclust._core.typing import FloatArray
from lordclust._core.validation import check_count

# Okabe and Ito's colours first, then three of other lightness.
BASE = (
    "#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7",
    "#56B4E9", "#8C6D31", "#5E5E5E", "#9467BD", "#A0C334",
)  # fmt: skip
#: How far the second, third ... ten colours are mixed with black (-) or white (+).
SHADES = (0.0, -0.45, 0.5, -0.7, 0.7)
#: Marks of the first ten clusters, the second ten ...: a shade alone is hard to name.
MARKS = "osD^v"
BLUE, ORANGE, INK, QUIET, PALE = "#0072B2", "#D55E00", "#222222", "#767676", "#B9D6E8"


def cluster_colours(n_clusters: int) -> FloatArray:
    """Return a colour for each cluster.

    The first ten differ in hue and lightness. Further tens repeat the hues darker and
    lighter; 50 are different, then they repeat.

    Parameters
    ----------
    n_clusters : int
        How many.

    Returns
    -------
    colours : ndarray of shape (n_clusters, 3)
        Red, green and blue, from 0 to 1.

    Examples
    --------
    >>> cluster_colours(2).round(2)
    array([[0.  , 0.45, 0.7 ],
           [0.84, 0.37, 0.  ]])
    """
    hues = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in BASE])
    j = np.arange(check_count(n_clusters, "n_clusters"))
    shade = np.array(SHADES)[(j // len(BASE)) % len(SHADES), None]
    colours = (1 - np.abs(shade)) * hues[j % len(BASE)] + np.maximum(shade, 0)
    return np.asarray(colours)


def cluster_mark(j: int) -> str:
    """Return the marker of a cluster.

    Examples
    --------
    >>> cluster_mark(0), cluster_mark(10)
    ('o', 's')
    """
    return MARKS[(j // len(BASE)) % len(MARKS)]
