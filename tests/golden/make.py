"""Write the golden table: python tests/golden/make.py (or make golden)."""

import csv
import io
import warnings
from functools import partial
from pathlib import Path

from lordclust import BLoRD, LoRD
from lordclust.datasets import load
from lordclust.graph import ScaleWarning
from lordclust.metrics import accuracy, nmi

TABLE = Path(__file__).parent / "table.csv"
#: The paper's model: equal shares, and the most probable clusters.
PAPER = partial(BLoRD, proportions="equal", rounding="argmax")
RANDOM = {"start": "random", "n_init": 3, "random_state": 0}
MODELS = {
    "lord": lambda k: LoRD(k),
    "lord random": lambda k: LoRD(k, **RANDOM),
    "blord": lambda k: BLoRD(k),
    "blord equal": lambda k: BLoRD(k, proportions="equal"),
    "blord auto tau=0.3": lambda k: BLoRD(k, tau=0.3),
    "blord tau=1": lambda k: PAPER(k, tau=1.0),
    "blord tau=1 path": lambda k: PAPER(k, tau=1.0, start="path"),
    "blord tau=0.3": lambda k: PAPER(k, tau=0.3),
    "blord tau=blocks": lambda k: PAPER(k, tau="blocks"),
    "blord random": lambda k: PAPER(k, tau=0.3, **RANDOM),
}
DATA = ("iris", "breast_cancer", "digits", "synthetic-20-40-60-80")


def rows():
    """Yield one row for each model on each data set."""
    for name in DATA:
        data = load(name)
        for label, make in MODELS.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ScaleWarning)  # raw breast_cancer
                model = make(data.n_clusters).fit(data.X)
            yield {
                "data": name,
                "model": label,
                "ACC": f"{accuracy(data.y, model.labels_):.3f}",
                "NMI": f"{nmi(data.y, model.labels_):.3f}",
                "objective": f"{model.objective_:.5e}",
                "sizes": " ".join(map(str, model.sizes_)),
            }


def text():
    """Return the table as CSV."""
    out = io.StringIO()
    table = list(rows())
    writer = csv.DictWriter(out, table[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return out.getvalue()


if __name__ == "__main__":
    TABLE.write_text(text())
