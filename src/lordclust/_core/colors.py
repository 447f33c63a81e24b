"""Colours of all plots, chosen so that colour-blind readers can tell them apart."""

import numpy as np

from lordclust._core.typing import FloatArray, IntArray
from lordclust._core.validation import check_count

BLUE, ORANGE, INK, QUIET, PALE = "#0072B2", "#D55E00", "#222222", "#767676", "#B9D6E8"

#: Cluster colours: those of Okabe and Ito, then three that differ in lightness; and the
#: same hues for a dark page.
CLUSTERS = (
    "#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7",
    "#56B4E9", "#8C6D31", "#5E5E5E", "#9467BD", "#A0C334",
)  # fmt: skip
CLUSTERS_ON_DARK = (
    "#4AA3DF", "#FF7F3E", "#2CC295", "#F5B83D", "#E59AC4",
    "#9AD8FA", "#C9A55A", "#A3AAB4", "#A78BFA", "#C5E066",
)  # fmt: skip
#: How far the second, third ... ten colours are mixed with black (-) or white (+).
SHADES = (0.0, -0.45, 0.5, -0.7, 0.7)
SHADES_ON_DARK = (0.0, -0.4, 0.55, -0.55, 0.75)
#: Markers of the first ten clusters, the second ten ...: shades alone are hard to name.
MARKERS = "osD^v"
#: Probabilities from 0 to 1, on a white and on a dark page.
RAMP = ("#FFFFFF", "#9CC9E5", BLUE, "#00243D")
RAMP_ON_DARK = ("#191C1F", "#1C4A66", "#4AA3DF", "#E4F3FD")


def cluster_colours(n_clusters: int, *, dark: bool = False) -> FloatArray:
    """Return a colour for each cluster.

    The first ten differ in hue and lightness. Further tens repeat the hues darker and
    lighter; 50 are different, then they repeat.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    dark : bool, default=False
        Return lighter colours, for a dark background.

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
    j = np.arange(check_count(n_clusters, "n_clusters"))
    return _shaded(j % len(CLUSTERS), j // len(CLUSTERS), dark)


def nested_colours(
    parents: IntArray, n_hues: int, *, dark: bool = False
) -> tuple[FloatArray, str]:
    """Return colours and markers of nested clusters: a part has the hue of its whole.

    Parameters
    ----------
    parents : ndarray of int, shape (m,)
        The cluster that each was split from, an earlier one; -1 for the first.
    n_hues : int
        The first clusters, at least two, have hues of their own; the others are shades
        of these.
    dark : bool, default=False
        Return lighter colours, for a dark background.

    Returns
    -------
    colours : ndarray of shape (m, 3)
        Red, green and blue, from 0 to 1.
    markers : str of length m
        25 clusters of one hue differ in shade or marker.

    Examples
    --------
    >>> colours, markers = nested_colours(np.array([-1, 0, 1]), 2)
    >>> colours.round(2)
    array([[0.  , 0.45, 0.7 ],
           [0.84, 0.37, 0.  ],
           [0.46, 0.2 , 0.  ]])
    >>> markers
    'oos'
    """
    hue = np.arange(len(parents)) % len(CLUSTERS)
    for j in range(max(n_hues, 2), len(parents)):
        hue[j] = hue[parents[j]]
    rank = np.array([np.count_nonzero(hue[:j] == h) for j, h in enumerate(hue)])
    turn = (rank + rank // len(MARKERS)) % len(MARKERS)
    return _shaded(hue, rank, dark), "".join(MARKERS[t] for t in turn)


def _shaded(hue: IntArray, rank: IntArray, dark: bool) -> FloatArray:
    """Return hues, mixed with black or white for all but those of rank 0."""
    base = CLUSTERS_ON_DARK if dark else CLUSTERS
    shades = np.array(SHADES_ON_DARK if dark else SHADES)
    hues = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in base])
    shade = shades[rank % len(shades), None]
    return np.asarray((1 - np.abs(shade)) * hues[hue] + np.maximum(shade, 0))


def cluster_marker(j: int) -> str:
    """Return the marker of a cluster."""
    return MARKERS[(j // len(CLUSTERS)) % len(MARKERS)]


def as_hex(colours: FloatArray) -> list[str]:
    """Return colours as hexadecimal strings, as in HTML."""
    return ["#" + bytes(row).hex() for row in np.rint(255 * colours).astype(np.uint8)]
