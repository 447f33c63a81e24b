"""``lordclust demo``: cluster the digits, print two tables, write four files."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from lordclust.cli.demo_run import Demo

#: What the demo writes; a folder that holds anything else is not overwritten.
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
@click.option("--force", is_flag=True, help="Write into a folder with other files.")
def demo(output: Path, force: bool) -> None:
    """Cluster the 1797 digits shipped with scikit-learn.

    Prints B-LoRD and LoRD beside spectral clustering and k-means, and B-LoRD from
    soft to hard. Writes labels, probabilities, the path and a picture.
    """
    _make_folder(output, force)
    click.echo("Clustering scikit-learn's digits ...", err=True)
    from lordclust.cli.demo_run import load_demo, run_demo, warm_up

    data = load_demo()
    with _note_when_slow():
        warm_up(data)
    result = run_demo(data)
    from lordclust.cli.demo_tables import print_tables

    print_tables(result)
    for path in _write(result, output):
        click.echo(f"wrote {path}")


def _make_folder(output: Path, force: bool) -> None:
    """Make the folder; refuse one that is used for something else."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        others = sorted(p.name for p in output.iterdir() if p.name not in FILES)
    except OSError as error:
        raise click.ClickException(f"Cannot use {output}: {error.strerror}.") from error
    if others and not force:
        raise click.ClickException(
            f"{output} holds other files, such as {others[0]}. Choose another folder "
            "with --output, or add --force."
        )


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


def _write(result: Demo, output: Path) -> Iterator[Path]:
    """Write the files; yield each when it is there."""
    from lordclust.cli.demo_files import write_tables, write_whole

    try:
        yield from write_tables(result, output)
        try:
            from lordclust.cli.demo_picture import draw
        except ImportError as error:  # it names the line that installs matplotlib
            click.echo(f"No picture: {error}", err=True)
            return
        with write_whole(output / "demo.png") as path:
            draw(result).savefig(path, format="png", dpi=120)
        yield output / "demo.png"
    except OSError as error:
        raise click.ClickException(f"Cannot write to {output}: {error}.") from error
