"""``lordclust demo``: cluster the digits, print two tables, write four files."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from lordclust.cli.exits import COMPLETE, INTERRUPTED, Failure, interruptible
from lordclust.cli.options import force_option
from lordclust.cli.outputs import Outputs

#: What the demo writes.
FILES = ("labels.csv", "membership.csv", "path.csv", "demo.png")
#: Seconds after which a warm-up must be a compilation.
PATIENCE = 3.0


@click.command()
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo-output"),
    show_default=True,
    help="Folder for the files.",
)
@force_option
def demo(output: Path, force: bool) -> None:
    """Cluster the 1797 digits shipped with scikit-learn.

    Prints B-LoRD and LoRD beside spectral clustering and k-means, and B-LoRD from
    soft to hard. Writes labels, probabilities, the path and a picture.
    """
    outputs = _outputs(output, force)
    click.echo("Clustering scikit-learn's digits ...", err=True)
    from lordclust.cli.demo_run import load_demo, run_demo, warm_up

    with interruptible() as interrupts:
        data = load_demo()
        with _note_when_slow():
            warm_up(data)
        result = run_demo(data)
        from lordclust.cli.demo_files import write_files
        from lordclust.cli.demo_tables import print_tables

        print_tables(result)
        _leave_out_picture(outputs)
        with outputs.together(interrupts) as names:
            write_files(result, names)
    outputs.say(quiet=False)
    if interrupts.asked:
        raise Failure(COMPLETE, INTERRUPTED)


def _outputs(folder: Path, force: bool) -> Outputs:
    """Make the folder; refuse to replace files that are in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.ClickException(f"Cannot use {folder}: {error.strerror}.") from error
    return Outputs({name: str(folder / name) for name in FILES}, (), force=force)


def _leave_out_picture(outputs: Outputs) -> None:
    """Go on without a picture where nothing can draw it."""
    try:
        import lordclust.cli.demo_picture  # noqa: F401
    except ImportError as error:  # it names the line that installs matplotlib
        click.echo(f"No picture: {error}", err=True)
        outputs.leave_out("demo.png")


@contextmanager
def _note_when_slow() -> Iterator[None]:
    """Say what is going on when the first call of the solver compiles it."""
    text = "Compiling the solver, once per machine (about 20 s) ..."
    note = threading.Timer(PATIENCE, click.echo, (text,), {"err": True})
    note.daemon = True
    note.start()
    try:
        yield
    finally:
        note.cancel()
