"""Pictures of VV' and Z with the samples ordered by class."""

from typing import Any

from lordclust.plots._axes import bare
from lordclust.reproduction.figures._sheet import sheet, titles
from lordclust.reproduction.paper import BEST_TAU, SETS
from lordclust.reproduction.plan import BLOCK_SETS, BLOCK_TAUS
from lordclust.reproduction.results import Results, find
from lordclust.reproduction.work.blocks import decode


def tau_blocks(results: Results) -> Any:
    """Draw VV' of B-LoRD as tau grows, samples ordered by class."""
    taus = list(BLOCK_TAUS)
    found = [find(results, "blocks", data=d, taus=taus) for d in BLOCK_SETS]
    found = [entry for entry in found if entry is not None]
    figure, panels = sheet(len(taus) * len(found), len(taus), size=(1.55, 1.6))
    for row, entry in enumerate(found):
        for column, tau in enumerate(taus):
            panel = panels[row * len(taus) + column]
            _show(panel, entry, column)
            if row == 0:
                panel.set_title(f"tau = {tau:g}", size=10)
            if column == 0:
                panel.set_ylabel(titles([entry["data"]])[0], size=10)
    return figure


def learned_z(results: Results) -> Any:
    """Draw Z of LoRD and of B-LoRD at the paper's best tau, ordered by class."""
    pairs = []
    for data in SETS:
        lord = find(results, "blocks", method="lord", data=data)
        blord = find(results, "blocks", data=data, taus=[BEST_TAU[data]])
        if lord is not None and blord is not None:
            pairs.append((lord, blord))
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
            name = titles([entry["data"]])[0]
            method = "LoRD" if line == 0 else f"B-LoRD, {BEST_TAU[entry['data']]:g}"
            panel.set_title(f"{name}\n{method}" if line == 0 else method, size=8.5)
    return figure


def _show(panel: Any, entry: dict[str, Any], place: int) -> None:
    """Show one picture, white for never and dark for surely."""
    picture = decode(entry["pictures"][place], entry["side"])
    panel.imshow(picture, cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
    bare(panel)
