"""``lordclust compare``: several methods on the same files."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from lordclust.cli.exits import (
    INTERRUPTED,
    Failure,
    debugging,
    interruptible,
    say,
)
from lordclust.cli.options import (
    SHARES,
    FitRequest,
    InputOptions,
    input_options,
    request_options,
    result_option,
    scale_option,
)
from lordclust.cli.outputs import Outputs, Writer
from lordclust.cli.progress import Display

if TYPE_CHECKING:
    from lordclust.cli.fitting import Estimator, Fitted
    from lordclust.cli.samples import Samples
    from lordclust.cli.tables import Row
    from lordclust.result import TauPath

#: Fast methods of different kinds.
USUAL = "blord,lord,sc,ncut,kkm,gmm"
#: Number of cluster sizes that a column at a terminal shows.
FEW_SIZES = 3
#: Scores of all methods; the first that is known decides. The higher, the better.
SCORES = ("acc", "ari", "nmi", "evidence", "modularity", "silhouette")
#: Differences below this are ties.
TIE = 5e-4


@click.command()
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)
@request_options(*SHARES)
@input_options("weight_column", "known_labels")
@scale_option
@click.option(
    "--methods",
    metavar="A,B,...|all",
    default=USUAL,
    show_default=True,
    help="Names from `lordclust list methods`.",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Run each method with N random seeds; the table has mean and spread.",
)
@click.option("-o", "--output", metavar="FILE", help="The table; stdout by default.")
@click.option("--json", "json_", is_flag=True, help="Print JSON on stdout.")
@result_option("report")
@result_option("force")
@result_option("quiet")
def compare(
    inputs: tuple[str, ...],
    request: FitRequest,
    reading: InputOptions,
    scale: str,
    methods: str,
    seeds: int,
    output: str | None,
    json_: bool,
    report: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Run several methods on each INPUT, compare them and recommend one.

    One line per method with scores that can be compared: ACC, ARI and NMI with
    --label-column, the evidence of the labels (separation in the graph of
    neighbours, balance and features: what blord maximises), their modularity in
    that graph and the silhouette of the features. The first of these decides the
    rank, and with several files the mean rank. _sd columns are standard
    deviations over seeds. If a method fails, its line states why.

    -k auto is the number of classes of each file, or a suggested number.

    Ctrl-C leaves out the methods that have not finished.

    \b
      lordclust compare iris.csv -k 3 --label-column species
      lordclust compare iris.csv -k 3 --methods blord,sc --seeds 5 -o table.csv
      lordclust compare a.csv b.csv c.csv -k auto --label-column class
    """
    targets = {"--output": output, "--report": report}
    outputs = Outputs(targets, inputs, force=force)
    if report is not None and len(inputs) > 1:
        raise click.UsageError(
            f"--report shows one INPUT, got {len(inputs)}. Leave it out."
        )
    from lordclust.cli import pages
    from lordclust.cli.fitting import check_method
    from lordclust.cli.samples import read_input
    from lordclust.cli.tables import check_formats
    from lordclust.registry import METHODS

    parts = list(METHODS) if methods == "all" else methods.split(",")
    names = [check_method(name) for name in dict.fromkeys(p.strip() for p in parts)]
    check_formats(outputs, "--output")
    table = Table()
    with Display(quiet=quiet) as display, interruptible() as interrupts:
        for source in inputs:
            samples, _ = read_input(source, request, reading, scale, display)
            table.add(Comparison(names, request, samples, seeds), display)
            if table.interrupted:
                break
        if not table.models:
            outputs.leave_out("--report")  # there is nothing to draw
        path = None
        if "--report" in outputs:
            path = pages.path_around(table.models[0], samples, display, interrupts)
        writers = table.writers(path)
        outputs.write(writers, interrupts)
    outputs.finish(writers, quiet=quiet)
    if json_ or output is None:
        table.print(as_json=json_)
    if table.models and not quiet:
        say(table.advice())
    if table.interrupted:
        done = ", ".join(str(row["method"]) for row in table.rows)
        raise Failure(f"Interrupted. Finished and kept: {done}.", INTERRUPTED)
    interrupts.end()
    if not table.models:
        raise Failure("All methods failed; the table states why.")


