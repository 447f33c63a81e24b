"""Plots of a clustering, compatible with scikit-learn's displays.

``Display.from_...`` computes the data and draws it; ``display.plot(ax=ax)`` draws it
again on other axes. Requires matplotlib: ``pip install "lordclust[plot]"``.
"""

from lordclust._core.colors import cluster_colours
from lordclust.plots.blocks_display import BlocksDisplay
from lordclust.plots.convergence_display import ConvergenceDisplay
from lordclust.plots.layers_display import LayersDisplay
from lordclust.plots.membership_display import MembershipDisplay
from lordclust.plots.path_display import PathDisplay
from lordclust.plots.reliability_display import ReliabilityDisplay
from lordclust.plots.selection_display import SelectionDisplay
from lordclust.plots.sizes_display import SizesDisplay

__all__ = [
    "BlocksDisplay",
    "ConvergenceDisplay",
    "LayersDisplay",
    "MembershipDisplay",
    "PathDisplay",
    "ReliabilityDisplay",
    "SelectionDisplay",
    "SizesDisplay",
    "cluster_colours",
]
