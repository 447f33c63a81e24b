"""The ``lordclust`` command: joins the verbs, one a file.

Nothing heavy is imported here, so ``--help`` and ``--version`` answer at once.
"""

import click

from lordclust._version import __version__
from lordclust.cli.demo import demo


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="lordclust")
def main() -> None:
    """Graph-based clustering with probabilities and the shares you ask for."""


main.add_command(demo)
