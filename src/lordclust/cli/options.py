"""Options that several commands share, and the values they take.

Each group of options is passed to a command as one record. Nothing slow is imported.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

TAU_RULES = ("auto", "n", "blocks")
SCALES = ("auto", "none", "minmax", "zscore")


def numbers(
    kind: type[int] | type[float], *words: str
) -> Callable[[str], list[float] | str]:
    """Return a parser of comma-separated numbers, a file of numbers, or fixed words."""
    what = "whole numbers" if kind is int else "numbers"
    or_words = "".join(f", or {word}" for word in words)

    def parse(value: str) -> list[float] | str:
        if value in words:
            return value
        try:
            file = Path(value)
            text = file.read_text(encoding="utf-8") if file.is_file() else value
            return [kind(part) for part in re.split(r"[,;\s]+", text.strip())]
        except (OSError, ValueError):
            raise click.BadParameter(
                f"{value!r} is neither a list of {what} separated by commas nor a file "
                f"of them{or_words}."
            ) from None

    return parse


def listed(value: str) -> list[str]:
    """Return the names in a comma-separated list."""
    return [name.strip() for name in value.split(",")]


def sizes(kind: type[int] | type[float]) -> Callable[[str], float | list[float] | str]:
    """Return a parser of one number for all clusters, or a list with one for each."""

    def parse(value: str) -> float | list[float] | str:
        found = numbers(kind)(value)
        return found[0] if isinstance(found, list) and len(found) == 1 else found

    return parse


def clusters(value: str) -> int:
    """Return the number of clusters, or 0 for auto: click 8.2 requires a value."""
    if value == "auto":
        return 0
    if not value.isdecimal() or int(value) < 1:
        raise click.BadParameter(
            f"{value!r} is neither a whole number of at least 1 nor auto."
        )
    return int(value)


def outlier_share(value: str) -> float | str:
    """Return the share of outliers, or auto."""
    try:
        share = value if value == "auto" else float(value)
    except ValueError:
        share = -1.0
    if isinstance(share, float) and not 0 <= share < 1:
        raise click.BadParameter(
            f"{value!r} is neither a share of the samples, at least 0 and below 1, nor "
            "auto. Try 0.05."
        )
    return share


def tau_value(value: str) -> float | str:
    """Return tau as a number in [0, 1], or the rule that chooses it."""
    if value in TAU_RULES:
        return value
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise click.BadParameter(
            f"{value!r} is neither a number from 0 (soft) to 1 (hard) nor one of "
            f"{', '.join(TAU_RULES)}. Try 0.3."
        )
    return number


def grid(value: str) -> list[float]:
    """Return increasing taus from FIRST:LAST:STEP, or from a comma-separated list."""
    try:
        taus = _taus(value)
    except ValueError:
        taus = []
    increasing = all(a < b for a, b in itertools.pairwise(taus))
    if not taus or not increasing or not 0 <= taus[0] <= taus[-1] <= 1:
        raise click.BadParameter(
            f"{value!r} is not an increasing grid in [0, 1]. Try 0.02:1:0.02, or "
            "0.1,0.3,1."
        )
    return taus


def _taus(text: str) -> list[float]:
    """Return the numbers of a grid, LAST included."""
    if ":" not in text:
        return [float(part) for part in text.split(",")]
    first, last, step = (float(part) for part in text.split(":"))
    if not 1e-4 <= step <= 1 or not 0 <= first <= last <= 1:
        return []
    count = int((last - first) / step + 1e-9)
    taus = [round(first + i * step, 12) for i in range(count + 1)]
    return taus if last - taus[-1] < 1e-9 else [*taus, last]


def option(*flags: str, **settings: Any) -> Any:
    """Return the field of a record that an option of the command line sets.

    The option is called like the field if no flags are given.
    """
    return field(default=None, metadata={"flags": flags, "settings": settings})


@dataclass(frozen=True)
class InputOptions:
    """How INPUT is read."""

    columns: str | Sequence[str] | None = option(
        metavar="A,B,...",
        help="Columns to use; by default all columns without another role.",
    )
    drop: list[str] | None = option(
        type=listed,
        metavar="A,B,...",
        help="Columns to leave out; columns of text are left out anyway.",
    )
    categorical: list[str] | None = option(
        type=listed,
        metavar="A,B,...",
        help="Columns of categories, each with the weight of one numeric column.",
    )
    missing: str | None = option(
        type=click.Choice(["error", "drop", "median"]),
        default="error",
        show_default=True,
        help="Missing values. drop: leave these samples out. median: fill them, "
        "categories with the most frequent one.",
    )
    id_column: str | None = option(
        metavar="NAME",
        help="Column that names the samples; kept in the output. none: there is no "
        "such column, whatever the columns look like.",
    )
    header: str | None = option(
        type=click.Choice(["auto", "yes", "no"]),
        default="auto",
        show_default=True,
        help="Whether the first line of csv or tsv names the columns.",
    )
    label_column: str | None = option(
        metavar="NAME",
        help="Column of true classes: never used for clustering, only for scores.",
    )
    weight_column: str | None = option(metavar="NAME", help="Column of sample weights.")
    known_labels: str | None = option(
        metavar="NAME",
        help="Column of known clusters from 0 to K-1; -1 or empty if unknown.",
    )
    precomputed: bool = option(
        is_flag=True,
        help="INPUT contains similarities, or edges 'a b weight', not features.",
    )
    format_: str | None = option(
        metavar="FORMAT",
        help="csv, tsv, parquet, xlsx, npy, npz, mtx, mat, h5ad or edges; by default "
        "from the suffix.",
    )
    encoding: str | None = option(
        metavar="NAME",
        help="Of text, for example cp1252; by default it is detected.",
    )
    decimal: str | None = option(
        type=click.Choice([".", ","]),
        help="The decimal sign, if it cannot be told from columns such as 1,234.",
    )


@dataclass(frozen=True)
class FitRequest:
    """The clusters that the user requested; None for options that were not given."""

    n_clusters: int | None = option(
        "-k",
        "--clusters",
        type=clusters,
        metavar="K|auto",
        default="auto",
        show_default=True,
        help="Number of clusters; auto chooses it, at most 20.",
    )
    proportions: list[float] | str | None = option(
        type=numbers(float, "auto", "equal"),
        metavar="A,B,...|FILE|auto|equal",
        help="Share of each cluster, met exactly; auto chooses them without labels.",
    )
    strength: float | None = option(
        type=click.FloatRange(min=0),
        metavar="S",
        help="Treat --proportions (or equal ones) as a soft constraint: 10 strong, "
        "1 moderate, 0.1 weak.",
    )
    cluster_sizes: int | list[int] | None = option(
        type=sizes(int),
        metavar="N|A,B,...|FILE",
        help="Number of samples in each cluster, met exactly; one for all, or one for "
        "each.",
    )
    size_min: float | list[float] | None = option(
        type=sizes(float),
        metavar="N|A,B,...",
        help="Least number of samples in a cluster, or share of them if below 1; one "
        "for all clusters, or one for each.",
    )
    size_max: float | list[float] | None = option(
        type=sizes(float),
        metavar="N|A,B,...",
        help="Largest number, or share, of samples in a cluster.",
    )
    rounding: str | None = option(
        type=click.Choice(["argmax", "exact"]),
        help="exact: the labels meet the shares, the default if shares are given; "
        "argmax: each label is the most probable cluster.",
    )
    outliers: float | str | None = option(
        type=outlier_share,
        metavar="SHARE|auto",
        help="Samples that belong nowhere get the label -1: this share of them, or "
        "those far from the others.",
    )
    tau: float | str | None = option(
        type=tau_value,
        metavar="0..1|auto|n|blocks",
        help="From soft (0) to hard (1); by default auto: calibrated probabilities.",
    )
    affinity: str | None = option(
        type=click.Choice(["knn", "self_tuning", "precomputed"]),
        help="How features become similarities; the default depends on the method.",
    )
    neighbors: int | None = option(
        type=click.IntRange(min=1),
        metavar="N",
        help="Nearest neighbours in the graph; by default floor(log2 n) + 1.",
    )
    seed: int | None = option(
        type=click.IntRange(min=0),
        metavar="N",
        help="Random seed; runs without one are reproducible as well.",
    )
    jobs: int | None = option(
        type=int,
        metavar="N",
        help="Number of threads, by default all cores; it does not affect results.",
    )


@dataclass(frozen=True)
class ResultOptions:
    """What is written about a fit, and how it presents the clusters."""

    output: str | None = option(
        "-o", "--output", metavar="FILE", help="Labels; stdout by default."
    )
    proba: str | None = option(metavar="FILE", help="Probability of every cluster.")
    profiles: str | None = option(
        metavar="FILE",
        help="What distinguishes each cluster; - for text on stdout, instead of the "
        "labels.",
    )
    names: list[str] | None = option(
        type=listed,
        metavar="A,B,...",
        help="Names of the clusters 0, 1, ...; shown beside the labels.",
    )
    join: bool = option(is_flag=True, help="Add the columns of INPUT to --output.")
    model: str | None = option(metavar="FILE", help="Model for `lordclust predict`.")
    report: str | None = option(
        metavar="FILE", help="Interactive report, one HTML file."
    )
    title: str | None = option(metavar="TEXT", help="Heading of the report.")
    json_: str | None = option(
        metavar="[FILE]",
        is_flag=False,
        flag_value="-",
        help="Summary of the run; without FILE on stdout, instead of the labels.",
    )
    force: bool = option(is_flag=True, help="Replace existing files.")
    quiet: bool = option(
        "-q",
        "--quiet",
        is_flag=True,
        help="Show errors only: no progress, no messages.",
    )

    @property
    def targets(self) -> dict[str, str | None]:
        """The file for each option; labels go to stdout if nothing else does."""
        output = self.output
        if output is None and "-" not in (self.json_, self.profiles):
            output = "-"
        return {
            "--output": output,
            "--proba": self.proba,
            "--profiles": self.profiles,
            "--model": self.model,
            "--report": self.report,
            "--json": self.json_,
        }


def counted(request: FitRequest) -> int:
    """Return the number of clusters, for commands that cannot choose it."""
    if request.n_clusters is None:
        raise click.UsageError(
            "Pass the number of clusters, -k: only `lordclust fit` with B-LoRD and "
            "without given shares or sizes chooses it."
        )
    return request.n_clusters


def is_precomputed(source: str, request: FitRequest, reading: InputOptions) -> bool:
    """Return whether INPUT contains similarities: two options, or edges, tell so."""
    from lordclust.files.reading import is_edge_list

    told = bool(reading.precomputed) or request.affinity == "precomputed"
    return told or is_edge_list(source, reading.format_)


scale_option = click.option(
    "--scale",
    type=click.Choice(SCALES),
    default="auto",
    show_default=True,
    help="minmax: features from 0 to 1. zscore: mean 0, variance 1. auto: zscore if "
    "standard deviations differ by more than a factor of 10, otherwise none.",
)
checkpoint_option = click.option(
    "--checkpoint",
    metavar="FILE",
    help="Saved after each tau: if the run is killed, the same command resumes from "
    "it. Removed when the run is complete.",
)


def input_options(*without: str) -> Callable[[Command], Command]:
    """Add the options for reading INPUT, which a command receives as ``reading``."""
    return _as_record(InputOptions, "reading", without)


#: Options about the shares of the clusters, for commands that have none.
SHARES = (
    "proportions", "strength", "cluster_sizes", "size_min", "size_max", "rounding",
    "outliers", "tau",
)  # fmt: skip


def request_options(*without: str) -> Callable[[Command], Command]:
    """Add the options for the clusters, which a command receives as ``request``."""
    return _as_record(FitRequest, "request", without)


def result_options(command: Command) -> Command:
    """Add the options for the outputs of a fit, which it receives as ``wanted``."""
    return _as_record(ResultOptions, "wanted")(command)


def result_option(name: str) -> Callable[[Any], Any]:
    """Return the option of one field of ``ResultOptions``, under its own name."""
    return _options(ResultOptions)[name]


def _as_record(
    record: type[Any], name: str, without: tuple[str, ...] = ()
) -> Callable[[Command], Command]:
    """Return a decorator that adds options and passes them on as one record.

    A command may have an option of its own in place of one that it leaves out.
    """
    options = _options(record, without)

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapped(*args: Any, **given: Any) -> Any:
            own = [one.name for one in fields(record) if one.name in given]
            values = {name: given.pop(name) for name in own}
            if "n_clusters" in values:
                values["n_clusters"] = values["n_clusters"] or None
            return command(*args, **{name: record(**values)}, **given)

        result: Any = wrapped
        for add in reversed(options.values()):
            result = add(result)
        return result  # type: ignore[no-any-return]

    return decorate


def _options(
    record: type[Any], without: tuple[str, ...] = ()
) -> dict[str, Callable[[Any], Any]]:
    """Return the decorators that add the options of a record, by field."""
    return {
        one.name: click.option(
            *(one.metadata["flags"] or [f"--{one.name.rstrip('_').replace('_', '-')}"]),
            one.name,
            **one.metadata["settings"],
        )
        for one in fields(record)
        if one.name not in without
    }
