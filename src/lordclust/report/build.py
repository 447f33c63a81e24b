"""Build the report of a model, of a path or of both, or of nested clusters."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from lordclust._core.colors import (
    RAMP,
    RAMP_ON_DARK,
    as_hex,
    cluster_colours,
    cluster_marker,
    nested_colours,
)
from lordclust._core.typing import (
    BoolArray,
    Estimator,
    FloatArray,
    Graph,
    IntArray,
    Samples,
)
from lordclust._core.validation import check_count
from lordclust.files.atomic import atomic_file, check_target
from lordclust.methods.layers import Layers
from lordclust.metrics import accuracy
from lordclust.plots.layout import make_layout
from lordclust.profiles import Profiles, make_profiles
from lordclust.report.encode import (
    TOP,
    as_grid,
    inert_html,
    inert_json,
    packed,
    plain,
    top_clusters,
)
from lordclust.report.html_tables import facts_html, facts_of, table_html
from lordclust.report.page import folded, page, section
from lordclust.report.segments import segments_html
from lordclust.report.snapshots import (
    Snapshot,
    Snapshots,
    circular_order,
    most_uncertain,
    take_snapshots,
)
from lordclust.result import TauPath
from lordclust.rounding.confusion import confusable_pairs
from lordclust.rounding.labels import normalized_entropy

#: Bytes that memberships may take in the page; they limit the number of taus.
MOST_BYTES, MOST_TAUS = 12_000_000, 60
#: Number of samples in the plot of pairs.
BLOCK_SAMPLES = 220
#: Longest name of a sample, a class or a feature.
LONGEST_NAME = 80
#: Length of the list of confusable pairs, and the smallest share in it.
PAIRS, LEAST_SHARE = 8, 0.001


def write_report(
    path: str | os.PathLike[str],
    model: Estimator | Layers | None = None,
    path_: TauPath | None = None,
    X: Samples = None,
    S: Graph = None,
    *,
    ids: Iterable[object] | None = None,
    names: Iterable[object] | None = None,
    labels: Iterable[object] | None = None,
    title: str | None = None,
    profiles: Profiles | Sequence[Profiles] | None = None,
    comparison: Sequence[Mapping[str, object]] | None = None,
    facts: Mapping[str, object] | None = None,
    max_points: int = 5000,
    force: bool = False,
) -> Path:
    """Write an HTML page that shows a clustering.

    One self-contained HTML file that works offline. With a path, a slider changes tau,
    and the samples, the sizes and the pairs change with it. With nested clusters it
    changes their number, and the segments too. Nothing is fitted here.

    Parameters
    ----------
    path : str or path-like
        The file to write, for example ``"report.html"``; "-" is standard output.
    model : fitted estimator or Layers, optional
        Any clustering method; without ``membership_`` its labels are shown. Or nested
        clusters, from :func:`lordclust.layers`.
    path_ : TauPath, optional
        From ``tau_path(S, k, keep="all")``; of the model's samples if both are given.
    X : array-like or sparse of shape (n, d), optional
        Features, for a layout by principal components.
    S : array-like or sparse of shape (n, n), optional
        Similarities, for a layout by eigenvectors if there is no X. By default the
        model's own.
    ids : sequence of length n, optional
        Names of the samples; their numbers by default.
    names : sequence of length d, optional
        Names of the features: the page then shows what distinguishes each cluster.
    labels : array-like of shape (n,), optional
        Known classes, shown with each sample, for the accuracy at each tau. They do
        not affect anything else.
    title : str, optional
        Heading of the page.
    profiles : Profiles, optional
        What distinguishes the clusters, and their names, from ``model.describe``; of
        nested clusters, a list with one for each level. By default those of X, if its
        features have names.
    comparison : sequence of dict, optional
        One row per method compared, shown as a table.
    facts : dict, optional
        Further facts of the run, such as its time or the file it read.
    max_points : int, default=5000
        Largest number of samples drawn: the same fraction of each cluster, and the
        most uncertain ones. Sizes and shares are always those of all samples.
    force : bool, default=False
        Replace an existing file.

    Returns
    -------
    path : Path
        The file written.

    Examples
    --------
    >>> import tempfile
    >>> from lordclust import BLoRD
    >>> X = [[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = write_report(f"{folder}/report.html", BLoRD(2).fit(X), X=X)
    ...     file.name
    'report.html'
    """
    if str(path) != "-":
        check_target(Path(path), force)  # at the beginning, not after the work
    html = report_html(
        model, path_, X, S, ids=ids, names=names, labels=labels, title=title,
        profiles=profiles, comparison=comparison, facts=facts, max_points=max_points,
    )  # fmt: skip
    return save_html(html, path, force)


def save_html(html: str, path: str | os.PathLike[str], force: bool) -> Path:
    """Write a page to a file, and return its path."""
    with atomic_file(Path(path), force) as file:
        # A lone surrogate, from a file name for example, cannot be encoded.
        file.write(html.encode("utf-8", "replace"))
    return Path(path)


def report_html(
    model: Estimator | Layers | None,
    path_: TauPath | None,
    X: Samples,
    S: Graph,
    *,
    ids: Iterable[object] | None = None,
    names: Iterable[object] | None = None,
    labels: Iterable[object] | None = None,
    title: str | None = None,
    profiles: Profiles | Sequence[Profiles] | None = None,
    comparison: Sequence[Mapping[str, object]] | None = None,
    facts: Mapping[str, object] | None = None,
    max_points: int = 5000,
    described: Samples = None,
) -> str:
    """Return the page that :func:`write_report` writes.

    ``described`` are features for the profiles, if they are not those of the layout.
    """
    snapshots = take_snapshots(model, path_)
    model = model.model if isinstance(model, Layers) else model
    points = _chosen(snapshots, check_count(max_points, "max_points"))
    each = len(points) * min(TOP, snapshots.k) * (2 if snapshots.k <= 256 else 3)
    shown = snapshots.thinned(max(2, min(MOST_TAUS, MOST_BYTES // each)))
    S = getattr(model, "affinity_matrix_", None) if S is None else S
    layout = make_layout(snapshots.n, snapshots.k, X=X, S=S)
    data = _look(snapshots) | _data(shown, points) | _texts(shown, points, ids, labels)
    if profiles is None:
        profiles = _profiles(
            X if described is None else described, names, ids, snapshots
        )
    data |= {"layout": None, "names": None}
    if isinstance(profiles, Profiles) and profiles.names is not None:
        data["names"] = _short(profiles.names, snapshots.k, "names of clusters")
    if layout is not None:
        xy = packed(as_grid(layout.coordinates[points]))
        data["layout"] = {"name": layout.name, "note": layout.note, "xy": xy}
    return page(
        title or "Clustering report",
        _lead(model, snapshots, len(points)),
        inert_json(data),
        _sections(model, comparison, facts),
        segments_html(profiles, snapshots),
    )


def _chosen(snapshots: Snapshots, most: int) -> IntArray:
    """Return the samples to draw: uncertain ones, and an even selection per cluster."""
    if snapshots.n <= most:
        return np.arange(snapshots.n)
    labels = snapshots.first.labels
    shown = [snapshots.first, *snapshots.all]
    uncertain = np.concatenate(
        [most_uncertain(found.P, snapshots.outliers) for found in shown]
    )
    firsts = np.unique(labels, return_index=True)[1]
    # Even steps through samples sorted by cluster select the same fraction of each.
    shuffled = np.lexsort((np.random.default_rng(0).random(snapshots.n), labels))
    kept = list(dict.fromkeys([*firsts.tolist(), *uncertain.tolist()]))[:most]
    rest = shuffled[~np.isin(shuffled, kept)]
    steps = np.linspace(0, len(rest) - 1, most - len(kept)).round().astype(int)
    return np.sort(np.concatenate([np.array(kept, dtype=np.int64), rest[steps]]))


def _data(snapshots: Snapshots, points: IntArray) -> dict[str, object]:
    """Return the numbers and colours that the page shows."""
    every, n, k = snapshots.all, snapshots.n, snapshots.k
    tops = []
    for found in every:  # with columns of 0 for clusters of finer levels
        P = np.pad(found.P[points], ((0, 0), (0, k - found.P.shape[1])))
        tops.append(top_clusters(P, found.labels[points]))
    clusters, parts = (np.stack(arrays) for arrays in zip(*tops, strict=True))
    shares, out = snapshots.shares, snapshots.outliers
    levels, ring = None, circular_order(snapshots)
    if snapshots.parents is not None:
        levels = [found.P.shape[1] for found in every]
    return {
        "n": n,
        "inside": int(n - out.sum()),
        "outliers": np.flatnonzero(out[points]).tolist(),
        "k": k,
        "points": len(points),
        "top": int(clusters.shape[2]),
        "start": snapshots.start,
        "taus": [found.tau for found in every],
        "levels": levels,
        "soft": snapshots.soft,
        "calibrated": snapshots.calibrated,
        "chosen": snapshots.chosen,
        "clusters": packed(clusters),
        "parts": packed(parts),
        "shares": None if shares is None else [round(float(s), 6) for s in shares],
        "sizes": [
            np.bincount(found.labels[~out], minlength=k).tolist() for found in every
        ],
        "certainty": [round(float(found.P.max(axis=1).mean()), 4) for found in every],
        "sure": [round(_sure(found), 4) for found in every],
        "uncertain": [_uncertain(found.P, points, out) for found in every],
        "pairs": [_pairs(found.P, snapshots.weight) for found in every],
        "ring": ring,
        "blocks": _block_order(every[-1], ring, points, out).tolist(),
    }


def _look(snapshots: Snapshots) -> dict[str, object]:
    """Return colours and markers of the clusters; parts have the hue of the whole."""
    k, parents = snapshots.k, snapshots.parents
    markers = "".join(cluster_marker(j) for j in range(k))
    both = cluster_colours(k), cluster_colours(k, dark=True)
    if parents is not None:
        count = snapshots.first.P.shape[1]
        (light, markers), (dark, _) = (
            nested_colours(parents, count, dark=on_dark) for on_dark in (False, True)
        )
        both = light, dark
    return {
        "colours": {"light": as_hex(both[0]), "dark": as_hex(both[1])},
        "markers": markers,
        "ramp": {"light": RAMP, "dark": RAMP_ON_DARK},
    }


def _sure(found: Snapshot) -> float:
    """Return the share of samples with a probability above 90%."""
    return float(np.mean(found.P.max(axis=1) > 0.9))


def _uncertain(
    P: FloatArray, points: IntArray, outliers: BoolArray
) -> list[list[float]]:
    """Return [index among the points, uncertainty] of the most uncertain samples."""
    found = most_uncertain(P, outliers)
    found = found[np.isin(found, points)]
    entropy = normalized_entropy(P[found])
    places = np.searchsorted(points, found)
    return [[int(i), round(float(u), 3)] for i, u in zip(places, entropy, strict=True)]


def _pairs(P: FloatArray, weight: FloatArray) -> list[list[float]]:
    """Return [a, b, share] of clusters that share samples."""
    pairs = confusable_pairs(P, weight)[:PAIRS]
    return [[p.a, p.b, round(p.share, 4)] for p in pairs if p.share > LEAST_SHARE]


def _block_order(
    last: Snapshot, ring: list[int], points: IntArray, outliers: BoolArray
) -> IntArray:
    """Return indices of the points by cluster, the most certain of each first."""
    place = np.argsort(ring)[last.labels[points]]
    order = np.lexsort((-last.P[points].max(axis=1), place))
    order = order[~outliers[points[order]]]
    count = min(BLOCK_SAMPLES, len(order))
    return np.asarray(order[np.linspace(0, len(order) - 1, count).astype(int)])


def _texts(
    snapshots: Snapshots,
    points: IntArray,
    ids: Iterable[object] | None,
    labels: Iterable[object] | None,
) -> dict[str, object]:
    """Return the names and classes of the drawn samples, and accuracies."""
    called = _short(range(snapshots.n) if ids is None else ids, snapshots.n, "ids")
    texts: dict[str, object] = {"ids": [called[i] for i in points]}
    if labels is None:
        return texts | {"classes": None, "accuracy": None}
    classes = _short(labels, snapshots.n, "labels")
    inside = ~snapshots.outliers
    codes = np.unique(classes, return_inverse=True)[1][inside]  # once for all taus
    scores = [
        round(accuracy(codes, found.labels[inside]), 4) for found in snapshots.all
    ]
    return texts | {"classes": [classes[i] for i in points], "accuracy": scores}


def _short(values: Iterable[object], count: int, name: str) -> list[str]:
    """Return names as short texts."""
    texts = [plain(str(v)[:LONGEST_NAME]) for v in values]
    if len(texts) != count:
        raise ValueError(
            f"{name} must have {count} entries, got {len(texts)}. Pass one for each."
        )
    return texts


def _profiles(
    X: Samples,
    names: Iterable[object] | None,
    ids: Iterable[object] | None,
    snapshots: Snapshots,
) -> Profiles | list[Profiles] | None:
    """Return the profiles of the clusters, or of each level, if features have names."""
    if X is None or names is None:
        return None
    called = _short(names, X.shape[1] if hasattr(X, "shape") else len(X[0]), "names")
    called_ids = None if ids is None else list(ids)

    def of(found: Snapshot) -> Profiles:
        return make_profiles(
            X, np.where(snapshots.outliers, -1, found.labels), found.P.shape[1],
            P=found.P if snapshots.soft else None, weight=snapshots.weight,
            feature_names=called, ids=called_ids,
        )  # fmt: skip

    if snapshots.parents is None:
        return of(snapshots.first)
    return [of(found) for found in snapshots.all]


def _sections(
    model: Estimator | None,
    comparison: Sequence[Mapping[str, object]] | None,
    facts: Mapping[str, object] | None,
) -> str:
    """Return the tables below the plots; what concerns the method is folded."""
    selection = getattr(model, "selection_", None)
    html = inner = ""
    if comparison:
        html = section("Comparison of methods", "", table_html(comparison))
    if selection is not None:
        note = "Candidates by evidence. The first was selected."
        rows = table_html(selection.candidates(), marked=0)
        inner = section("Candidates", note, rows)
    inner += section("Run", "", facts_html(facts_of(model, facts)))
    return html + folded("Technical details", inner)


def _lead(model: Estimator | None, snapshots: Snapshots, n_points: int) -> str:
    """Return the sentences below the heading, as HTML.

    What depends on the slider is in an element that the script updates.
    """
    first, k = snapshots.first, snapshots.first.P.shape[1]
    if snapshots.parents is None:
        lead = f"{snapshots.n:,} samples in {k} clusters. "
        moves = len(snapshots.all) > 1 and not snapshots.calibrated
        at = f"At tau {first.tau or 0:.2f}, " if moves else ""
    else:
        lead = f"{snapshots.n:,} samples in nested clusters, from 1 to {snapshots.k}. "
        lead += f"Recommended: {k}. "
        at = f"With {k}, "
    if snapshots.soft:
        text = f"{at}{_sure(first):.0%} of the samples have a probability above 90%."
        lead = f'{inert_html(lead)}<span id="sure">{inert_html(text)}</span>'
    rest = ""
    if count := int(snapshots.outliers.sum()):
        rest += f" {count:,} are outliers, which belong to no cluster."
    selection = getattr(model, "selection_", None)
    if selection is not None and not selection.is_stable:
        rest += (
            f" Other partitions are as good: they agree on {selection.stability:.0%} "
            "of the samples."
        )
    if n_points < snapshots.n:
        rest += (
            f" The plot shows {n_points:,} of them, selected evenly from each "
            "cluster, and the most uncertain; sizes and shares are those of all."
        )
    return lead + inert_html(rest)
