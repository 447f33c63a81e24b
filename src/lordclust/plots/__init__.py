"""Pictures of a clustering, in the manner of scikit-learn's displays.

``Display.from_...`` computes what there is to see and draws it; ``display.plot(ax=ax)``
draws it again elsewhere. Needs matplotlib: ``pip install "lordclust[plot]"``.
"""

from lordclust.plots.blocks import BlocksDisplay
from lordclust.plots.convergence import ConvergenceDisplay
from lordclust.plots.membership import MembershipDisplay
from lordclust.plots.palette import cluster_colours
from lordclust.plots.path import PathDisplay
from lordclust.plots.selection import SelectionDisplay
from lordclust.plots.sizes import SizesDisplay

__all__ = [
    "BlocksDisplay",
    "ConvergenceDisplay",
    "MembershipDisplay",
    "PathDisplay",
    "SelectionDisplay",
    "SizesDisplay",
    "cluster_colours",
]
