"""``lordclust compare``: several methods on the same file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from lordclust.cli.exits import (
    COMPLETE,
    INTERRUPTED,
    Failure,
    debugging,
    interruptible,
)
from lordclust.cli.options import (
    FitRequest,
    InputOptions,
    counted,
    force_option,
    input_options,
    quiet_option,
    report_option,
    request_options,
    scale_option,
)
from lordclust.cli.outputs import Outputs, Writer
from lordclust.cli.progress import Display

if TYPE_CHECKING:
    from lordclust._core.typing import Graph
    from lordclust.cli.fitting import Estimator, Fitted
    from lordclust.cli.samples import Samples
    from lordclust.cli.tables import Row
    from lordclust.result import TauPath

#: Fast methods of different kinds.
USUAL = "blord,lord,sc,ncut,kkm,gmm"
#: Number of cluster sizes that a column at a terminal shows.
FEW_SIZES = 3


@click.command()
@click.argument("input_", metavar="INPUT")
@request_options(
    "proportions",
    "strength",
    "cluster_sizes",
    "size_min",
    "size_max",
    "rounding",
    "tau",
)
@input_options("weight_column", "known_labels")
@scale_option
@click.option(
    "--methods",
    metavar="A,B,...|all",
    default=USUAL,
    show_default=True,
    help="Names from `lordclust list methods`.",
)
@click.option("-o", "--output", metavar="FILE", help="The table; stdout by default.")
@click.option("--json", "json_", is_flag=True, help="Print JSON on stdout.")
@report_option
@force_option
@quiet_option
def compare(
    input_: str,
    request: FitRequest,
    reading: InputOptions,
    scale: str,
    methods: str,
    output: str | None,
    json_: bool,
    report: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Run several methods on INPUT and compare them side by side.

    One line per method: seconds, its own objective, the sizes of its clusters,
    silhouette (of the features) and modularity (of the neighbour graph), and ACC
    and NMI with --label-column. If a method fails, its line states why; the others
    continue. blord chooses tau and the shares itself, as in `lordclust fit`.

    Ctrl-C leaves out the methods that have not finished.

    \b
      lordclust compare iris.csv -k 3 --label-column species
      lordclust compare iris.csv -k 3 --methods blord,sc -o table.csv
    """
    targets = {"--output": output, "--report": report}
    outputs = Outputs(targets, (input_,), force=force)
    from lordclust.cli import pages
    from lordclust.cli.fitting import check_method
    from lordclust.cli.samples import read_input
    from lordclust.cli.tables import check_formats
    from lordclust.registry import METHODS

    parts = list(METHODS) if methods == "all" else methods.split(",")
    names = [check_method(name) for name in dict.fromkeys(p.strip() for p in parts)]
    check_formats(outputs, "--output")
    with Display(quiet=quiet) as display, interruptible() as interrupts:
        samples, _ = read_input(input_, request, reading, scale, display)
        table = Comparison(names, request, samples)
        table.run(display)
        if not table.models:
            outputs.leave_out("--report")  # there is nothing to draw
        path = None
        if "--report" in outputs:
            path = pages.path_around(table.models[0], samples, display, interrupts)
            display.stage("Drawing the report")
        writers = table.writers(path)
        outputs.write(writers, interrupts)
    outputs.finish(writers, quiet=quiet)
    if json_ or output is None:
        table.print(as_json=json_)
    if table.interrupted:
        done = ", ".join(str(row["method"]) for row in table.rows)
        raise Failure(f"Interrupted. Finished and kept: {done}.", INTERRUPTED)
    if interrupts.requested:
        raise Failure(COMPLETE, INTERRUPTED)
    if not table.models:
        raise Failure("All methods failed; the table states why.")


class Comparison:
    """Results of several methods on the same samples, one row each."""

    def __init__(self, names: list[str], request: FitRequest, samples: Samples) -> None:
        self.names, self.request, self.samples = names, request, samples
        self.rows: list[Row] = []
        self.models: list[Estimator] = []
        self.interrupted = False

    def run(self, display: Display) -> None:
        """Run the methods, one after the other, until the end or Ctrl-C."""
        from lordclust.cli.fitting import affinity
        from lordclust.graph import make_affinity

        display.stage("", total=len(self.names) + 1)
        try:
            display.at(0, "neighbours")
            kind = affinity(self.request, self.samples.precomputed) or "knn"
            S = make_affinity(kind, self.samples.X)
            for i, name in enumerate(self.names, 1):
                display.at(i, name)
                self.rows.append(self._row(name, S))
        except KeyboardInterrupt:
            if not self.rows:
                raise
            self.interrupted = True

    def _row(self, name: str, S: Graph) -> Row:
        """Return the row of a method, with the error message if it fails."""
        import numpy as np

        from lordclust.cli import summary

        scores = () if self.samples.labels is None else ("acc", "nmi")
        names = ("seconds", "objective", "sizes", "silhouette", "modularity", *scores)
        row: Row = {"method": name, **dict.fromkeys((*names, "note"))}
        try:
            fitted = self._fitted(name)
        except Exception as error:  # of one method; the others continue
            if debugging():
                raise
            return row | {"note": str(error) or type(error).__name__}
        self.models.append(fitted.model)
        labels = fitted.model.labels_
        sizes = np.sort(np.bincount(labels, minlength=counted(self.request)))[::-1]
        return row | {
            "seconds": round(fitted.seconds, 4),
            "objective": float(getattr(fitted.model, "objective_", np.nan)),
            "sizes": " ".join(map(str, sizes)),
            "silhouette": summary.silhouette(self.samples, labels),
            "modularity": summary.modularity(S, labels),
            **summary.scores(self.samples, labels),
            "note": " ".join(fitted.warnings),
        }

    def _fitted(self, name: str) -> Fitted:
        """Fit a method as ``lordclust fit`` does."""
        from lordclust.cli.fitting import fit_model, parameters
        from lordclust.registry import METHODS, make_method

        precomputed = self.samples.precomputed
        if precomputed and METHODS[name].takes == "features":
            raise ValueError(f"{name} needs features, but INPUT contains similarities.")
        given = parameters(name, self.request, precomputed=precomputed, lenient=True)
        return fit_model(make_method(name, **given), self.samples)

    def writers(self, path: TauPath | None) -> dict[str, Writer]:
        """Return the function that writes each output."""
        from lordclust._core.versions import library_versions
        from lordclust.cli import pages, tables

        def write_table(file: str, force: bool) -> None:
            tables.write(file, tables.as_columns(self.rows), force)

        def write_report(file: str, force: bool) -> None:
            pages.write_page(
                file,
                force,
                self.models[0],
                path,
                self.samples,
                facts={"input": self.samples.source, **library_versions()},
                comparison=self.rows,
            )

        return {"--output": write_table, "--report": write_report}

    def print(self, *, as_json: bool) -> None:
        """Print the table; at a terminal without the sizes of most clusters."""
        from lordclust._core.versions import library_versions
        from lordclust.cli import summary, tables

        if as_json:
            document = {
                "input": self.samples.source,
                "n_clusters": self.request.n_clusters,
                "methods": summary.plain(self.rows),
                "versions": library_versions(),
            }
            tables.print_json(document)
            return
        rows = self.rows
        if sys.stdout.isatty():
            rows = [row | {"sizes": _shortened(row["sizes"])} for row in rows]
        tables.print_rows(rows)


def _shortened(sizes: str | float | None) -> str:
    """Return sizes for a narrow column: the largest and the smallest of many."""
    parts = str(sizes or "").split()
    return " ".join(parts) if len(parts) <= FEW_SIZES else f"{parts[0]} .. {parts[-1]}"
