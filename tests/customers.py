"""A file of customers as people have them, for tests from the first command on."""

import csv
from datetime import date, timedelta

import numpy as np

GROUPS = 5
HEADER = ["Kunde", "customer_id", "region", "plan", "active", "income", "since",
          "discount", "visits", "notes"]  # fmt: skip
NAMES = ["Jürgen Groß", "Zoë Ähler", "Ann Smith", "Łukasz".replace("Ł", "L"), "José"]
REGIONS = ["North", "South", "West", "East", "Süd"]


def customers(n=200, seed=0):
    """Return rows of cells: ids, text, truth values, money, dates and percentages."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        g = i % GROUPS
        income = 20_000 + 22_000 * g + rng.normal(0, 1500)
        since = date(2024, 3, 1) - timedelta(days=int(300 * g + rng.integers(60)))
        rows.append([
            NAMES[rng.integers(len(NAMES))],
            f"C-{1000 + 7 * i}",
            REGIONS[g if rng.random() < 0.9 else rng.integers(5)],
            ["basic", "plus", "pro"][g % 3],
            "TRUE" if g % 2 else "FALSE",
            f"${income:,.0f}",
            since.isoformat(),
            f"{5 * g + rng.uniform(0, 2):.1f}%",
            str(int(rng.poisson(4 + 6 * g))),
            "" if rng.random() < 0.7 else "call back, please",
        ])  # fmt: skip
    for i in range(3, n, 50):
        rows[i][5] = "" if i % 4 else "n/a"
    return rows


def write_customers(path, rows, *, delimiter=",", encoding="cp1252"):
    """Write rows with a header."""
    with open(path, "w", newline="", encoding=encoding) as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerows([HEADER, *rows])
    return path
