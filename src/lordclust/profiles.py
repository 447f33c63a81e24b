"""Profiles of clusters: what distinguishes them, who is typical, who is in doubt."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from lordclust._core.html import html_table
from lordclust._core.typing import BoolArray, FloatArray, Graph, IntArray, Samples

#: Samples listed for each cluster: typical ones, and those in doubt; and for a sample.
EXEMPLARS, BORDER, NEIGHBORS = 5, 3, 10
#: A sample is in doubt if its second cluster has at least this probability.
DOUBT = 0.1
#: Features in the text of a cluster, and how many standard deviations they must
#: differ by; from the last number on they differ much.
FEATURES, DISTINCTIVE, STRONG = 5, 0.3, 1.0


class FeatureDifference(NamedTuple):
    """A feature of a cluster, compared with all samples.

    Attributes
    ----------
    name : str
        The feature.
    mean, overall : float
        Its mean in the cluster and over all samples, in its own units.
    difference : float
        The difference of the two in standard deviations of all samples.
    binary : bool
        Whether all values are 0 or 1: the means are shares.
    digits : int
        Decimal digits that are worth printing.
    is_date : bool
        Whether values are days since 1970.
    is_percent : bool
        Whether values are percentages.
    """

    name: str
    mean: float
    overall: float
    difference: float
    binary: bool = False
    digits: int = 2
    is_date: bool = False
    is_percent: bool = False

    @property
    def is_distinctive(self) -> bool:
        """Whether the cluster differs from all samples in this feature."""
        return abs(self.difference) >= DISTINCTIVE

    @property
    def side(self) -> str:
        """The side of the mean of all samples, in words."""
        much = "much " if abs(self.difference) >= STRONG else ""
        words = ("later", "earlier") if self.is_date else ("higher", "lower")
        return much + words[self.difference <= 0]

    def shown(self, value: float) -> str:
        """Return a value of this feature as text."""
        if self.is_date and abs(value) < 1e6:
            return str(np.datetime64(round(value), "D"))
        unit = "%" if self.is_percent else ""
        return _number(value, self.digits, self.binary) + unit


class BorderCase(NamedTuple):
    """A sample in doubt.

    Attributes
    ----------
    sample : int
        Its index.
    probability : float
        Of its own cluster.
    second : int
        The most probable of the other clusters.
    second_probability : float
        Of that cluster.
    """

    sample: int
    probability: float
    second: int
    second_probability: float


@dataclass(frozen=True, eq=False)
class ClusterProfile:
    """What one cluster is like.

    Attributes
    ----------
    cluster : int
        Its number, as in ``labels_``.
    name : str
        The given name, or "Segment" and the number.
    size : int
        Number of samples.
    share : float
        Their share of all samples, by weight.
    features : list of FeatureDifference
        All features, the most distinctive first; empty if there are none.
    exemplars : ndarray of int
        The most typical samples, the most typical first.
    border : list of BorderCase
        The samples most in doubt.
    """

    cluster: int
    name: str
    size: int
    share: float
    features: list[FeatureDifference]
    exemplars: IntArray
    border: list[BorderCase]

    @property
    def distinctive(self) -> list[FeatureDifference]:
        """The few features by which the cluster differs most from all samples."""
        return [one for one in self.features[:FEATURES] if one.is_distinctive]


@dataclass(frozen=True, eq=False, repr=False)
class Profiles:
    """What distinguishes the clusters, in numbers and in words.

    ``print(profiles)`` is a text, ``profiles[j]`` the profile of cluster j, and
    :meth:`to_frame` a table of all features.

    Attributes
    ----------
    features : list of str, length d
        Names of the features.
    sizes : ndarray of int, shape (k,)
        Number of samples in each cluster.
    shares : ndarray of shape (k,)
        Share of each cluster in all samples, by weight.
    means : ndarray of shape (k, d)
        Means of the features in each cluster.
    overall, spread : ndarray of shape (d,)
        Mean and standard deviation of each feature over all samples.
    binary : ndarray of bool, shape (d,)
        Whether a feature has only the values 0 and 1.
    exemplars : list of ndarray of int
        Typical samples of each cluster.
    border : list of list of BorderCase
        Samples of each cluster that are in doubt.
    names : list of str, optional
        Names of the clusters.
    ids : sequence of str, optional
        Names of the samples.
    dates : set of str
        Features that are days since 1970, shown as dates.
    percents : set of str
        Features that are percentages.
    """

    features: list[str]
    sizes: IntArray
    shares: FloatArray
    means: FloatArray
    overall: FloatArray
    spread: FloatArray
    binary: BoolArray
    exemplars: list[IntArray]
    border: list[list[BorderCase]]
    names: list[str] | None = None
    ids: Sequence[str] | None = None
    dates: frozenset[str] = frozenset()
    percents: frozenset[str] = frozenset()

    @property
    def differences(self) -> FloatArray:
        """Differences from the mean of all samples in standard deviations, (k, d)."""
        unit = np.where(self.spread > 0, self.spread, np.inf)
        return np.asarray((self.means - self.overall) / unit)

    def __len__(self) -> int:
        return len(self.sizes)

    def __iter__(self) -> Iterator[ClusterProfile]:
        return (self[j] for j in range(len(self)))

    def __getitem__(self, cluster: int) -> ClusterProfile:
        j = range(len(self))[cluster]
        z = self.differences[j]
        features = [
            FeatureDifference(
                self.features[f],
                float(self.means[j, f]),
                float(self.overall[f]),
                float(z[f]),
                bool(self.binary[f]),
                decimals(self.spread[f]),
                self.features[f] in self.dates,
                self.features[f] in self.percents,
            )
            for f in np.argsort(-np.abs(z), kind="stable")
        ]
        size, share = int(self.sizes[j]), float(self.shares[j])
        typical, doubt = self.exemplars[j], self.border[j]
        return ClusterProfile(j, self.title(j), size, share, features, typical, doubt)

    def title(self, cluster: int) -> str:
        """Return the name of a cluster, or its number."""
        return f"Segment {cluster}" if self.names is None else self.names[cluster]

    def called(self, sample: int) -> str:
        """Return the name of a sample, or its number."""
        return str(sample if self.ids is None else self.ids[sample])

    def columns(self) -> dict[str, list[Any]]:
        """Return a table with a row for each cluster and feature, column by column."""
        rows: list[dict[str, Any]] = []
        for one in self:
            start: dict[str, Any] = {"label": one.cluster}
            if self.names is not None:
                start["name"] = one.name
            start |= {"size": one.size, "share": round(one.share, 6)}
            rows += [
                start
                | {
                    "feature": f.name,
                    "mean": _plain(f.mean),
                    "mean_of_all": _plain(f.overall),
                    "difference": round(f.difference, 6),
                }
                for f in one.features
            ] or [start]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each cluster and feature.

        Columns: label, name (if names were given), size, share, feature, mean,
        mean_of_all, and the difference of both in standard deviations, by which the
        rows of a cluster are sorted.
        """
        try:
            import pandas
        except ImportError:
            raise ImportError(
                "to_frame needs pandas, which is not installed. Run: pip install pandas"
            ) from None
        return pandas.DataFrame(self.columns())

    def __repr__(self) -> str:
        return f"Profiles({len(self)} clusters, {len(self.features)} features)"

    def __str__(self) -> str:
        return "\n\n".join("\n".join(self._lines(one)) for one in self)

    def _lines(self, one: ClusterProfile) -> list[str]:
        """Return the text of one cluster."""
        head = f"{one.name} ({one.size} samples, {one.share:.0%})"
        if one.size == 0:
            return [head]
        table = [
            [f.name, f.shown(f.mean), f"(all: {f.shown(f.overall)}, {f.side})"]
            for f in one.distinctive
        ]
        lines = [f"  {line}" for line in aligned(table)]
        if one.features and not table:
            lines = ["  near the mean of all samples in every feature"]
        lines.append(f"  typical: {', '.join(self.called(i) for i in one.exemplars)}")
        if one.border:
            doubt = [self._doubt(case) for case in one.border]
            lines.append(f"  in doubt: {', '.join(doubt)}")
        return [head, *lines]

    def _doubt(self, case: BorderCase) -> str:
        """Return a sample in doubt, and where else it may belong."""
        other, p = self.title(case.second), case.second_probability
        return f"{self.called(case.sample)} ({other}: {p:.0%})"

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        rows = []
        for one in self:
            what = [
                f"{f.name} {f.shown(f.mean)} (all: {f.shown(f.overall)}, {f.side})"
                for f in one.distinctive
            ]
            typical = ", ".join(self.called(i) for i in one.exemplars)
            doubt = ", ".join(self._doubt(case) for case in one.border)
            size = f"{one.size} ({one.share:.0%})"
            rows.append([one.name, size, "; ".join(what), typical, doubt])
        head = ["segment", "samples", "distinctive", "typical", "in doubt"]
        return html_table(f"Profiles of {len(self)} clusters", head, rows)


