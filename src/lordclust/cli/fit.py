"""``lordclust fit``: cluster a file."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import click

from lordclust.cli.exits import (
    INTERRUPTED,
    NOT_CONVERGED,
    Failure,
    how_to_resume,
    interruptible,
)
from lordclust.cli.options import (
    FitRequest,
    InputOptions,
    ResultOptions,
    checkpoint_option,
    input_options,
    is_precomputed,
    request_options,
    result_options,
    scale_option,
)
from lordclust.cli.outputs import Outputs, Writer
from lordclust.cli.progress import Display

if TYPE_CHECKING:
    from lordclust.cli.summary import Run
    from lordclust.result import TauPath


@click.command()
@click.argument("input_", metavar="INPUT")
@request_options()
@input_options()
@click.option(
    "--must-link",
    metavar="FILE",
    help="csv of pairs of ids, as in the output, that belong together.",
)
@click.option(
    "--cannot-link", metavar="FILE", help="Pairs of ids that do not belong together."
)
@click.option(
    "--links",
    type=click.Choice(["soft", "hard"]),
    help="soft, the default: nearly all links are met; hard: all of them.",
)
@scale_option
@click.option(
    "--method",
    default="blord",
    show_default=True,
    help="One of `lordclust list methods`.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="If the solver did not converge, write nothing and exit with code 4.",
)
@checkpoint_option
@result_options
def fit(
    input_: str,
    request: FitRequest,
    reading: InputOptions,
    must_link: str | None,
    cannot_link: str | None,
    links: str | None,
    scale: str,
    method: str,
    strict: bool,
    checkpoint: str | None,
    wanted: ResultOptions,
) -> None:
    """Cluster the samples in INPUT, a file, or - for stdin.

    B-LoRD, the default, finds the clusters and their shares itself, without labels,
    and calibrates the probabilities. Without -k it also chooses the number of
    clusters, at most 20. With --proportions equal, or with given shares or sizes, the
    labels meet them exactly.

    The output has one line per sample: its id (or number), its label, the
    probability of that label, and its uncertainty from 0 to 1.

    \b
      lordclust fit customers.csv --report segments.html -o labels.csv
      lordclust fit customers.csv -k 4 --categorical plan --missing median
      lordclust fit iris.csv -k 3 --label-column species -o labels.csv
      lordclust fit graph.mtx -k 10 --precomputed --proportions equal --tau 0.3
      lordclust fit people.csv -k 4 --cluster-sizes 25,25,25,25 --id-column name
      lordclust fit people.csv -k 4 --cannot-link rivals.csv --links hard

    Ctrl-C ends the search and keeps the best result so far, if there is one.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 3 bad input, 4 not converged
    (--strict), 130 interrupted.
    """
    inputs = tuple(name for name in (input_, must_link, cannot_link) if name)
    outputs = Outputs(wanted.targets, inputs, force=wanted.force, checkpoint=checkpoint)
    estimator = _make_estimator(input_, method, request, reading, outputs)
    if links is not None and "links" not in estimator.get_params():
        raise click.UsageError(f"The method {method} has no --links. Leave it out.")
    if links is not None:
        estimator.set_params(links=links)
    check_named(wanted.names, request.n_clusters)
    from lordclust.cli import pages, summary
    from lordclust.cli.fitting import fit_shown
    from lordclust.cli.links import Pairs, read_pairs
    from lordclust.cli.samples import read_input

    with Display(quiet=wanted.quiet) as display, interruptible() as interrupts:
        samples, preparation = read_input(
            input_, request, reading, scale, display, join=wanted.join
        )
        files = (must_link, cannot_link)
        pairs = Pairs(*(read_pairs(file, samples) if file else None for file in files))
        fitted = fit_shown(estimator, samples, display, interrupts, checkpoint, pairs)
        interrupted = interrupts.requested
        run = summary.Run(
            method, request.seed, samples, preparation, fitted, interrupted, pairs
        )
        _check_result(run, outputs, strict=strict)
        path = None
        if "--report" in outputs:
            path = pages.path_around(estimator, samples, display, interrupts)
        writers = run_writers(run, path, wanted)
        outputs.write(writers, interrupts)
    outputs.finish(writers, *summary.lines(run), quiet=wanted.quiet)
    if interrupted:
        kept = "Interrupted; the best result so far has been kept."
        raise Failure(kept + how_to_resume(checkpoint), INTERRUPTED)
    outputs.remove_checkpoint(len(getattr(estimator, "all_objectives_", "1")))
    interrupts.end()


def check_named(names: list[str] | None, k: int | None) -> None:
    """Raise an error if names of clusters cannot be used."""
    from lordclust.profiles import check_names

    if names is None:
        return
    if k is None:
        raise click.UsageError("--names needs a number of clusters, got -k auto.")
    try:
        check_names(names, k)
    except ValueError as error:
        raise click.UsageError(f"--{error}") from None


def _make_estimator(
    source: str,
    method: str,
    request: FitRequest,
    reading: InputOptions,
    outputs: Outputs,
) -> Any:
    """Return the estimator; raise an error for invalid options before reading INPUT."""
    from lordclust.cli.fitting import check_method, parameters
    from lordclust.cli.tables import check_formats
    from lordclust.registry import make_method

    precomputed = is_precomputed(source, request, reading)
    given = parameters(check_method(method), request, precomputed=precomputed)
    estimator = make_method(method, **given)
    if outputs.checkpoint is not None:
        _check_path(method, estimator)
    if "--model" in outputs and not hasattr(estimator, "save"):
        raise click.UsageError(
            f"Models of the method {method} cannot be saved. Use blord or lord, or "
            "leave --model out."
        )
    check_formats(outputs, "--output", "--proba", "--profiles")
    outputs.need_files("--model", "--report")
    return estimator


def _check_path(method: str, estimator: Any) -> None:
    """Raise an error for a checkpoint of a method that does not follow one path."""
    from lordclust._core.validation import is_auto

    if "checkpoint" not in inspect.signature(estimator.fit).parameters:
        raise click.UsageError(
            f"The method {method} has no path that --checkpoint could save. Use blord "
            "or lord, or leave --checkpoint out."
        )
    chosen = [n for n in ("tau", "proportions") if is_auto(getattr(estimator, n, None))]
    if chosen:
        raise click.UsageError(
            "--checkpoint saves a path to one tau, but "
            f"{' and '.join(f'--{name} auto' for name in chosen)}, the default, "
            "compares many paths. Pass for example --tau 0.3 --proportions equal, or "
            "leave --checkpoint out."
        )


def _check_result(run: Run, outputs: Outputs, *, strict: bool) -> None:
    """Raise an error if --strict is violated, or if --proba is impossible."""
    fitted = run.fitted
    if strict and not getattr(fitted.model, "converged_", True):
        why = fitted.warnings[0] if fitted.warnings else "The solver did not converge."
        raise Failure(f"{why} Nothing was written because of --strict.", NOT_CONVERGED)
    if "--proba" in outputs and not hasattr(fitted.model, "membership_"):
        raise Failure(f"--proba: the method {run.method} computes no probabilities.")


def run_writers(
    run: Run, path: TauPath | None, look: ResultOptions
) -> dict[str, Writer]:
    """Return the function that writes each output."""
    from lordclust import files
    from lordclust.cli import pages, summary, tables

    model: Any = run.fitted.model
    samples, document = run.samples, summary.facts(run)

    def write_document(file: str, force: bool) -> None:
        with files.atomic_file(file, force, text=True) as out:
            out.write(summary.to_json(document))

    def write_model(file: str, force: bool) -> None:
        extras = {
            "preparation": None if samples.precomputed else run.preparation.to_json(),
            "names": samples.names,
            "id": samples.id_name,
            "clusters": look.names,
        }
        model.save(file, force=force, extras=extras)

    def write_report(file: str, force: bool) -> None:
        names = ("seconds", "acc", "ari", "nmi")
        facts = {n: document[n] for n in names if document.get(n) is not None}
        if run.interrupted:
            facts["interrupted"] = "yes, this is the best result so far"
        used = {n: document["input"][n] for n in ("columns", "scale", "missing")}
        used["columns"] = ", ".join(used["columns"] or []) or None
        facts = {n: v for n, v in used.items() if v is not None} | facts
        facts = {"input": samples.source, **facts, **document["versions"]}
        pages.write_page(
            file, force, model, path, samples,
            facts=facts, names=look.names, title=look.title,
        )  # fmt: skip

    def write_profiles(file: str, force: bool) -> None:
        profiles = pages.profiles_of(model, samples, look.names)
        tables.write_profiles(file, profiles, force)

    P = getattr(model, "membership_", None)
    return tables.sample_writers(
        samples, model.labels_, P, names=look.names, join=look.join
    ) | {
        "--profiles": write_profiles,
        "--json": write_document,
        "--model": write_model,
        "--report": write_report,
    }
