"""Facts and rows as HTML tables, every cell escaped."""

from collections.abc import Mapping, Sequence

import numpy as np

from lordclust._core.typing import Estimator
from lordclust._core.versions import library_versions
from lordclust.report.encode import inert_html

#: Longest text of a fact; the parameter of a fit may be a large array.
LONGEST = 300
#: A longer text in a table may be broken into lines, but not into narrow ones.
LONG = 20

#: Names and values of one group of facts, or of one row.
Facts = Mapping[str, object]


def show(value: object) -> str:
    """Return a value as short text."""
    if value is None:
        return ""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    if isinstance(value, list | tuple | np.ndarray):
        value = ", ".join(show(v) for v in np.ravel(np.asarray(value, dtype=object)))
    text = str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def facts_of(model: Estimator | None, extra: Facts | None) -> dict[str, Facts]:
    """Return the facts of a run in groups: results, settings, versions."""
    versions = library_versions()
    # Versions that the caller passes too should not be shown twice.
    others = {name: v for name, v in (extra or {}).items() if name not in versions}
    if model is None:
        return {"Result": others, "Versions": versions}
    names = {
        "tau_": "tau", "objective_": "objective", "residual_": "residual",
        "n_iter_": "iterations", "converged_": "converged",
    }  # fmt: skip
    found = {text: getattr(model, name, None) for name, text in names.items()}
    found = {text: value for text, value in found.items() if value is not None}
    settings = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    # The seed is shown even if there was none.
    seed = {"random_state": "none"} if "random_state" in settings else {}
    return {
        "Result": {"method": type(model).__name__, **found, **others},
        "Settings": seed | {name: v for name, v in settings.items() if v is not None},
        "Versions": versions,
    }


def facts_html(groups: Mapping[str, Facts]) -> str:
    """Return lists of names and values, one per group that is not empty."""
    lists = ""
    for group, facts in groups.items():
        rows = "".join(
            f"<div><dt>{inert_html(str(name))}</dt>"
            f"<dd>{inert_html(show(value))}</dd></div>"
            for name, value in facts.items()
        )
        if rows:
            lists += f"<div><h3>{inert_html(group)}</h3><dl>{rows}</dl></div>"
    return f'<div class="facts">{lists}</div>'


def table_html(rows: Sequence[Facts], marked: int | None = None) -> str:
    """Return a table with the columns of all rows, one row marked.

    Empty columns are left out.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    columns = [name for name in names if any(show(row.get(name)) for row in rows)]
    head = "".join(f'<th scope="col">{inert_html(str(name))}</th>' for name in columns)
    body = ""
    for i, row in enumerate(rows):
        body += '<tr class="kept">' if i == marked else "<tr>"
        for name in columns:
            text = show(row.get(name))
            body += '<td class="long">' if len(text) > LONG else "<td>"
            body += f"{inert_html(text)}</td>"
        body += "</tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