def make_profiles(
    X: Samples,
    labels: IntArray,
    k: int,
    *,
    P: Graph = None,
    weight: FloatArray | None = None,
    exemplars: list[IntArray] | None = None,
    feature_names: Iterable[object] | None = None,
    names: Iterable[object] | None = None,
    ids: Iterable[object] | None = None,
    dates: Iterable[str] = (),
    percents: Iterable[str] = (),
) -> Profiles:
    """Return the profiles of clusters.

    Parameters
    ----------
    X : array-like or sparse of shape (n, d), or None
        Features in the units to be shown.
    labels : ndarray of int, shape (n,)
        Clusters 0 to k-1, or -1 for outliers.
    k : int
        Number of clusters.
    P : ndarray or sparse of shape (n, k), optional
        Memberships.
    weight : ndarray of shape (n,), optional
        Sample weights.
    exemplars : list of ndarray of int, optional
        Typical samples of each cluster; by default found from X and P.
    feature_names, names, ids : sequences, optional
        Names of the features, of the clusters and of the samples.
    dates : sequence of str, default=()
        Names of features that are days since 1970, to be shown as dates.
    percents : sequence of str, default=()
        Names of features that are percentages, to be shown with a percent sign.

    Returns
    -------
    profiles : Profiles

    Examples
    --------
    >>> X = np.array([[0.0, 1], [1, 1], [2, 0], [7, 0], [8, 0], [9, 0]])
    >>> labels = np.array([0, 0, 0, 1, 1, 1])
    >>> print(make_profiles(X, labels, 2, feature_names=["age", "member"]))
    Segment 0 (3 samples, 50%)
      age     1.00  (all: 4.50, lower)
      member   67%  (all: 33%, higher)
      typical: 1, 0, 2
    <BLANKLINE>
    Segment 1 (3 samples, 50%)
      age     8.00  (all: 4.50, higher)
      member    0%  (all: 33%, lower)
      typical: 4, 3, 5
    """
    n = len(labels)
    if feature_names is None:
        feature_names = getattr(X, "columns", None)
    X = as_features(X, n)
    own = labels >= 0
    weight = own * (1.0 if weight is None else weight)
    overall, spread = moments(X, weight)
    shares = np.bincount(labels[own], (weight / weight.sum())[own], minlength=k)
    if exemplars is None:
        exemplars = find_exemplars(labels, k, P, X, weight)
    called = None if ids is None else [str(one) for one in ids]
    if called is not None and len(called) != n:
        raise ValueError(
            f"ids must have {n} entries, one per sample, got {len(called)}."
        )
    return Profiles(
        check_feature_names(feature_names, X.shape[1]),
        np.bincount(labels[own], minlength=k),
        shares.astype(np.float64),
        cluster_means(X, labels, weight, k, overall),
        overall,
        spread,
        is_binary(X),
        exemplars,
        find_border(labels, k, P),
        None if names is None else check_names(names, k),
        called,
        frozenset(dates),
        frozenset(percents),
    )


