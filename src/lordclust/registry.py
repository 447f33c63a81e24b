"""Every method by name: one line each, loaded on first use."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from lordclust._core.validation import unknown_name

#: How close a method is to its source.
STATUSES = ("published", "own solver", "reconstruction")


@dataclass(frozen=True)
class Method:
    """A line of the registry.

    Attributes
    ----------
    name : str
        The key.
    home : str
        "module:Class" below ``lordclust.methods``.
    title : str
        What it is, in a few words.
    source : str
        Who published it.
    takes : {"graph", "kernel", "features"}
        What it works on: a sparse graph, a full kernel, or the samples themselves.
    status : {"published", "own solver", "reconstruction"}
        "published": the authors' algorithm. "own solver": their problem, solved
        another way. "reconstruction": their paper or code could not be read; the
        docstring says what was taken from where.
    """

    name: str
    home: str
    title: str
    source: str
    takes: str = "graph"
    status: str = "published"

    @property
    def class_name(self) -> str:
        """The name of the estimator."""
        return self.home.partition(":")[2]

    def load(self) -> Any:
        """Return the estimator class."""
        module, _, name = self.home.partition(":")
        return getattr(import_module(f"lordclust.methods.{module}"), name)


_LINES = (
    Method("lord", "lord:LoRD", "low-rank doubly stochastic", "Lyu et al. 2025"),
    Method("blord", "lord:BLoRD", "LoRD from soft to hard", "Lyu et al. 2025"),
    Method("kkm", "kkm:KKM", "kernel k-means", "Dhillon et al. 2004", "kernel"),
    Method("gkkm", "gkkm:GKKM", "global kernel k-means", "Tzortzis & Likas 2009", "kernel"),
    Method("sc", "sc:SC", "spectral clustering", "Ng, Jordan & Weiss 2001"),
    Method("ncut", "ncut:NCut", "normalised cut", "Shi & Malik 2000"),
    Method("sr", "sr:SR", "spectral rotation", "Huang, Nie & Huang 2013"),
    Method("dbsc", "dbsc:DBSC", "discrete and balanced spectral clustering", "Wang et al. 2023", status="reconstruction"),
    Method("directsc", "directsc:DirectSC", "direct spectral clustering", "Nie et al. 2024", status="reconstruction"),
    Method("symnmf", "symnmf:SymNMF", "symmetric NMF, multiplicative", "Kuang et al. 2012", status="own solver"),
    Method("phals", "phals:PHALS", "symmetric NMF by columns", "Hou, Chu & Liao 2023"),
    Method("s3nmf", "s3nmf:S3NMF", "self-supervised symmetric NMF", "Jia et al. 2021"),
    Method("gwl", "gwl:GWL", "Gromov-Wasserstein graph partition", "Xu et al. 2019"),
    Method("nlr", "nlr:NLR", "nonnegative low-rank factor of the SDP", "Zhuang et al. 2024", status="own solver"),
    Method("dcd", "dcd:DCD", "Kullback-Leibler fit by a doubly stochastic matrix", "Yang & Oja 2012", status="own solver"),
    Method("sdp", "sdp:SDP", "semidefinite relaxation of k-means", "Peng & Wei 2007", status="own solver"),
    Method("dsn", "dsn:DSN", "nearest doubly stochastic matrix", "Zass & Shashua 2006", status="own solver"),
    Method("sds", "sds:SDS", "structured doubly stochastic matrix", "Wang, Nie & Huang 2016", status="reconstruction"),
    Method("dvd", "dvd:DvD", "doubly stochastic with an eigengap", "Park & Kim 2017", status="reconstruction"),
    Method("dsni", "dsni:DSNI", "doubly stochastic and nearly idempotent", "Ah-Pine 2022", status="reconstruction"),
    Method("dsdc", "dsdc:DSDC", "doubly stochastic distances", "He & Zhang 2023", "features", "own solver"),
    Method("gmm", "gmm:GMM", "Gaussian mixture with given shares", "Dempster et al. 1977", "features"),
    Method("balanced_kmeans", "balanced_kmeans:BalancedKMeans", "k-means with exact sizes", "Malinen & Franti 2014", "features", "own solver"),
)  # fmt: skip

#: The methods by name.
METHODS: dict[str, Method] = {line.name: line for line in _LINES}


def list_methods() -> list[str]:
    """Return the names that ``make_method`` knows.

    Examples
    --------
    >>> "blord" in list_methods()
    True
    """
    return list(METHODS)


def make_method(name: str, n_clusters: int = 8, **params: Any) -> Any:
    """Return a new estimator, by the name of its method.

    Parameters
    ----------
    name : str
        One of :func:`list_methods`.
    n_clusters : int, default=8
        Number of clusters k.
    **params : dict
        Further parameters of the estimator.

    Returns
    -------
    estimator : a scikit-learn estimator

    Examples
    --------
    >>> make_method("blord", n_clusters=3, tau=0.5)
    BLoRD(n_clusters=3, tau=0.5)
    """
    if name not in METHODS:
        raise unknown_name("method", name, METHODS)
    return METHODS[name].load()(n_clusters=n_clusters, **params)
