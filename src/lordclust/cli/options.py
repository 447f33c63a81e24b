"""Options that several commands share, and the values they take.

Each group of options reaches a command as one record. Nothing heavy is imported.
"""

import functools
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

TAU_RULES = ("auto", "n", "blocks")
SCALES = ("none", "minmax", "zscore")


def numbers(kind: type[int] | type[float], *words: str) -> Callable[[str], Any]:
    """Return a reader of numbers with commas between them, a file of them, or words."""
    what = "whole numbers" if kind is int else "numbers"
    or_words = "".join(f", or {word}" for word in words)

    def read(value: str) -> Any:
        if value in words:
            return value
        try:
            file = Path(value)
            text = file.read_text(encoding="utf-8") if file.is_file() else value
            return [kind(part) for part in re.split(r"[,;\s]+", text.strip())]
        except (OSError, ValueError):
            raise click.BadParameter(
                f"{value!r} is neither {what} with commas between them nor a file of "
                f"them{or_words}."
            ) from None

    return read


def tau(value: str) -> float | str:
    """Return tau as a number from 0 to 1, or the rule that finds it."""
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
    """Return increasing taus from FIRST:LAST:STEP, or with commas between them."""
    try:
        taus = _taus(value)
    except ValueError:
        taus = []
    rising = all(a < b for a, b in itertools.pairwise(taus))
    if not taus or not rising or not 0 <= taus[0] <= taus[-1] <= 1:
        raise click.BadParameter(
            f"{value!r} is no increasing grid in [0, 1]. Try 0.02:1:0.02, or 0.1,0.3,1."
        )
    return taus


def _taus(text: str) -> list[float]:
    """Return the numbers of a grid; the last is in it."""
    if ":" not in text:
        return [float(part) for part in text.split(",")]
    first, last, step = (float(part) for part in text.split(":"))
    if not 1e-4 <= step <= 1 or not 0 <= first <= last <= 1:
        return []
    count = int((last - first) / step + 1e-9)
    taus = [round(first + i * step, 12) for i in range(count + 1)]
    return taus if last - taus[-1] < 1e-9 else [*taus, last]


@dataclass(frozen=True)
class Reading:
    """How INPUT is read."""

    columns: str | None
    id_column: str | None
    label_column: str | None
    weight_column: str | None
    known_labels: str | None
    precomputed: bool
    format_: str | None


@dataclass(frozen=True)
class Wishes:
    """What the clusters should be like; None where nothing was said."""

    n_clusters: int
    proportions: Any
    strength: float | None
    cluster_sizes: list[int] | None
    rounding: str | None
    tau: float | str | None
    affinity: str | None
    neighbors: int | None
    seed: int | None
    jobs: int | None


def is_precomputed(wishes: Wishes, reading: Reading) -> bool:
    """Tell whether INPUT holds similarities; two options say so."""
    return bool(reading.precomputed) or wishes.affinity == "precomputed"


def check_scale(scale: str, wishes: Wishes, reading: Reading) -> None:
    """Refuse to scale similarities."""
    if scale != "none" and is_precomputed(wishes, reading):
        raise click.UsageError(
            f"--scale {scale} is for features, but INPUT holds similarities. Leave it "
            "out."
        )


