"""Run the command line with ``python -m lordclust``."""

from lordclust.cli.entry import run

if __name__ == "__main__":
    run()
