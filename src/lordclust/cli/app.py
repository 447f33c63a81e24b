"""The ``lordclust`` command: a table of subcommands, each loaded on first use.

Nothing slow is imported here, so ``--help`` and ``--version`` respond at once.
"""

import warnings
from importlib import import_module
from typing import Any

import click

from lordclust._version import __version__
from lordclust.cli.exits import plain_errors, say
from lordclust.files.error import IN_SHELL

#: The commands, each in the module of the same name, with a line of help.
COMMANDS = {
    "fit": "Cluster the samples in a file.",
    "predict": "Assign new samples to the clusters of a saved model.",
    "refit": "Fit a saved model to new data; clusters keep their numbers.",
    "path": "Follow B-LoRD from soft (tau = 0) to hard (tau = 1).",
    "suggest": "Suggest the number of clusters in a file.",
    "layers": "Cluster coarsely and finely at once: nested levels.",
    "compare": "Run several methods on one file and compare them.",
    "report": "Show a saved model as an interactive HTML page.",
    "list": "List the methods or the data sets.",
    "demo": "Cluster the 1797 digits shipped with scikit-learn.",
}


class Commands(click.Group):
    """The table of commands; each error is printed as one sentence."""

    def make_context(self, *given: Any, **settings: Any) -> click.Context:
        """Parse the arguments before the command; --help and --version print here."""
        with plain_errors():
            return super().make_context(*given, **settings)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command."""
        token = IN_SHELL.set(True)
        try:
            with plain_errors(), warnings.catch_warnings():
                warnings.showwarning = _show_warning
                return super().invoke(ctx)
        finally:
            IN_SHELL.reset(token)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of the table."""
        return list(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Import the requested command."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None:
            module = import_module(f"lordclust.cli.{name}")
            command = getattr(module, "list_" if name == "list" else name)
        return name, command, rest


def _show_warning(message: Warning | str, *where: object, **more: object) -> None:
    """Print a warning as one sentence."""
    say(f"Warning: {message}")


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="lordclust")
def main() -> None:
    """Graph-based clustering with probabilities and prescribed cluster shares."""


for name, text in COMMANDS.items():
    main.add_command(click.Command(name, help=text))
