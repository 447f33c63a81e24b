"""Small tables for notebooks."""

from collections.abc import Iterable, Sequence
from html import escape


def html_table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    marked: int | None = None,
) -> str:
    """Return an HTML table, one row of it in bold type; all texts are escaped."""
    lines = [_row(head, "th")]
    for i, cells in enumerate(rows):
        bold = ' style="font-weight: bold"' if i == marked else ""
        lines.append(_row(cells, "td", bold))
    title = f"<caption>{escape(caption)}</caption>"
    return f"<table>{title}{''.join(lines)}</table>"


def _row(cells: Sequence[str], tag: str, look: str = "") -> str:
    """Return one row."""
    inside = "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells)
    return f"<tr{look}>{inside}</tr>"