# -- names and features -------------------------------------------------------------


def check_names(names: Iterable[object], k: int) -> list[str]:
    """Return the names of the clusters; raise an error unless there is one for each."""
    texts = [str(name).strip() for name in names]
    if len(texts) != k or len(set(texts)) < k or "" in texts:
        raise ValueError(
            f"names must be {k} different names, one per cluster in the order of their "
            f"numbers, got {texts}."
        )
    return texts


def check_feature_names(names: Iterable[object] | None, d: int) -> list[str]:
    """Return the names of the features, x0, x1, ... by default."""
    if names is None:
        return [f"x{j}" for j in range(d)]
    texts = [str(name) for name in names]
    if len(texts) != d:
        raise ValueError(
            f"feature_names must have {d} entries, one per feature, got {len(texts)}."
        )
    return texts


def as_features(X: Samples, n: int, *, missing: bool = False) -> Graph:
    """Return features as float64, with no column if there are none."""
    if X is None:
        return np.empty((n, 0))
    try:
        X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
        X = X.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise ValueError(
            "X must hold numbers, got text. Leave these columns out, or pass 0/1 "
            "columns instead, for example from pandas.get_dummies."
        ) from None
    if X.ndim != 2 or X.shape[0] != n:
        raise ValueError(
            f"X must have one row for each of the {n} fitted samples, got shape "
            f"{X.shape}. Pass the samples that the model was fitted to, in that order."
        )
    values = X.data if sparse.issparse(X) else X
    if (np.isinf(values) if missing else ~np.isfinite(values)).any():
        raise ValueError("X has missing or infinite values. Fill them.")
    return X


