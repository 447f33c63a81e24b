"""Parts -> one HTML file that asks the network for nothing."""

import base64
import hashlib
import re
from collections.abc import Mapping
from importlib.resources import files

from lordclust.report.encode import inert_html


def asset(name: str) -> str:
    """Return the text of a file that is shipped with the report."""
    return (files("lordclust.report") / "assets" / name).read_text(encoding="utf-8")


def allowed(text: str) -> str:
    """Return what a content security policy calls a script or a style.

    Examples
    --------
    >>> allowed("")
    "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def policy(script: str, style: str) -> str:
    """Return the policy: our own script and style run, and nothing is fetched."""
    return (
        f"default-src 'none'; script-src {allowed(script)}; "
        f"style-src {allowed(style)}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def section(title: str, note: str, body: str) -> str:
    """Return a part of the page with its heading; nothing for an empty body."""
    if not body:
        return ""
    title = inert_html(title)
    quiet = f'<p class="note">{inert_html(note)}</p>' if note else ""
    return (
        f'<section class="card"><h2>{title}</h2>{quiet}'
        f'<div class="scroll" tabindex="0" role="group" aria-label="{title}">'
        f"{body}</div></section>"
    )


def page(title: str, lead: str, data: str, sections: str) -> str:
    """Return the whole page.

    Parameters
    ----------
    title, lead : str
        Plain text.
    data : str
        What the script reads, as inert JSON.
    sections : str
        HTML of the parts that do not move.
    """
    script, style = asset("report.js"), asset("report.css")
    parts = {
        "policy": policy(script, style),
        "title": inert_html(title),
        "lead": inert_html(lead),
        "style": style,
        "script": script,
        "data": data,
        "sections": sections,
    }
    return filled(asset("page.html"), parts)


def filled(template: str, parts: Mapping[str, str]) -> str:
    """Return the template with its {{names}} replaced, once: parts are not read again.

    Examples
    --------
    >>> filled("<p>{{a}}</p>", {"a": "{{b}}", "b": "no"})
    '<p>{{b}}</p>'
    """
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)
