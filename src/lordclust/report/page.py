"""Fill the template: one self-contained HTML file."""

import base64
import hashlib
import re
from importlib.resources import files

from lordclust.report.encode import inert_html


def asset(name: str) -> str:
    """Return the text of a packaged file."""
    return (files("lordclust.report") / "assets" / name).read_text(encoding="utf-8")


def policy(script: str, style: str) -> str:
    """Return a content security policy: only our script and style, no requests."""
    hashes = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (script, style)
    )
    script_src, style_src = (f"'sha256-{digest}'" for digest in hashes)
    return (
        f"default-src 'none'; script-src {script_src}; style-src {style_src}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def section(title: str, note: str, body: str) -> str:
    """Return a section of the page with its heading."""
    title = inert_html(title)
    quiet = f'<p class="note">{inert_html(note)}</p>' if note else ""
    return (
        f'<section class="card"><h2>{title}</h2>{quiet}'
        f'<div class="scroll" tabindex="0" role="group" aria-label="{title}">'
        f"{body}</div></section>"
    )


def folded(title: str, body: str) -> str:
    """Return parts of the page that are shown on request."""
    return f"<details><summary>{inert_html(title)}</summary>{body}</details>"


def page(title: str, lead: str, data: str, sections: str, segments: str = "") -> str:
    """Return the complete page from its title, inert JSON and the HTML of its parts."""
    script, style = asset("report.js"), asset("report.css")
    parts = {
        "policy": policy(script, style),
        "title": inert_html(title),
        "lead": lead,
        "style": style,
        "script": script,
        "data": data,
        "sections": sections,
        "segments": segments,
    }
    # In one pass, so that {{names}} within the inserted parts are not replaced.
    template = asset("page.html")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)
