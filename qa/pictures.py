"""Draw the pictures of the tutorials.

Usage: python -m qa.pictures, with Chromium and scanpy installed. The blocks of a page
are run as in ``qa.outputs``; the picture shows what they wrote.
"""

import os
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path

from qa.outputs import ROOT, rewritten

TUTORIALS = ROOT / "docs" / "tutorials"
#: Pixels of the report: the heading and the cards.
WIDTH, HEIGHT = 1000, 660


def draw_report(file: Path) -> None:
    """Take a picture of the report that the first command of the tutorial writes."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("Install Chromium to draw the report.")
    page = ROOT / "docs" / "tutorial.md"
    rewritten(page.read_text(encoding="utf-8"), page)
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--disable-gpu"]
    size, shot = f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={file}"
    address = Path("report.html").resolve().as_uri()
    subprocess.run([browser, *options, size, shot, address], check=True, timeout=120)


def draw_cells(file: Path) -> None:
    """Draw the cells with scanpy."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import scanpy as sc

    import lordclust

    adata = sc.datasets.pbmc68k_reduced()
    lordclust.tl.lord(adata)
    keys = ["lord", "bulk_labels"]
    sc.pl.umap(adata, color=keys, show=False, frameon=False, wspace=0.15)
    plt.savefig(file, dpi=70, bbox_inches="tight")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        for draw, name in ((draw_report, "report.png"), (draw_cells, "cells.png")):
            draw(TUTORIALS / name)
            print(f"wrote docs/tutorials/{name}")
        os.chdir(ROOT)


if __name__ == "__main__":
    main()
