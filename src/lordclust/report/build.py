"""A model, a path, or both -> the report."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from lordclust._core.typing import FloatArray, IntArray
from lordclust._core.validation import check_count
from lordclust.files.atomic import atomic_file, check_target
from lordclust.metrics import accuracy
from lordclust.report.encode import (
    TOP,
    as_grid,
    inert_json,
    packed,
    plain,
    top_clusters,
)
from lordclust.report.layout import layout
from lordclust.report.page import page, section
from lordclust.report.story import (
    Frame,
    Story,
    evenly,
    most_doubtful,
    neighbours_in_a_ring,
    shared_pairs,
    tell,
)
from lordclust.report.tables import candidates, facts_html, facts_of, table_html
from lordclust.result import TauPath
from lordclust.rounding.labels import normalized_entropy

#: Bytes that memberships may take in the page; they decide how many taus there are.
ROOM, MOST_FRAMES = 12_000_000, 60
#: Samples in the picture of pairs.
BLOCK_SAMPLES = 220
#: Longest name of a sample, a class or a feature.
LONGEST_NAME = 80
#: Features named for a cluster, and how many deviations from the mean is worth it.
FEATURES, CLEARLY = 3, 0.5


def write_report(
    path: str | os.PathLike[str],
    model: Any = None,
    path_: TauPath | None = None,
    X: Any = None,
    S: Any = None,
    *,
    ids: Sequence[Any] | None = None,
    names: Sequence[Any] | None = None,
    labels: Any = None,
    title: str | None = None,
    comparison: Sequence[Mapping[str, Any]] | None = None,
    facts: Mapping[str, Any] | None = None,
    max_points: int = 5000,
    force: bool = False,
) -> Path:
    """Write a page that shows a clustering, to be opened in any browser.

    One HTML file without any request to a network. With a path, a slider moves tau,
    and the samples, the sizes and the pairs move with it. Nothing is fitted here.

    Parameters
    ----------
    path : str or path-like
        The file to write, for example ``"report.html"``; "-" is standard output.
    model : fitted estimator, optional
        Any method of the library; without ``membership_`` its labels are shown.
    path_ : TauPath, optional
        From ``tau_path(S, k, keep="all")``; of the model's samples if both are given.
    X : array-like or sparse of shape (n, d), optional
        Features, for a picture by principal components.
    S : array-like or sparse of shape (n, n), optional
        Similarities, for a picture by eigenvectors. By default the model's own.
    ids : sequence of length n, optional
        Names of the samples; their numbers by default.
    names : sequence of length d, optional
        Names of the features: the page then says what marks each cluster.
    labels : array-like of shape (n,), optional
        Known classes, shown with each sample, and the accuracy at each tau. They
        decide nothing.
    title : str, optional
        Heading of the page.
    comparison : sequence of dict, optional
        A row for each method compared, shown as a table.
    facts : dict, optional
        What else to say of the run, such as its seconds or the file it read.
    max_points : int, default=5000
        How many samples are drawn, at most: a part of each cluster, and the most
        doubtful. Sizes and shares are always of all samples.
    force : bool, default=False
        Whether an existing file may be replaced.

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
        check_target(Path(path), force)  # before the work, not after it
    story = tell(model, path_)
    points = _chosen(story, check_count(max_points, "max_points"))
    story = evenly(story, _frames_that_fit(story, len(points)))
    S = getattr(model, "affinity_matrix_", None) if S is None else S
    classes = None if labels is None else _texts(labels, story.n, "labels")
    data = {
        **_numbers(story, points),
        "ids": _names(story, points, ids),
        "classes": None if classes is None else classes[points].tolist(),
        "right": None if classes is None else _accuracies(story, classes),
        "layout": _places(X, S, story, points),
        "marks": _marks(X, names, story),
    }
    sections = _sections(model, comparison, facts)
    head = title or "Clustering report"
    html = page(head, _lead(model, story, len(points)), inert_json(data), sections)
    with atomic_file(Path(path), force) as file:
        # Half a surrogate pair, from a file name say, has no bytes of its own.
        file.write(html.encode("utf-8", "replace"))
    return Path(path)


