"""The data sets that can be loaded, one line each."""

from dataclasses import dataclass

from lordclust.datasets.synthetic import MIXTURES


@dataclass(frozen=True)
class Entry:
    """A data set of the catalog, of n samples, d features and k classes.

    ``sources`` are the places to look for it, in this order: ``"folder"``,
    ``"sklearn"``, ``"openml:ID"``, ``"part-of:NAME"`` or ``"synthetic"``.
    ``preparation`` is how the paper scales the features: "raw", not at all; "minmax",
    to [0, 1]; "colmax", by their maxima.

    Examples
    --------
    >>> CATALOG["wine"].code
    'D10'
    """

    name: str  # for ``load``
    code: str  # D1 to D12 in the paper's tables, empty for others
    title: str
    sources: tuple[str, ...]
    n: int
    d: int
    k: int
    preparation: str
    note: str  # its origin and terms of use


# scikit-learn's Olivetti faces are 64 x 64, not the 32 x 32 crops of D2, and cannot
# replace them. Its wine equals D10 in every row, label and (float32) number.
# One line per data set, to be read as a table, hence the width.
# fmt: off
# ruff: noqa: E501
_ENTRIES = (
    Entry("yale", "D1", "Yale faces, 32 x 32", ("folder",), 165, 1024, 15, "raw", "D. Cai's crops; research use"),
    Entry("orl", "D2", "ORL (AT&T) faces, 32 x 32", ("folder",), 400, 1024, 40, "raw", "D. Cai's crops; research use, credit AT&T Cambridge"),
    Entry("chart", "D3", "Synthetic control charts", ("folder",), 600, 60, 6, "minmax", "UCI 139, CC BY 4.0"),
    Entry("usps1000", "D4", "USPS digits, first 100 of each", ("folder", "part-of:usps"), 1000, 256, 10, "raw", "the paper does not state which 1000"),
    Entry("isolet", "D5", "Isolet spoken letters", ("folder", "openml:300"), 7797, 617, 26, "raw", "UCI 54, CC BY 4.0"),
    Entry("coil100", "D6", "COIL-100 objects, grey 32 x 32", ("folder",), 7200, 1024, 100, "raw", "Columbia University; research use"),
    Entry("semeion", "D7", "Semeion handwritten digits", ("folder", "openml:1501"), 1593, 256, 10, "raw", "UCI 178, CC BY 4.0"),
    Entry("mnist", "D8", "MNIST digits", ("folder", "openml:554"), 70000, 784, 10, "raw", "LeCun, Cortes and Burges"),
    Entry("mnist2000", "D9", "MNIST, first 2000 digits", ("folder", "part-of:mnist"), 2000, 784, 10, "raw", "training half of D. Cai's 2k2k"),
    Entry("wine", "D10", "Wine", ("folder", "sklearn"), 178, 13, 3, "colmax", "UCI 109, CC BY 4.0"),
    Entry("yeast", "D11", "Yeast protein sites", ("folder", "openml:181"), 1484, 8, 10, "raw", "UCI 110, CC BY 4.0"),
    Entry("ecoli", "D12", "E. coli protein sites", ("folder", "openml:39"), 336, 7, 8, "colmax", "UCI 39, CC BY 4.0"),
    Entry("usps", "", "USPS digits", ("folder", "openml:41082"), 9298, 256, 10, "raw", "J. J. Hull, 1994"),
    Entry("digits", "", "Handwritten digits, 8 x 8", ("sklearn",), 1797, 64, 10, "raw", "UCI 80, in scikit-learn"),
    Entry("iris", "", "Iris", ("sklearn",), 150, 4, 3, "raw", "UCI 53, in scikit-learn"),
    Entry("breast_cancer", "", "Breast cancer, Wisconsin", ("sklearn",), 569, 30, 2, "raw", "UCI 17, in scikit-learn"),
    *(Entry(name, "", "Four Gaussians", ("synthetic",), sum(counts), 2, 4, "raw", "drawn with seed 0")
      for name, counts in MIXTURES.items()),
)
# fmt: on

#: All data sets by name.
CATALOG: dict[str, Entry] = {entry.name: entry for entry in _ENTRIES}
