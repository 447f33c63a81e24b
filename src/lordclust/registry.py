"""The methods by name: one entry each, loaded on first use."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from inspect import signature
from typing import Any

from lordclust._core.validation import check_choice, unknown_name
from lordclust._core.warn import warn_user

#: Kinds of input that a method works on.
INPUTS = ("graph", "kernel", "features")
#: How close a method is to its source.
STATUSES = ("published", "own solver", "reconstruction")
#: The constraints of kernel k-means on V, or on Z = VV'.
CONSTRAINTS = ("low rank", "nonnegative", "doubly stochastic", "orthonormal")
_RANK, _SIGN, _STOCHASTIC, _ORTHONORMAL = CONSTRAINTS
#: The group of entry points by which installed packages add methods.
GROUP = "lordclust.methods"


@dataclass(frozen=True)
class Method:
    """An entry of the registry.

    Attributes
    ----------
    name : str
        The key.
    home : str or type
        The estimator class, or "package.module:Class"; a module that begins with a
        dot is one of ``lordclust.methods``.
    title : str
        A short description.
    source : str
        Who published it.
    takes : {"graph", "kernel", "features"}
        What it works on: a sparse graph, a full kernel, or the samples themselves.
    status : {"published", "own solver", "reconstruction"}
        "published": the authors' algorithm. "own solver": their problem, solved
        another way. "reconstruction": their paper or code could not be read; the
        docstring states what was taken from where.
    keeps, partly : tuple of str
        Which of ``CONSTRAINTS`` it keeps, and which in part, by a penalty or by their
        trace. Empty for methods that do not factor a similarity.
    """

    name: str
    home: str | type
    title: str
    source: str
    takes: str = "graph"
    status: str = "published"
    keeps: tuple[str, ...] = ()
    partly: tuple[str, ...] = ()

    @property
    def class_name(self) -> str:
        """The name of the estimator class."""
        home = self.home
        return home.partition(":")[2] if isinstance(home, str) else home.__name__

    def load(self) -> Any:
        """Return the estimator class."""
        if not isinstance(self.home, str):
            return self.home
        module, _, name = self.home.partition(":")
        kind = getattr(import_module(module, "lordclust.methods"), name)
        _check_class(self.name, kind)
        return kind


BUILT_IN = (
    Method("lord", ".lord:LoRD", "low-rank doubly stochastic", "Lyu et al. 2025", keeps=(_RANK, _SIGN, _STOCHASTIC)),
    Method("blord", ".lord:BLoRD", "LoRD from soft to hard", "Lyu et al. 2025", keeps=(_RANK, _SIGN, _STOCHASTIC), partly=(_ORTHONORMAL,)),
    Method("kkm", ".kkm:KKM", "kernel k-means", "Dhillon et al. 2004", "kernel", keeps=CONSTRAINTS),
    Method("gkkm", ".gkkm:GKKM", "global kernel k-means", "Tzortzis & Likas 2009", "kernel", keeps=CONSTRAINTS),
    Method("sc", ".sc:SC", "spectral clustering", "Ng, Jordan & Weiss 2001", keeps=(_RANK, _ORTHONORMAL)),
    Method("ncut", ".ncut:NCut", "normalised cut", "Shi & Malik 2000", keeps=(_RANK, _ORTHONORMAL)),
    Method("sr", ".sr:SR", "spectral rotation", "Huang, Nie & Huang 2013", keeps=(_RANK, _ORTHONORMAL)),
    Method("dbsc", ".dbsc:DBSC", "discrete and balanced spectral clustering", "Wang et al. 2023", status="reconstruction", keeps=(_RANK, _ORTHONORMAL)),
    Method("directsc", ".directsc:DirectSC", "direct spectral clustering", "Nie et al. 2024", status="reconstruction", keeps=(_SIGN,), partly=(_RANK, _STOCHASTIC)),
    Method("symnmf", ".symnmf:SymNMF", "symmetric NMF, multiplicative", "Kuang et al. 2012", status="own solver", keeps=(_RANK, _SIGN)),
    Method("phals", ".phals:PHALS", "symmetric NMF by columns", "Hou, Chu & Liao 2023", keeps=(_RANK, _SIGN)),
    Method("s3nmf", ".s3nmf:S3NMF", "self-supervised symmetric NMF", "Jia et al. 2021", keeps=(_RANK, _SIGN)),
    Method("gwl", ".gwl:GWL", "Gromov-Wasserstein graph partition", "Xu et al. 2019", keeps=(_RANK, _SIGN, _STOCHASTIC)),
    Method("nlr", ".nlr:NLR", "nonnegative low-rank factor of the SDP", "Zhuang et al. 2024", status="own solver", keeps=(_RANK, _SIGN, _STOCHASTIC), partly=(_ORTHONORMAL,)),
    Method("dcd", ".dcd:DCD", "Kullback-Leibler fit by a doubly stochastic matrix", "Yang & Oja 2012", status="own solver", keeps=(_RANK, _SIGN, _STOCHASTIC)),
    Method("sdp", ".sdp:SDP", "semidefinite relaxation of k-means", "Peng & Wei 2007", status="own solver", keeps=(_SIGN, _STOCHASTIC), partly=(_ORTHONORMAL,)),
    Method("dsn", ".dsn:DSN", "nearest doubly stochastic matrix", "Zass & Shashua 2006", status="own solver", keeps=(_SIGN, _STOCHASTIC)),
    Method("sds", ".sds:SDS", "structured doubly stochastic matrix", "Wang, Nie & Huang 2016", status="reconstruction", keeps=(_SIGN, _STOCHASTIC), partly=(_RANK, _ORTHONORMAL)),
    Method("dvd", ".dvd:DvD", "doubly stochastic with an eigengap", "Park & Kim 2017", status="reconstruction", keeps=(_SIGN, _STOCHASTIC), partly=(_RANK,)),
    Method("dsni", ".dsni:DSNI", "doubly stochastic and nearly idempotent", "Ah-Pine 2022", status="reconstruction", keeps=(_SIGN, _STOCHASTIC), partly=(_ORTHONORMAL,)),
    Method("dsdc", ".dsdc:DSDC", "doubly stochastic distances", "He & Zhang 2023", "features", "own solver"),
    Method("gmm", ".gmm:GMM", "Gaussian mixture with given shares", "Dempster et al. 1977", "features"),
    Method("balanced_kmeans", ".balanced_kmeans:BalancedKMeans", "k-means with exact sizes", "Malinen & Franti 2014", "features", "own solver"),
)  # fmt: skip


class _Methods(Mapping[str, Method]):
    """The methods by name, first ours, then those of other packages.

    Entry points are read when a name is not one of ours, or all names are needed.
    """

    def __init__(self, lines: tuple[Method, ...]) -> None:
        self._lines = {line.name: line for line in lines}
        self._complete = False

    def __getitem__(self, name: str) -> Method:
        return (self._lines if name in self._lines else self._all())[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def add(self, line: Method) -> None:
        """Add an entry, or replace the one with the same name."""
        self._lines[line.name] = line

    def _all(self) -> dict[str, Method]:
        """Return all entries, including those of installed packages."""
        if not self._complete:
            self._complete = True  # first, for a package that lists the methods
            for entry in entry_points(group=GROUP):
                _add_entry(entry)
        return self._lines


#: The methods by name.
METHODS = _Methods(BUILT_IN)


def list_methods() -> list[str]:
    """Return the names that ``make_method`` accepts.

    Examples
    --------
    >>> "blord" in list_methods()
    True
    """
    return list(METHODS)


def make_method(name: str, n_clusters: int = 8, **params: Any) -> Any:
    """Return a new estimator for the method of this name.

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