class Comparison:
    """Results of several methods on the same samples, one row each."""

    def __init__(
        self, names: list[str], request: FitRequest, samples: Samples, n_seeds: int
    ) -> None:
        self.names, self.request, self.samples = names, request, samples
        self.n_seeds = n_seeds
        self.rows: list[Row] = []
        self.models: list[Estimator] = []
        self.interrupted = False

    def run(self, display: Display) -> None:
        """Run the methods, one after the other, until the end or Ctrl-C."""
        display.stage("", total=len(self.names) + 1)
        try:
            display.at(0, "neighbours")
            self._prepare()
            for i, name in enumerate(self.names, 1):
                display.at(i, name)
                self.rows.append(self._row(name))
        except KeyboardInterrupt:
            if not self.rows:
                raise
            self.interrupted = True
        _add_ranks(self.rows)

    def _prepare(self) -> None:
        """Build the graph, count the clusters, and prepare the judge."""
        from lordclust.choose.evidence import Evidence
        from lordclust.choose.n_clusters import best_n_clusters
        from lordclust.cli.fitting import affinity
        from lordclust.graph import make_affinity

        samples, k = self.samples, self.request.n_clusters
        kind = affinity(self.request, samples.precomputed) or "knn"
        self.S = make_affinity(kind, samples.X)
        if k is None and samples.labels is not None:
            k = len({str(label) for label in samples.labels} - {""})
        elif k is None:
            k = best_n_clusters(self.S, samples.features, samples.weights).best_k
        self.request = replace(self.request, n_clusters=k)
        self.k, self.judge = k, Evidence(self.S, k, samples.features)

    def _row(self, name: str) -> Row:
        """Return the row of a method, with the error message if it fails."""
        import numpy as np

        row: Row = {"method": name, **dict.fromkeys(self._columns()), "note": ""}
        try:
            fits = [self._fitted(name, seed) for seed in self._seeds(name)]
        except Exception as error:  # of one method; the others continue
            if debugging():
                raise
            return row | {"note": str(error) or type(error).__name__}
        from lordclust.cli.tables import DIGITS

        self.models.append(fits[0].model)
        for score, values in self._scores(fits).items():
            row[score] = round(float(np.mean(values)), DIGITS)
            if self.n_seeds > 1:
                spread = float(np.std(np.subtract(values, values[0])))
                row[f"{score}_sd"] = round(spread, DIGITS)
        sizes = np.bincount(fits[0].model.labels_, minlength=self.k)
        row["sizes"] = " ".join(map(str, np.sort(sizes)[::-1]))
        row["seconds"] = round(float(np.mean([fit.seconds for fit in fits])), 4)
        notes = dict.fromkeys(text for fit in fits for text in fit.warnings)
        return row | {"note": " ".join(notes)}

    def _columns(self) -> Iterable[str]:
        """Yield the names of the columns between the method and the note."""
        for score in SCORES:
            if score in SCORES[:3] and self.samples.labels is None:
                continue
            yield score
            if self.n_seeds > 1:
                yield f"{score}_sd"
        yield from ("sizes", "seconds", "rank")

    def _scores(self, fits: list[Fitted]) -> dict[str, list[float]]:
        """Return the scores that can be computed, one value for each fit."""
        from lordclust.cli import summary

        found: dict[str, list[float]] = {}
        for fit in fits:
            labels = fit.model.labels_
            one: dict[str, float | None] = {
                **summary.scores(self.samples, labels),
                "evidence": self.judge.score(labels).total,
                "modularity": summary.modularity(self.S, labels),
                "silhouette": summary.silhouette(self.samples, labels),
            }
            for name, value in one.items():
                if value is not None:
                    found.setdefault(name, []).append(value)
        return found

    def _seeds(self, name: str) -> Iterable[int | None]:
        """Return the random seeds of a method: one if it draws no numbers."""
        from lordclust.registry import METHODS

        first = self.request.seed
        draws = "random_state" in METHODS[name].load()().get_params()
        if self.n_seeds == 1 or not draws:
            return [first]
        return range(first or 0, (first or 0) + self.n_seeds)

    def _fitted(self, name: str, seed: int | None) -> Fitted:
        """Fit a method as ``lordclust fit`` does."""
        from lordclust.cli.fitting import fit_model, parameters
        from lordclust.registry import METHODS, make_method

        precomputed = self.samples.precomputed
        if precomputed and METHODS[name].takes == "features":
            raise ValueError(f"{name} needs features, but INPUT contains similarities.")
        request = replace(self.request, seed=seed)
        given = parameters(name, request, precomputed=precomputed, lenient=True)
        return fit_model(make_method(name, **given), self.samples)


