"""Facts, methods and candidates as HTML tables, every cell escaped."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from lordclust._core.versions import library_versions
from lordclust.report.encode import inert_html
from lordclust.result import Selection

#: Longest text of a fact; the parameter of a fit may be a whole array.
LONGEST = 300
#: How many candidates of a choice are listed.
CANDIDATES = 10


def show(value: Any) -> str:
    """Return a value as short text.

    Examples
    --------
    >>> show(0.123456789), show(True), show([1, 2]), show(None)
    ('0.1235', 'yes', '1, 2', '')
    """
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


def facts_of(
    model: Any, extra: Mapping[str, Any] | None
) -> dict[str, Mapping[str, Any]]:
    """Return what is known of a run, in groups: results, settings, versions."""
    versions = library_versions()
    # A caller that names versions too should not have them shown twice.
    others = {name: v for name, v in (extra or {}).items() if name not in versions}
    groups: dict[str, Mapping[str, Any]] = {"Result": others}
    if model is not None:
        groups = {"Result": _results(model) | others, "Settings": _settings(model)}
    return {**groups, "Versions": versions}


def _results(model: Any) -> dict[str, Any]:
    """Return how the fit ended."""
    names = {
        "tau_": "tau", "objective_": "objective", "residual_": "residual",
        "n_iter_": "iterations", "converged_": "converged",
    }  # fmt: skip
    found = {text: getattr(model, name, None) for name, text in names.items()}
    found = {text: value for text, value in found.items() if value is not None}
    return {"method": type(model).__name__, **found}


def _settings(model: Any) -> dict[str, Any]:
    """Return the parameters, and the seed even if there was none."""
    given = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    seed = {"random_state": "none"} if "random_state" in given else {}
    return seed | {name: v for name, v in given.items() if v is not None}


def facts_html(groups: Mapping[str, Mapping[str, Any]]) -> str:
    """Return lists of names and values, one a group that is not empty.

    Examples
    --------
    >>> facts_html({"Nothing": {}})
    '<div class="facts"></div>'
    >>> "<dt>a&lt;b</dt><dd>1</dd>" in facts_html({"Run": {"a<b": 1}})
    True
    """
    lists = "".join(
        f"<div><h3>{inert_html(name)}</h3><dl>{_rows(facts)}</dl></div>"
        for name, facts in groups.items()
        if facts
    )
    return f'<div class="facts">{lists}</div>'


def _rows(facts: Mapping[str, Any]) -> str:
    """Return the rows of a list."""
    return "".join(
        f"<div><dt>{inert_html(str(name))}</dt><dd>{inert_html(show(value))}</dd></div>"
        for name, value in facts.items()
    )


def table_html(rows: Sequence[Mapping[str, Any]], marked: int | None = None) -> str:
    """Return a table with the columns of all rows, one row marked.

    A column without anything in it is left out.

    Examples
    --------
    >>> table_html([{"a": "x", "note": ""}]).count("<td>")
    1
    """
    names = dict.fromkeys(name for row in rows for name in row)
    columns = [name for name in names if any(show(row.get(name)) for row in rows)]
    head = "".join(f'<th scope="col">{inert_html(str(name))}</th>' for name in columns)
    body = ""
    for i, row in enumerate(rows):
        kept = ' class="kept"' if i == marked else ""
        body += f"<tr{kept}>{_cells(row, columns)}</tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cells(row: Mapping[str, Any], columns: Iterable[str]) -> str:
    """Return the cells of a row; numbers stand to the right."""
    cells = []
    for name in columns:
        value = row.get(name)
        is_number = isinstance(value, int | float | np.number)
        kind = ' class="number"' if is_number else ""
        cells.append(f"<td{kind}>{inert_html(show(value))}</td>")
    return "".join(cells)


def candidates(selection: Selection, top: int = CANDIDATES) -> list[dict[str, Any]]:
    """Return the kept candidate and the best others of different sizes."""
    rows: list[dict[str, Any]] = []
    seen: set[tuple[float, ...]] = set()
    for i in [selection.best, *np.argsort(-selection.evidence, kind="stable")]:
        sizes = tuple(selection.sizes[i][selection.sizes[i] > 0].tolist())
        if sizes in seen or len(seen) == top:
            continue
        seen.add(sizes)
        rows.append(
            {
                "evidence": f"{selection.evidence[i]:.1f}",
                "features": f"{selection.features[i]:.1f}",
                "graph": f"{selection.graph[i]:.1f}",
                "tau": f"{selection.taus[i]:.2f}",
                "round": str(selection.rounds[i]),
                "sizes": " ".join(f"{size:g}" for size in sizes),
            }
        )
    return rows