def filled(X: FloatArray, labels: IntArray, k: int, weight: FloatArray) -> FloatArray:
    """Return X with the mean of the observed values of its cluster where one is NaN.

    Means of clusters are then those of the observed values.
    """
    seen = ~np.isnan(X)
    part, own = np.where(seen, X, 0.0), labels >= 0
    H = (labels == np.arange(k)[:, None]) * weight
    H = np.vstack([H, own * weight])  # the last row, for outliers: all samples
    mass, total = H @ seen, H @ part
    means = np.divide(total, mass, out=np.zeros_like(total), where=mass > 0)
    means = np.where(mass > 0, means, means[-1])
    return np.where(seen, X, means[labels])


def moments(X: Graph, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of each feature; 0 if it is constant."""
    w = weight / weight.sum()
    mean = np.asarray(w @ X)
    with np.errstate(over="ignore"):
        if sparse.issparse(X):
            square, rounding = np.asarray(w @ X.multiply(X)) - mean**2, 1e-7
        else:
            square, rounding = w @ (X - mean) ** 2, 1e-12
    spread = np.sqrt(np.maximum(square, 0.0))
    # What is left of a constant is rounding.
    return mean, np.where(spread > rounding * np.abs(mean), spread, 0.0)


def cluster_means(
    X: Graph, labels: IntArray, weight: FloatArray, k: int, empty: FloatArray
) -> FloatArray:
    """Return the mean of each cluster; ``empty`` for one without samples."""
    n = len(labels)
    rows = np.flatnonzero(labels >= 0)
    H = sparse.csr_array((weight[rows], (labels[rows], rows)), shape=(k, n))
    mass = H.sum(axis=1)
    total = H @ X
    total = total.toarray() if sparse.issparse(total) else np.asarray(total)
    some = (mass > 0)[:, None]
    return np.where(some, total / np.where(some, mass[:, None], 1.0), empty)


def is_binary(X: Graph) -> BoolArray:
    """Return which features have only the values 0 and 1, up to rounding."""
    values = X.data if sparse.issparse(X) else X
    other = ~np.isin(np.round(values, 9), (0.0, 1.0))
    if not sparse.issparse(X):
        return np.asarray(~other.any(axis=0))
    binary = np.ones(X.shape[1], dtype=bool)
    binary[X.indices[other]] = False
    return binary


# -- typical samples, and samples in doubt --------------------------------------------


def find_exemplars(
    labels: IntArray, k: int, P: Graph, X: Graph, weight: FloatArray
) -> list[IntArray]:
    """Return the most typical samples of each cluster.

    Of the half of a cluster with the largest memberships, those nearest to the mean of
    the cluster, in standardised features. Without features, the largest memberships.
    """
    n = len(labels)
    own = np.ones(n) if P is None else np.asarray(P[np.arange(n), labels]).ravel()
    overall, spread = moments(X, weight)
    means = cluster_means(X, labels, weight, k, overall)
    found: list[IntArray] = []
    for j in range(k):
        rows = np.flatnonzero((labels == j) & (weight > 0))
        rows = rows[own[rows] >= np.median(own[rows])] if len(rows) else rows
        far = distances(X[rows], means[j], spread)
        order = np.lexsort((rows, -own[rows], far))
        found.append(rows[order[:EXEMPLARS]])
    return found


def distances(X: Graph, mean: FloatArray, spread: FloatArray) -> FloatArray:
    """Return distances of samples to a mean in standard deviations, rounded."""
    unit = np.where(spread > 0, spread, np.inf)
    if sparse.issparse(X):
        Z, m = X.multiply(1 / unit[None, :]).tocsr(), mean / unit
        square = np.asarray(Z.multiply(Z).sum(axis=1)).ravel() - 2 * (Z @ m) + m @ m
    else:
        square = (((X - mean) / unit) ** 2).sum(axis=1)
    # Rounded, so that the last bits do not order equal distances.
    return np.asarray(np.round(np.sqrt(np.maximum(square, 0.0)), 9))


def find_border(labels: IntArray, k: int, P: Graph) -> list[list[BorderCase]]:
    """Return the samples of each cluster with the largest second membership."""
    if P is None or k == 1:
        return [[] for _ in range(k)]
    found = []
    for j in range(k):
        rows = np.flatnonzero(labels == j)
        part = P[rows].toarray() if sparse.issparse(P) else P[rows]
        others = part.copy()
        others[:, j] = -1.0
        second = others.argmax(axis=1)
        p = others[np.arange(len(rows)), second]
        first = np.argsort(-p, kind="stable")[:BORDER]
        found.append([
            BorderCase(int(rows[i]), float(part[i, j]), int(second[i]), float(p[i]))
            for i in first if p[i] >= DOUBT
        ])  # fmt: skip
    return found


# -- text ------------------------------------------------------------------------------


def decimals(spread: float) -> int:
    """Return the digits after the point that matter for numbers of this spread."""
    if not 0 < spread < np.inf:
        return 2
    return int(np.clip(2 - np.floor(np.log10(spread)), 0, 12))


def _number(value: float, digits: int, binary: bool) -> str:
    """Return a number as text; a share in percent."""
    if binary:
        return f"{value:.0%}"
    return f"{value:,.{digits}f}" if abs(value) < 1e12 else f"{value:.3g}"


def _plain(value: float) -> float:
    """Return a number without the digits that are rounding."""
    return float(f"{value:.10g}")


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return lines of aligned cells: numbers, in the second column, to the right."""
    columns = []
    for place, column in enumerate(zip(*rows, strict=True)):
        wide = max(map(len, column))
        columns.append([c.rjust(wide) if place == 1 else c.ljust(wide) for c in column])
    return ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]


