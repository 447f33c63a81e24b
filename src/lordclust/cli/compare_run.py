"""What ``lordclust compare`` computes and writes."""

from __future__ import annotations

import sys
from typing import Any

import click
import numpy as np

from lordclust._core.typing import Graph, IntArray
from lordclust._core.validation import unknown_name
from lordclust._core.versions import library_versions
from lordclust.cli import summary, tables
from lordclust.cli.estimator import Fitted, affinity, fit_model, make_estimator
from lordclust.cli.exits import Interrupts, debugging
from lordclust.cli.options import Wishes
from lordclust.cli.outputs import Outputs
from lordclust.cli.pages import path_around, write_page
from lordclust.cli.progress import Display
from lordclust.cli.samples import Samples
from lordclust.graph import make_affinity
from lordclust.registry import METHODS

#: Above so many samples the silhouette is that of a part of them.
SILHOUETTE_SAMPLES = 5000
#: So many sizes fit into a column at a terminal.
FEW_SIZES = 3


def check_methods(text: str) -> list[str]:
    """Return the names asked for, each once."""
    if text == "all":
        return list(METHODS)
    names = list(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in METHODS:
            raise click.UsageError(str(unknown_name("method", name, METHODS)))
    return names


class Comparison:
    """Methods on the same samples, one row each."""

    def __init__(self, names: list[str], wishes: Wishes, samples: Samples) -> None:
        self.names, self.wishes, self.samples = names, wishes, samples
        self.rows: list[dict[str, Any]] = []
        self.models: list[Any] = []
        self.interrupted = False

    def run(self, display: Display) -> None:
        """Run the methods, one after the other, until the end or Ctrl-C."""
        display.stage("", total=len(self.names) + 1)
        try:
            display.at(0, "neighbours")
            S = self._graph()
            for i, name in enumerate(self.names, 1):
                display.at(i, name)
                self.rows.append(self._row(name, S))
        except KeyboardInterrupt:
            if not self.rows:
                raise
            self.interrupted = True

    def _graph(self) -> Graph:
        """Return the graph that modularity is of."""
        wanted = affinity(self.wishes, self.samples.precomputed)
        return make_affinity(wanted or "knn", self.samples.X)

    def _row(self, name: str, S: Graph) -> dict[str, Any]:
        """Run a method; one that fails leaves its sentence."""
        try:
            fitted = self._fitted(name)
        except Exception as error:  # of one method, while the others go on
            if debugging():
                raise
            return self._line(name, note=str(error) or type(error).__name__)
        self.models.append(fitted.model)
        labels = fitted.model.labels_
        sizes = np.sort(np.bincount(labels, minlength=self.wishes.n_clusters))[::-1]
        return self._line(
            name,
            seconds=round(fitted.seconds, 4),
            objective=float(getattr(fitted.model, "objective_", np.nan)),
            sizes=" ".join(map(str, sizes)),
            silhouette=_silhouette(self.samples, labels),
            modularity=modularity(S, labels),
            **summary.scores(self.samples, labels),
            note=" ".join(fitted.warnings),
        )

    def _fitted(self, name: str) -> Fitted:
        """Fit a method as ``lordclust fit`` does."""
        precomputed = self.samples.precomputed
        if precomputed and METHODS[name].takes == "features":
            raise ValueError(f"{name} needs features, but INPUT holds similarities.")
        model = make_estimator(name, self.wishes, precomputed=precomputed, lenient=True)
        return fit_model(model, self.samples)

    def _line(self, name: str, **values: Any) -> dict[str, Any]:
        """Return a row with all columns, empty where there is nothing to say."""
        scores = () if self.samples.labels is None else ("acc", "nmi")
        names = ("seconds", "objective", "sizes", "silhouette", "modularity", *scores)
        return {"method": name} | {n: values.get(n) for n in (*names, "note")}

    def write(self, outputs: Outputs, display: Display, interrupts: Interrupts) -> None:
        """Write the files asked for: all of them, or none."""
        if not self.models:
            outputs.leave_out("--report")  # there is nothing to draw
        if "--report" in outputs:
            path = path_around(self.models[0], self.samples, display, interrupts)
        with outputs.together(interrupts) as names:
            if "--output" in names:
                tables.write_file(names["--output"], self._columns())
            if "--report" in names:
                display.stage("Drawing the report")
                facts = {"input": self.samples.source, **library_versions()}
                write_page(
                    names["--report"],
                    self.models[0],
                    path,
                    self.samples,
                    facts=facts,
                    comparison=self.rows,
                )

    def _columns(self) -> dict[str, Any]:
        """Return the table column by column, empty cells as empty text."""
        return {
            name: _column([row[name] for row in self.rows]) for name in self.rows[0]
        }

    def print(self, *, as_json: bool) -> None:
        """Print the table."""
        if as_json:
            document = {
                "input": self.samples.source,
                "n_clusters": self.wishes.n_clusters,
                "methods": summary.plain(self.rows),
                "versions": library_versions(),
            }
            click.echo(summary.to_json(document), nl=False)
        elif sys.stdout.isatty():
            short = ({"sizes": _shortened(row["sizes"])} for row in self.rows)
            rows = [row | few for row, few in zip(self.rows, short, strict=True)]
            tables.print_rows(rows)
        else:
            tables.print_rows(self.rows)
        sys.stdout.flush()


def _shortened(sizes: str | None) -> str | None:
    """Return sizes for a narrow column: the largest and the smallest of many."""
    parts = (sizes or "").split()
    return sizes if len(parts) <= FEW_SIZES else f"{parts[0]} .. {parts[-1]}"


def _column(values: list[Any]) -> list[Any]:
    """Return a column; where a cell is empty, all are text."""
    if None not in values:
        return values
    return ["" if value is None else str(value) for value in values]


def _silhouette(samples: Samples, labels: IntArray) -> float | None:
    """Return how much nearer samples are to their own cluster than to the next."""
    n = len(labels)
    if samples.precomputed or not 2 <= len(np.unique(labels)) < n:
        return None
    from sklearn.metrics import silhouette_score

    size = SILHOUETTE_SAMPLES if n > SILHOUETTE_SAMPLES else None
    return float(silhouette_score(samples.X, labels, sample_size=size, random_state=0))


def modularity(S: Graph, labels: IntArray) -> float | None:
    """Return sum_c (S inside c / S) - (degrees of c / S)^2; None without weight.

    Examples
    --------
    >>> modularity(np.kron(np.eye(2), np.ones((2, 2))), np.array([0, 0, 1, 1]))
    0.5
    """
    total = float(S.sum())
    if total <= 0:
        return None
    member = (labels[:, None] == np.unique(labels)).astype(np.float64)
    degree = np.asarray(S.sum(axis=1)).ravel() @ member
    inside = np.einsum("ij,ij->j", member, S @ member)
    return float(inside.sum() / total - ((degree / total) ** 2).sum())
