"""The figures printed in the paper, as data."""

import csv
from importlib.resources import files

#: The sets over which the paper averages.
NINE = (
    "yale", "orl", "chart", "usps1000", "semeion",
    "mnist2000", "wine", "yeast", "ecoli",
)  # fmt: skip

#: Cells that cannot be right as printed: (table, method, data) to the reason.
ERRATA = {
    ("acc", "sdp", "semeion"): "exceeds the purity printed for it",
    ("acc", "nlr", "ecoli"): "repeats the figures of ORL",
}


def printed(name: str) -> dict[str, dict[str, float]]:
    """Return a table of the paper: method -> data set -> figure.

    Parameters
    ----------
    name : {"acc", "nmi", "pur", "f1"}
        The score.

    Examples
    --------
    >>> printed("acc")["sc"]["wine"]
    0.949
    """
    text = files(__name__).joinpath(f"{name}.csv").read_text()
    rows = csv.DictReader(text.splitlines())
    return {
        row.pop("method"): {data: float(x) for data, x in row.items() if x}
        for row in rows
    }