def register_method(
    name: str,
    estimator: str | type,
    *,
    title: str = "",
    source: str = "",
    takes: str = "graph",
    status: str = "published",
    replace: bool = False,
) -> None:
    """Add a method that lives in another package.

    It is then available in :func:`list_methods` and :func:`make_method`. The command
    line finds methods of installed packages, which declare their class as an entry
    point of the group ``lordclust.methods``.

    Parameters
    ----------
    name : str
        The key: lower-case letters, digits and underscores, a letter first.
    estimator : type or str
        A scikit-learn clusterer with the parameter ``n_clusters``, or where to find
        it, as "package.module:Class"; then it is loaded and checked on first use.
    title : str, default=""
        A short description; by default the first line of the docstring of the class.
    source : str, default=""
        Who published it.
    takes : {"graph", "kernel", "features"}, default="graph"
        What it works on: a sparse graph, a full kernel, or the samples themselves.
    status : {"published", "own solver", "reconstruction"}, default="published"
        How close it is to its source.
    replace : bool, default=False
        Whether to replace a method of the same name.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> register_method("kmeans", KMeans, source="Lloyd 1982", takes="features")
    >>> make_method("kmeans", n_clusters=3)
    KMeans(n_clusters=3)
    """
    _check_name(name)
    check_choice(takes, INPUTS, "takes")
    check_choice(status, STATUSES, "status")
    if isinstance(estimator, str):
        _check_home(estimator)
    else:
        _check_class(name, estimator)
        title = title or (estimator.__doc__ or "").strip().partition("\n")[0]
    if name in METHODS and not replace:
        raise ValueError(
            f"The method {name!r} exists already. Pass another name, or replace=True."
        )
    METHODS.add(Method(name, estimator, title, source, takes, status))


def _add_entry(entry: EntryPoint) -> None:
    """Register an entry point; issue a warning if it cannot be used."""
    package = entry.dist.name if entry.dist else entry.module.partition(".")[0]
    try:
        kind = entry.load()
        takes = "graph" if getattr(kind, "takes_graph", False) else "features"
        register_method(entry.name, kind, source=package, takes=takes)
    except Exception as error:
        warn_user(
            f"The method {entry.name!r} of the package {package} is left out: {error}",
            UserWarning,
        )


def _check_name(name: str) -> None:
    """Raise an error if a name is unsuitable for a command line or a file name."""
    text = name if isinstance(name, str) else ""
    if not (text.isascii() and text.isidentifier() and text == text.lower().strip("_")):
        raise ValueError(
            "name must be lower-case letters, digits and underscores, with a letter "
            f'first, got {name!r}. Pass for example "label_propagation".'
        )


def _check_home(home: str) -> None:
    """Raise an error if a string does not name a module and a class."""
    module, _, name = home.partition(":")
    if not (name.isidentifier() and all(map(str.isidentifier, module.split(".")))):
        raise ValueError(
            f'estimator must be a class or "package.module:Class", got {home!r}.'
        )


def _check_class(name: str, kind: object) -> None:
    """Raise an error unless kind is a scikit-learn clusterer with n_clusters."""
    from sklearn.base import BaseEstimator, ClusterMixin  # slow; not needed for a list

    if not isinstance(kind, type) or not (
        issubclass(kind, ClusterMixin)
        and issubclass(kind, BaseEstimator)
        and hasattr(kind, "fit")
    ):
        raise TypeError(
            f"The method {name!r} must be a scikit-learn clusterer: a class that "
            "derives from ClusterMixin and BaseEstimator, and whose fit sets labels_. "
            f"Got {kind!r}."
        )
    if "n_clusters" not in signature(kind).parameters:
        raise TypeError(
            f"The method {name!r} must have the parameter n_clusters, but "
            f"{kind.__name__} does not."
        )