def _frames_that_fit(story: Story, n_points: int) -> int:
    """Return how many frames the page has room for."""
    index = 1 if story.k <= 256 else 2
    each = n_points * min(TOP, story.k) * (1 + index)
    return max(2, min(MOST_FRAMES, ROOM // each))


def _chosen(story: Story, most: int) -> IntArray:
    """Return the samples to draw: doubtful ones, one a cluster, and an even part."""
    if story.n <= most:
        return np.arange(story.n)
    labels = story.first_seen.labels
    frames = [story.first_seen, *story.frames]
    doubtful = np.concatenate([most_doubtful(frame.P) for frame in frames])
    firsts = np.unique(labels, return_index=True)[1]
    # Sorted by cluster and shuffled within, even steps take the same part of each.
    shuffled = np.lexsort((np.random.default_rng(0).random(story.n), labels))
    kept = list(dict.fromkeys([*firsts.tolist(), *doubtful.tolist()]))[:most]
    rest = shuffled[~np.isin(shuffled, kept)]
    steps = np.linspace(0, len(rest) - 1, most - len(kept)).round().astype(int)
    return np.sort(np.concatenate([np.array(kept, dtype=np.int64), rest[steps]]))


def _numbers(story: Story, points: IntArray) -> dict[str, Any]:
    """Return all that moves with tau, and what does not."""
    frames = story.frames
    tops = [top_clusters(frame.P[points], frame.labels[points]) for frame in frames]
    clusters, parts = (np.stack(arrays) for arrays in zip(*tops, strict=True))
    shares = story.shares
    return {
        "n": story.n,
        "k": story.k,
        "points": len(points),
        "top": int(clusters.shape[2]),
        "start": story.start,
        "taus": [frame.tau for frame in frames],
        "clusters": packed(clusters),
        "parts": packed(parts),
        "shares": None if shares is None else [round(float(s), 6) for s in shares],
        "sizes": [_counts(frame, story.k) for frame in frames],
        "sure": [round(float(frame.P.max(axis=1).mean()), 4) for frame in frames],
        "doubtful": [_doubtful(frame, points) for frame in frames],
        "pairs": [_pairs(frame, story.weight) for frame in frames],
        "ring": neighbours_in_a_ring(story),
        "blocks": _block_order(frames[-1], points).tolist(),
    }


def _counts(frame: Frame, k: int) -> list[int]:
    """Return the samples a cluster."""
    counts: list[int] = np.bincount(frame.labels, minlength=k).tolist()
    return counts


def _doubtful(frame: Frame, points: IntArray) -> list[list[float]]:
    """Return [place among the points, uncertainty] of the most doubtful samples."""
    found = most_doubtful(frame.P)
    found = found[np.isin(found, points)]
    doubt = normalized_entropy(frame.P[found])
    places = np.searchsorted(points, found)
    return [[int(i), round(float(u), 3)] for i, u in zip(places, doubt, strict=True)]


def _pairs(frame: Frame, weight: FloatArray) -> list[list[float]]:
    """Return [a, b, share] of clusters that share samples."""
    return [[a, b, round(s, 4)] for a, b, s in shared_pairs(frame.P, weight)]


def _block_order(frame: Frame, points: IntArray) -> IntArray:
    """Return places among the points, sorted by cluster, the surest first in each."""
    P, labels = frame.P[points], frame.labels[points]
    order = np.lexsort((-P.max(axis=1), labels))
    count = min(BLOCK_SAMPLES, len(points))
    return np.asarray(order[np.linspace(0, len(order) - 1, count).astype(int)])


def _names(story: Story, points: IntArray, ids: Any) -> list[str]:
    """Return what the drawn samples are called."""
    called = points if ids is None else _texts(ids, story.n, "ids")[points]
    return [str(name) for name in called]


def _accuracies(story: Story, classes: Any) -> list[float]:
    """Return the accuracy of the labels of each frame."""
    numbers = np.unique(classes.astype(str), return_inverse=True)[1]  # once for all
    found = [accuracy(numbers, frame.labels) for frame in story.frames]
    return [round(score, 4) for score in found]


def _texts(values: Any, count: int, name: str) -> Any:
    """Return names as an array of short texts."""
    values = list(values)
    if len(values) != count:
        raise ValueError(
            f"{name} must have {count} entries, got {len(values)}. Pass one for each."
        )
    return np.array([plain(str(v)[:LONGEST_NAME]) for v in values], dtype=object)


def _places(X: Any, S: Any, story: Story, points: IntArray) -> dict[str, str] | None:
    """Return the places of the drawn samples, if X or S gives them some."""
    for name, given in (("X", X), ("S", S)):
        if given is not None and np.shape(given)[0] != story.n:
            raise ValueError(
                f"{name} must have a row for each of the {story.n} samples, got "
                f"{np.shape(given)[0]}. Pass what the model was fitted on."
            )
    found = layout(X, S)
    if found is None:
        return None
    grid = as_grid(found.places[points])
    return {"name": found.name, "note": found.note, "xy": packed(grid)}


def _marks(X: Any, names: Any, story: Story) -> list[str] | None:
    """Return for each cluster the named features that stand out in it."""
    if X is None or names is None:
        return None
    if sparse.issparse(X):
        return None  # a text has thousands of words: three say little
    X = np.asarray(X, dtype=np.float64)
    called = _texts(names, X.shape[1], "names")
    P = story.first_seen.P * story.weight[:, None]
    mass = np.maximum(P.sum(axis=0), 1e-12)
    spread = np.where(X.std(axis=0) > 0, X.std(axis=0), np.inf)
    Z = (P.T @ X / mass[:, None] - X.mean(axis=0)) / spread
    return [_mark(row, called) for row in Z]


def _mark(z: FloatArray, names: Any) -> str:
    """Return the features farthest from their mean, and on which side.

    Examples
    --------
    >>> _mark(np.array([0.1, -2.0, 1.5]), ["width", "height", "age"])
    'height low, age high'
    """
    far = np.argsort(-np.abs(z), kind="stable")[:FEATURES]
    far = far[np.abs(z[far]) > CLEARLY]
    return ", ".join(f"{names[j]} {'high' if z[j] > 0 else 'low'}" for j in far)


def _sections(
    model: Any,
    comparison: Sequence[Mapping[str, Any]] | None,
    facts: Mapping[str, Any] | None,
) -> str:
    """Return the tables below the pictures."""
    selection = getattr(model, "selection_", None)
    chosen = candidates(selection) if selection is not None else []
    return "".join(
        (
            section(
                "Methods side by side",
                "",
                table_html(comparison) if comparison else "",
            ),
            section(
                "What the choice weighed",
                "Candidates by evidence, in nats. The first was kept.",
                table_html(chosen, marked=0) if chosen else "",
            ),
            section("The run", "", facts_html(facts_of(model, facts))),
        )
    )


def _lead(model: Any, story: Story, n_points: int) -> str:
    """Return the sentence below the heading."""
    who = "The end of the path" if model is None else type(model).__name__
    tau = story.first_seen.tau
    at = "" if tau is None else f" at tau {tau:.2f}"
    sure = story.first_seen.P.max(axis=1)
    lead = (
        f"{who}{at}. {story.n:,} samples in {story.k} clusters; "
        f"{np.mean(sure > 0.9):.0%} of them with a probability above 90%."
    )
    if n_points < story.n:
        lead += (
            f" The picture shows {n_points:,} of them, a part of each cluster and the "
            "most doubtful; sizes and shares are of all."
        )
    return lead
