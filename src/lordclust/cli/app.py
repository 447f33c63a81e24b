"""The ``lordclust`` command: joins the verbs, one a file.

Nothing heavy is imported here, so ``--help`` and ``--version`` answer at once.
"""

import warnings
from typing import Any

import click

from lordclust._version import __version__
from lordclust.cli.compare import compare
from lordclust.cli.demo import demo
from lordclust.cli.exits import plain_errors
from lordclust.cli.fit import fit
from lordclust.cli.list import list_
from lordclust.cli.path import path
from lordclust.cli.predict import predict
from lordclust.cli.report import report


class Verbs(click.Group):
    """Commands in the order they are added, whose errors are one sentence."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with plain_errors(), warnings.catch_warnings():
            warnings.showwarning = _show_warning
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names as they were added."""
        return list(self.commands)


def _show_warning(message: Warning | str, *where: Any, **more: Any) -> None:
    """Print a warning as one sentence."""
    click.echo(f"Warning: {message}", err=True)


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="lordclust")
def main() -> None:
    """Graph-based clustering with probabilities and the shares you ask for."""


for verb in (fit, predict, path, compare, report, list_, demo):
    main.add_command(verb)
