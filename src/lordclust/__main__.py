"""Run the command line with ``python -m lordclust``."""

from lordclust.cli.app import main

if __name__ == "__main__":
    main(prog_name="lordclust")