# -- one sample ------------------------------------------------------------------------


class FeatureEvidence(NamedTuple):
    """A feature of one sample, compared with two clusters.

    Attributes
    ----------
    name : str
        The feature.
    value : float
        That of the sample, in its own units.
    mean, second_mean : float
        The means of the sample's cluster and of its second choice.
    closer : float
        How much closer the value is to the first mean than to the second, in standard
        deviations of all samples; negative if it is farther.
    binary : bool
        Whether all values are 0 or 1: the means are shares.
    digits : int
        Decimal digits that are worth printing.
    """

    name: str
    value: float
    mean: float
    second_mean: float
    closer: float
    binary: bool = False
    digits: int = 2


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a sample is in its cluster; ``print(explanation)`` is a text.

    Attributes
    ----------
    sample : int
        Its index.
    cluster : int
        Its label; the most probable cluster of an outlier.
    probability : float
        Its membership in that cluster.
    second : int or None
        The most probable of the other clusters; None if there is only one.
    second_probability : float
        Its membership in that cluster.
    neighbors : ndarray of int, shape (m,)
        The samples most similar to it, the most similar first.
    similarities : ndarray of shape (m,)
        Their similarities.
    neighbor_clusters : ndarray of int, shape (m,)
        Their labels.
    features : list of FeatureEvidence
        The features, ordered by how much they support or contradict the cluster.
    profiles : Profiles
        Of all clusters.
    outlier : bool
        Whether it has the label -1.
    """

    sample: int
    cluster: int
    probability: float
    second: int | None
    second_probability: float
    neighbors: IntArray
    similarities: FloatArray
    neighbor_clusters: IntArray
    features: list[FeatureEvidence]
    profiles: Profiles
    outlier: bool = False

    def __str__(self) -> str:
        title, called = self.profiles.title, self.profiles.called
        text = f"Sample {called(self.sample)}: "
        text += f"{'outlier, nearest to ' if self.outlier else ''}{title(self.cluster)}"
        text += f" ({self.probability:.0%})"
        if self.second is not None:
            forced = self.second_probability > self.probability  # by sizes or links
            text += ", though more probably " if forced else "; second choice "
            text += f"{title(self.second)} ({self.second_probability:.0%})"
        return "\n".join([text, *self._neighbours(), *self._evidence()])

    def _neighbours(self) -> list[str]:
        """Return how the similarity of the neighbours is divided."""
        if not len(self.neighbors):
            return ["  no similar samples"]
        k = len(self.profiles)
        where = np.where(self.neighbor_clusters < 0, k, self.neighbor_clusters)
        total = np.bincount(where, weights=self.similarities)
        parts = [
            f"{np.count_nonzero(where == j)} in "
            f"{self.profiles.title(j) if j < k else 'no cluster'} "
            f"({total[j] / total.sum():.0%})"
            for j in np.argsort(-total, kind="stable").tolist()
            if total[j] > 0
        ]
        parts[0] = parts[0].replace("%)", "% of the similarity)")
        who = ", ".join(self.profiles.called(i) for i in self.neighbors[:EXEMPLARS])
        return [f"  neighbours: {', '.join(parts)}", f"  most similar: {who}"]

    def _evidence(self) -> list[str]:
        """Return the features that support the cluster, or contradict it."""
        if self.second is None or not self.features:
            return []
        one, two = self.profiles.title(self.cluster), self.profiles.title(self.second)
        rows = []
        for f in self.features[:FEATURES]:
            value, mean, other = (
                _number(x, f.digits, f.binary) for x in (f.value, f.mean, f.second_mean)
            )
            how = "closer to" if f.closer >= 0 else "farther from"
            rows.append([
                f.name, value, f"({one}: {mean}, {two}: {other})",
                f"{abs(f.closer):.1f} std {how} {one}",
            ])  # fmt: skip
        return [f"  {line}" for line in aligned(rows)]


def explain_sample(
    i: int, labels: IntArray, P: Graph, S: Graph, X: Samples, profiles: Profiles
) -> Explanation:
    """Return why a sample is in its cluster."""
    row, near = _row(P, i), _row(S, i).astype(np.float64)
    outlier = bool(labels[i] < 0)
    own, second = int(row.argmax() if outlier else labels[i]), None
    features: list[FeatureEvidence] = []
    if len(row) > 1:
        others = np.where(np.arange(len(row)) == own, -1.0, row)
        second = int(others.argmax())
        x = _row(as_features(X, len(labels), missing=True), i)
        features = _evidence(x, own, second, profiles)
    near[i] = 0.0
    similar = np.argsort(-near, kind="stable")[:NEIGHBORS]
    similar = similar[near[similar] > 0]
    return Explanation(
        i, own, float(row[own]), second, 0.0 if second is None else float(row[second]),
        similar, near[similar], labels[similar], features, profiles, outlier,
    )  # fmt: skip


def _row(A: Graph, i: int) -> FloatArray:
    """Return a row of a dense or sparse array."""
    return np.asarray(A[[i]].toarray()[0] if sparse.issparse(A) else np.asarray(A)[i])


def _evidence(
    x: FloatArray, own: int, second: int, profiles: Profiles
) -> list[FeatureEvidence]:
    """Return the features that tell two clusters apart, the strongest first."""
    one, two = profiles.means[own], profiles.means[second]
    unit = np.where(profiles.spread > 0, profiles.spread, np.inf)
    closer = (np.abs(x - two) - np.abs(x - one)) / unit
    return [
        FeatureEvidence(
            profiles.features[f],
            float(x[f]),
            float(one[f]),
            float(two[f]),
            float(closer[f]),
            bool(profiles.binary[f]),
            decimals(profiles.spread[f]),
        )
        for f in np.argsort(-np.abs(closer), kind="stable")
        if not np.isnan(x[f])
    ]
