"""``lordclust suggest``: how many clusters a file has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lordclust.cli.exits import interruptible, say
from lordclust.cli.options import (
    SHARES,
    FitRequest,
    InputOptions,
    input_options,
    request_options,
    result_option,
    scale_option,
)
from lordclust.cli.progress import Display

if TYPE_CHECKING:
    from lordclust.choose.n_clusters import KSuggestion
    from lordclust.cli.tables import Row


@click.command()
@click.argument("input_", metavar="INPUT")
@click.option(
    "--max-clusters",
    type=click.IntRange(min=2),
    default=20,
    show_default=True,
    metavar="K",
    help="Largest number of clusters to compare.",
)
@request_options("n_clusters", *SHARES, "seed")
@input_options("known_labels")
@scale_option
@click.option("--json", "json_", is_flag=True, help="Print JSON on stdout.")
@result_option("quiet")
def suggest(
    input_: str,
    max_clusters: int,
    request: FitRequest,
    reading: InputOptions,
    scale: str,
    json_: bool,
    quiet: bool,
) -> None:
    """Suggest the number of clusters in INPUT (a file, or - for stdin).

    One line for each number k, the best score is recommended. The score is the sum
    of three parts: the gap after the k-th eigenvalue of the graph, the separation of
    the clusters in the graph, and how well they fit the features at the price of
    their number. The scores compare numbers; they do not test whether there are
    clusters at all.

    \b
      lordclust suggest iris.csv --label-column species
      lordclust suggest graph.mtx --precomputed --max-clusters 40 --json
    """
    from lordclust.choose.n_clusters import best_n_clusters
    from lordclust.cli.fitting import affinity
    from lordclust.cli.samples import read_input
    from lordclust.cli.tables import print_json, print_rows
    from lordclust.graph import make_affinity

    with Display(quiet=quiet) as display, interruptible():
        samples, _ = read_input(input_, request, reading, scale, display)
        display.stage(f"Comparing numbers of clusters of {samples.count}")
        kind = affinity(request, samples.precomputed) or "knn"
        S = make_affinity(kind, samples.X, nonnegative="suggest")
        found = best_n_clusters(
            S, samples.features, samples.weights, max_clusters, n_jobs=request.jobs
        )
    rows = _rows(found)
    if json_:
        parts = {"best_k": found.best_k, "runner_up": found.runner_up, "scores": rows}
        print_json({"input": samples.source, **parts})
        return
    print_rows(rows)
    if not quiet:
        say(_advice(found, input_))


def _rows(found: KSuggestion) -> list[Row]:
    """Return the parts of the score of each k; None for one that is impossible."""
    import numpy as np

    columns = (found.gap, found.separation, found.fit, found.score)
    names = ("gap", "separation", "fit", "score")
    rows: list[Row] = []
    for i, k in enumerate(found.ks.tolist()):
        parts = [float(column[i]) for column in columns]
        kept = [round(part, 3) if np.isfinite(part) else None for part in parts]
        mark = "recommended" if k == found.best_k else ""
        mark = "second" if k == found.runner_up else mark
        rows.append({"k": k, **dict(zip(names, kept, strict=True)), "note": mark})
    return rows


def _advice(found: KSuggestion, source: str) -> str:
    """Return the recommendation, and how to follow it."""
    second = "" if found.runner_up is None else f"; {found.runner_up} is second"
    return (
        f"Recommended: {found.best_k} clusters{second}. Next, with the same options: "
        f"lordclust fit {source} -k {found.best_k}"
    )
