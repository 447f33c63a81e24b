"""From samples to similarities: X -> S."""

from lordclust._core.warn import ScaleWarning
from lordclust.graph.affinity import AFFINITIES, make_affinity
from lordclust.graph.convert import NamedGraph, from_igraph, from_networkx
from lordclust.graph.kernel import gaussian_kernel, linear_kernel, self_tuning_kernel
from lordclust.graph.knn import KNNGraph
from lordclust.graph.normalize import (
    ComponentReport,
    component_report,
    scale_to_unit_sum,
    symmetrize,
)

__all__ = [
    "AFFINITIES",
    "ComponentReport",
    "KNNGraph",
    "NamedGraph",
    "ScaleWarning",
    "component_report",
    "from_igraph",
    "from_networkx",
    "gaussian_kernel",
    "linear_kernel",
    "make_affinity",
    "scale_to_unit_sum",
    "self_tuning_kernel",
    "symmetrize",
]