_COLUMNS = click.option(
    "--columns",
    metavar="A,B,...",
    help="Columns to use; by default all that hold numbers and have no other use.",
)
_ID = click.option(
    "--id-column",
    metavar="NAME",
    help="Column that names the samples; kept in the output.",
)
_LABELS = click.option(
    "--label-column",
    metavar="NAME",
    help="Column of true classes: never used to cluster, only to score.",
)
_WEIGHTS = click.option(
    "--weight-column", metavar="NAME", help="Column of how much each sample counts."
)
_KNOWN = click.option(
    "--known-labels",
    metavar="NAME",
    help="Column of known clusters from 0 to K-1; -1 or nothing where unknown.",
)
_PRECOMPUTED = click.option(
    "--precomputed",
    is_flag=True,
    help="INPUT holds similarities, or edges 'a b weight', not features.",
)
_FORMAT = click.option(
    "--format",
    "format_",
    metavar="FORMAT",
    help="csv, tsv, parquet, npy, npz, mtx, mat, h5ad or edges; by default by suffix.",
)
_CLUSTERS = click.option(
    "-k",
    "--clusters",
    "n_clusters",
    type=click.IntRange(min=1),
    metavar="K",
    required=True,
    help="Number of clusters (the largest number, if shares are chosen for you).",
)
_SHARES = click.option(
    "--proportions",
    type=numbers(float, "auto", "equal"),
    metavar="A,B,...|FILE|auto|equal",
    help="Share of each cluster, met exactly; auto chooses them without labels.",
)
_STRENGTH = click.option(
    "--strength",
    type=click.FloatRange(min=0),
    metavar="S",
    help="Take --proportions (or equal ones) as a wish: 10 firm, 1 gentle, 0.1 loose.",
)
_SIZES = click.option(
    "--cluster-sizes",
    type=numbers(int),
    metavar="A,B,...|FILE",
    help="How many samples each cluster gets, met to the sample.",
)
_ROUNDING = click.option(
    "--rounding",
    type=click.Choice(["argmax", "exact"]),
    help="exact: labels meet the shares to the sample, not only nearly.",
)
_TAU = click.option(
    "--tau",
    type=tau,
    metavar="0..1|auto|n|blocks",
    help="From soft (0) to hard (1). auto chooses without labels.",
)
_AFFINITY = click.option(
    "--affinity",
    type=click.Choice(["knn", "self_tuning", "precomputed"]),
    help="How features become similarities; by default as the method does it.",
)
_NEIGHBORS = click.option(
    "--neighbors",
    type=click.IntRange(min=1),
    metavar="N",
    help="Nearest neighbours in the graph; by default floor(log2 n) + 1.",
)
_SEED = click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="For what is drawn at random; without it runs are equal too.",
)
_JOBS = click.option(
    "--jobs",
    type=int,
    metavar="N",
    help="Threads, by default all cores. Results do not depend on it.",
)
force_option = click.option(
    "--force", is_flag=True, help="Replace files that exist already."
)
checkpoint_option = click.option(
    "--checkpoint",
    metavar="FILE",
    help="Written after each tau: if the run is killed, the same command goes on "
    "there. Removed when all is written.",
)
quiet_option = click.option(
    "-q", "--quiet", is_flag=True, help="No progress and no messages, only errors."
)
scale_option = click.option(
    "--scale",
    type=click.Choice(SCALES),
    default="none",
    show_default=True,
    help="minmax: features from 0 to 1. zscore: mean 0, variance 1.",
)


def _as_record(
    record: type[Any], name: str, options: dict[str, Any]
) -> Callable[[Command], Command]:
    """Return a decorator that adds options and hands them over as one record.

    Fields without an option are None, or False where options are flags.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapped(*args: Any, **given: Any) -> Any:
            values = {f.name: given.pop(f.name, None) for f in fields(record)}
            return command(*args, **{name: record(**values)}, **given)

        result: Any = wrapped
        for option in reversed(options.values()):
            result = option(result)
        return result  # type: ignore[no-any-return]

    return decorate


_READING: dict[str, Any] = {
    "columns": _COLUMNS,
    "id_column": _ID,
    "label_column": _LABELS,
    "weight_column": _WEIGHTS,
    "known_labels": _KNOWN,
    "precomputed": _PRECOMPUTED,
    "format_": _FORMAT,
}
_WISHES: dict[str, Any] = {
    "n_clusters": _CLUSTERS,
    "proportions": _SHARES,
    "strength": _STRENGTH,
    "cluster_sizes": _SIZES,
    "rounding": _ROUNDING,
    "tau": _TAU,
    "affinity": _AFFINITY,
    "neighbors": _NEIGHBORS,
    "seed": _SEED,
    "jobs": _JOBS,
}


def reading_options(*without: str) -> Callable[[Command], Command]:
    """Add the options on how INPUT is read; a command gets them as ``reading``."""
    options = {n: o for n, o in _READING.items() if n not in without}
    return _as_record(Reading, "reading", options)


def wishes_options(*without: str) -> Callable[[Command], Command]:
    """Add the options on what is wanted; a command gets them as ``wishes``."""
    options = {n: o for n, o in _WISHES.items() if n not in without}
    return _as_record(Wishes, "wishes", options)
