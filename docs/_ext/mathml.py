"""Set formulas as MathML, which browsers show without scripts and without a network."""

import re
from html import escape
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def visit_inline(writer: Any, node: nodes.Element) -> None:
    """Write a formula within a sentence."""
    writer.body.append(to_mathml(node.astext()))
    raise nodes.SkipNode


def visit_block(writer: Any, node: nodes.Element) -> None:
    r"""Write a formula of its own; it may break at ``\quad`` and breaks at ``\\``."""
    lines = re.split(r"\\\\", node.astext())
    lines = [" ".join(to_mathml(p) for p in re.split(r"\\quad\b", x)) for x in lines]
    rows = "".join(f"<div>{line}</div>" for line in lines)
    writer.body.append(f'<div class="formula">{rows}</div>\n')
    raise nodes.SkipNode


def to_mathml(latex: str) -> str:
    """Return one formula; the LaTeX is kept as its alternative text."""
    latex = latex.strip().removeprefix(r"\;")
    math = convert(latex).replace('display="inline"', 'displaystyle="true"')
    math = math.replace('mathvariant="bold">1<', ">\N{MATHEMATICAL BOLD DIGIT ONE}<")
    return math.replace("<math ", f'<math alttext="{escape(latex)}" ', 1)
