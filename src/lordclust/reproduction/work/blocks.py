"""Pictures of VV' and Z, samples ordered by class, small enough to keep as text."""

import base64
import zlib

import numpy as np

from lordclust import make_method, tau_path
from lordclust._core.typing import FloatArray, IntArray
from lordclust.reproduction import inputs
from lordclust.reproduction.store import Cell, Record

#: Pixels of a side.
SIDE = 96


def run(cell: Cell) -> Record:
    """Return one picture for LoRD, one for each of ``settings["taus"]`` for B-LoRD."""
    known = inputs.data(cell.data)
    order = np.argsort(known.y, kind="stable")
    if cell.method == "lord":
        S = inputs.prepared("graph", cell.data)
        model = make_method("lord", known.n_clusters, affinity="precomputed", n_jobs=1)
        memberships = [model.fit(S).membership_]
    else:
        memberships = _along(cell)
    pictures = [encode(thumbnail(P, order)) for P in memberships]
    return {"side": min(SIDE, len(order)), "pictures": pictures}


def _along(cell: Cell) -> list[FloatArray]:
    """Return the memberships of one path at the taus asked for."""
    S, _ = inputs.graph(cell.data)
    wanted = cell.settings["taus"]
    grid = np.unique(np.round([*np.arange(0.02, 1.001, 0.02), *wanted], 6))
    k = inputs.data(cell.data).n_clusters
    path = tau_path(S, k, taus=grid[grid <= max(wanted)], keep=wanted, n_jobs=1)
    return [path.membership(tau) for tau in wanted]


def thumbnail(P: FloatArray, order: IntArray) -> FloatArray:
    """Return PP' in the order, as means over cells of a grid, at most 1.

    For equal shares VV' is the same up to a factor.
    """
    side = min(SIDE, len(order))
    edges = np.linspace(0, len(order), side + 1).astype(int)
    sums = np.add.reduceat(P[order], edges[:-1], axis=0)
    means = sums / np.diff(edges)[:, None]
    Z = means @ means.T
    return np.asarray(Z / Z.max())


def encode(Z: FloatArray) -> str:
    """Return a picture as text: 256 shades, compressed."""
    shades = np.round(255 * Z).astype(np.uint8)
    return base64.b85encode(zlib.compress(shades.tobytes(), 9)).decode()


def decode(text: str, side: int) -> FloatArray:
    """Return the picture of a text.

    Examples
    --------
    >>> decode(encode(np.eye(2)), 2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    raw = zlib.decompress(base64.b85decode(text))
    return np.frombuffer(raw, np.uint8).reshape(side, side) / 255
