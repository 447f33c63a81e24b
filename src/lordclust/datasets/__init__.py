"""Data sets by name, and samples and graphs drawn at random."""

from lordclust.datasets.catalog import CATALOG, Entry
from lordclust.datasets.load import Dataset, list_datasets, load
from lordclust.datasets.synthetic import block_graph, four_gaussians

__all__ = [
    "CATALOG",
    "Dataset",
    "Entry",
    "block_graph",
    "four_gaussians",
    "list_datasets",
    "load",
]
