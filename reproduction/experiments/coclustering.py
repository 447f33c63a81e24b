"""Pictures of VV' and Z with the samples ordered by class, as tau grows."""

import base64
import zlib

import numpy as np

from lordclust import make_method, tau_path
from lordclust._core.typing import FloatArray, IntArray
from lordclust.plots._axes import bare
from reproduction import inputs
from reproduction.experiments._sheet import Panel, Sheet, sheet, title
from reproduction.paper import BEST_TAU, SETS
from reproduction.results import Entry, Results, find
from reproduction.store import Cell, Record

#: Pixels per side.
SIDE = 96
#: Taus and data sets of the pictures of VV'.
TAUS, NAMES = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0), ("yale", "orl", "chart")


def run(cell: Cell) -> Record:
    """Return one picture for LoRD, one for each of ``settings["taus"]`` for B-LoRD."""
    known = inputs.data(cell.data)
    order = np.argsort(known.y, kind="stable")
    if cell.method == "lord":
        S = inputs.prepared("graph", cell.data)
        settings = {"affinity": "precomputed", "n_jobs": 1, "start": "path"}
        model = make_method("lord", known.n_clusters, **settings)
        memberships = [model.fit(S).membership_]
    else:
        memberships = _along_path(cell)
    pictures = [encode(thumbnail(P, order)) for P in memberships]
    return {"side": min(SIDE, len(order)), "pictures": pictures}


def _along_path(cell: Cell) -> list[FloatArray]:
    """Return the memberships of one path at the requested taus."""
    S = inputs.prepared("graph", cell.data)
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
    block_starts = np.linspace(0, len(order), side + 1).astype(int)
    sums = np.add.reduceat(P[order], block_starts[:-1], axis=0)
    means = sums / np.diff(block_starts)[:, None]
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


def summarise(group: list[Record]) -> Entry:
    """Return the pictures as they are."""
    (record,) = group
    names = ("method", "data", "side", "pictures")
    taus = record["settings"].get("taus", [])
    return {**{name: record[name] for name in names}, "taus": taus}


# -- figures --------------------------------------------------------------------------


def tau_blocks(results: Results) -> Sheet:
    """Draw VV' of B-LoRD as tau grows, samples ordered by class."""
    taus = list(TAUS)
    found = [e for d in NAMES if (e := find(results, "blocks", data=d, taus=taus))]
    figure, panels = sheet(len(taus) * len(found), len(taus), size=(1.55, 1.6))
    for row, entry in enumerate(found):
        for column, tau in enumerate(taus):
            panel = panels[row * len(taus) + column]
            _show(panel, entry, column)
            if row == 0:
                panel.set_title(f"tau = {tau:g}", size=10)
            if column == 0:
                panel.set_ylabel(title(entry["data"]), size=10)
    return figure


def learned_z(results: Results) -> Sheet:
    """Draw Z of LoRD and of B-LoRD at the paper's best tau, ordered by class."""
    pairs = [
        (lord, blord)
        for data in SETS
        if (lord := find(results, "blocks", method="lord", data=data))
        and (blord := find(results, "blocks", data=data, taus=[BEST_TAU[data]]))
    ]
    columns = min(6, max(1, len(pairs)))
    bands = max(1, -(-len(pairs) // columns))
    figure, panels = sheet(2 * bands * columns, columns, size=(1.55, 1.65))
    for panel in panels:
        panel.axis("off")
    for place, pair in enumerate(pairs):
        band, column = divmod(place, columns)
        for line, entry in enumerate(pair):
            panel = panels[(2 * band + line) * columns + column]
            panel.axis("on")
            _show(panel, entry, 0)
            text = f"B-LoRD, tau {BEST_TAU[entry['data']]:g}"
            text = text if line else f"{title(entry['data'])}\nLoRD"
            panel.set_title(text, size=8.5)
    return figure


def _show(panel: Panel, entry: Entry, place: int) -> None:
    """Show one picture, from white for 0 to dark for 1."""
    picture = decode(entry["pictures"][place], entry["side"])
    panel.imshow(picture, cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
    bare(panel)