class Table:
    """The rows of one or several files, and what follows from them."""

    def __init__(self) -> None:
        self.files: list[Comparison] = []

    def add(self, one: Comparison, display: Display) -> None:
        """Run all methods on a file."""
        self.files.append(one)
        one.run(display)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C has ended the comparison."""
        return self.files[-1].interrupted

    @property
    def models(self) -> list[Estimator]:
        """All models of which there is a row with scores."""
        return [model for one in self.files for model in one.models]

    @property
    def rows(self) -> list[Row]:
        """The rows of all files, which several files name."""
        if len(self.files) == 1:
            return self.files[0].rows
        return [
            {"input": one.samples.source, **row}
            for one in self.files
            for row in one.rows
        ]

    def mean_ranks(self) -> dict[str, float]:
        """Return the mean rank of each method, the best first; a failure is last."""
        found: dict[str, list[float]] = {}
        for one in self.files:
            for row in one.rows:
                rank = len(one.rows) if row["rank"] is None else row["rank"]
                found.setdefault(str(row["method"]), []).append(float(rank))
        means = {name: sum(ranks) / len(ranks) for name, ranks in found.items()}
        return dict(sorted(means.items(), key=lambda item: item[1]))

    def advice(self) -> str:
        """Return which method is recommended, and why."""
        if len(self.files) == 1:
            return _advice(self.files[0].rows)
        ranks = self.mean_ranks()
        first = [name for name, rank in ranks.items() if rank <= min(ranks.values())]
        listed = ", ".join(f"{name} {rank:.2f}" for name, rank in ranks.items())
        return (
            f"Recommended: {' or '.join(first)}, with the best mean rank by "
            f"{_title(_deciding(self.rows))} over {len(self.files)} files: {listed}."
        )

    def writers(self, path: TauPath | None) -> dict[str, Writer]:
        """Return the function that writes each output."""
        from lordclust._core.versions import library_versions
        from lordclust.cli import pages, tables

        samples = self.files[0].samples

        def write_table(file: str, force: bool) -> None:
            tables.write(file, tables.as_columns(self.rows), force)

        def write_report(file: str, force: bool) -> None:
            pages.write_page(
                file,
                force,
                self.models[0],
                path,
                samples,
                facts={"input": samples.source, **library_versions()},
                comparison=self.rows,
            )

        return {"--output": write_table, "--report": write_report}

    def print(self, *, as_json: bool) -> None:
        """Print the table; at a terminal in fewer columns."""
        from lordclust._core.versions import library_versions
        from lordclust.cli import summary, tables

        if as_json:
            document = {
                "input": [one.samples.source for one in self.files],
                "n_clusters": [one.k for one in self.files],
                "methods": summary.plain(self.rows),
                "mean_ranks": self.mean_ranks(),
                "versions": library_versions(),
            }
            tables.print_json(document)
            return
        rows = self.rows
        if sys.stdout.isatty():
            rows = [_shortened(row, _deciding(rows)) for row in rows]
        tables.print_rows(rows)


def _deciding(rows: list[Row]) -> str:
    """Return the name of the score that decides."""
    known = (n for n in SCORES if any(row.get(n) is not None for row in rows))
    return next(known, SCORES[-1])


def _scored(rows: list[Row]) -> list[tuple[float, Row]]:
    """Return the deciding score of each row that has one, the highest first."""
    name = _deciding(rows)
    found = [(row[name], row) for row in rows]
    known = [(float(value), row) for value, row in found if value is not None]
    return sorted(known, key=lambda one: -one[0])


def _add_ranks(rows: list[Row]) -> None:
    """Add the rank of each row by the deciding score; equal scores share a rank."""
    scored = _scored(rows)
    for own, row in scored:
        row["rank"] = 1 + sum(value > own + TIE for value, _ in scored)


def _advice(rows: list[Row]) -> str:
    """Return the method with the highest deciding score, and which come next."""
    (top, row), *rest = _scored(rows)
    equal = [row] + [other for value, other in rest if value > top - TIE]
    best = min(equal, key=lambda row: float(row["seconds"] or 0))
    name = _deciding(rows)
    what = _title(name)
    text = f"Recommended: {best['method']}, with the highest {what}, {top:.3f}"
    if len(equal) > 1:
        others = [str(other["method"]) for other in equal if other is not best]
        return f"{text}; slower with the same {what}: {', '.join(others)}."
    return f"{text}; next: {rest[0][1]['method']}, {rest[0][0]:.3f}." if rest else text


def _title(score: str) -> str:
    """Return the name of a score in a sentence."""
    return score.upper() if score in SCORES[:3] else score


def _shortened(row: Row, deciding: str) -> Row:
    """Return a row for a terminal: the spread of one score only, and few sizes."""
    short: Row = {}
    for name, value in row.items():
        if name.endswith("_sd"):
            continue
        spread = row.get(f"{name}_sd") if name == deciding else None
        if isinstance(value, float) and spread is not None:
            value = f"{value:.3f} ± {spread:.3f}"
        short[name] = _few(value) if name == "sizes" else value
    return short


def _few(sizes: str | float | None) -> str:
    """Return sizes for a narrow column: the largest and the smallest of many."""
    parts = str(sizes or "").split()
    return " ".join(parts) if len(parts) <= FEW_SIZES else f"{parts[0]} .. {parts[-1]}"
