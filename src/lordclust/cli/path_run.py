"""What ``lordclust path`` computes and writes."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from lordclust import files
from lordclust._core.typing import Graph
from lordclust.cli import tables
from lordclust.cli.estimator import affinity, shares
from lordclust.cli.exits import Interrupts
from lordclust.cli.options import Reading, Wishes
from lordclust.cli.outputs import Outputs
from lordclust.cli.progress import Display
from lordclust.cli.samples import Samples, read_input
from lordclust.cli.summary import scores
from lordclust.graph import make_affinity
from lordclust.result import TauPath
from lordclust.rounding.labels import normalized_entropy
from lordclust.solver.tau_path import tau_path


def make_graph(
    source: str, wishes: Wishes, reading: Reading, scale: str, display: Display
) -> tuple[Samples, Graph]:
    """Read INPUT and build its graph."""
    samples, _ = read_input(source, wishes, reading, scale, display)
    display.stage(f"Joining neighbours among {samples.count}", total=1.0)
    wanted = affinity(wishes, samples.precomputed) or "knn"
    return samples, make_affinity(wanted, samples.X, callback=display.at)


class Walk:
    """A path in tau, as tables."""

    path: TauPath

    def __init__(
        self,
        samples: Samples,
        S: Graph,
        wishes: Wishes,
        taus: list[float] | None,
        checkpoint: str | None = None,
    ) -> None:
        self.samples, self.S, self.wishes, self.taus = samples, S, wishes, taus
        self.checkpoint = checkpoint

    def go(self, display: Display, interrupts: Interrupts) -> None:
        """Follow the path until its end, or until Ctrl-C asks to stop."""
        last = 1.0 if self.taus is None else self.taus[-1]
        display.stage("tau 0.00", total=last)

        def at(tau: float) -> bool:
            interrupts.keep()
            display.at(tau, f"tau {tau:.2f}")
            return interrupts.asked

        wishes = self.wishes
        self.path = tau_path(
            self.S,
            wishes.n_clusters,
            taus=self.taus,
            proportions=shares("path", wishes),
            sample_weight=self.samples.weight,
            known_labels=self.samples.known,
            keep="all",
            random_state=wishes.seed,
            n_jobs=wishes.jobs,
            callback=at,
            checkpoint=self.checkpoint,
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each tau."""
        path, k = self.path, self.wishes.n_clusters
        rows = []
        for i, tau in enumerate(path.taus.tolist()):
            sizes = np.bincount(path.labels[i], minlength=k).tolist()
            entropy = normalized_entropy(path.memberships[tau]).mean()
            row = {
                "tau": tau,
                "objective": float(path.objectives[i]),
                "entropy": float(entropy),
                "converged": int(path.converged[i]),
                **scores(self.samples, path.labels[i]),
            }
            rows.append(row | {f"size{j}": size for j, size in enumerate(sizes)})
        return rows

    def label_columns(self) -> dict[str, Any]:
        """Return a column of labels for each tau."""
        columns = {self.samples.id_name: self.samples.ids}
        for tau, labels in zip(self.path.taus, self.path.labels, strict=True):
            columns[f"tau={tau:.6g}"] = labels
        return columns

    def write(self, outputs: Outputs, interrupts: Interrupts) -> None:
        """Write the files asked for: all of them, or none."""
        with outputs.together(interrupts) as names:
            if "--output" in names:
                tables.write_file(names["--output"], as_columns(self.rows()))
            if "--labels" in names:
                tables.write_file(names["--labels"], self.label_columns())

    def print_to_stdout(self, outputs: Outputs) -> None:
        """Print what was asked for on stdout."""
        if outputs.to_stdout("--output"):
            tables.print_rows(self.rows())
        if outputs.to_stdout("--labels"):
            files.write_table("-", self.label_columns())
        sys.stdout.flush()


def as_columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return a table column by column."""
    return {name: [row[name] for row in rows] for name in rows[0]}
