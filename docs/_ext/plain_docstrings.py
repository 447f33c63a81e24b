r"""Read docstrings as the plain text they are in an editor.

They show a formula by indentation, a norm by bars and a fitted attribute by its name.
reStructuredText would read these as a quotation, a substitution and a link.

>>> print(to_latex("min ||S - VV'||_F^2   over   V >= 0"))
\min  \Vert S - VV^{\top} \Vert _{F}^{2} \quad \;\text{over}\; V \ge  0
"""

import re
from typing import Any

#: Sections of running text; the others are lists of names, or code.
PROSE = ("", "Notes")
#: A literal, which stays; or a bar, or the last underscore of a name, to be escaped.
MARKUP = re.compile(r"(``.*?``)|(\||(?<=[A-Za-z0-9])_(?!\w))")

#: Words in formulas that are one symbol; other words of small letters are text.
GREEK = ("alpha", "beta", "gamma", "lambda", "mu", "phi", "sigma", "tau")
SYMBOLS = {name: rf"\{name}" for name in (*GREEK, "min", "max", "log", "exp")}
SYMBOLS |= {name: rf"\operatorname{{{name}}}" for name in ("Tr", "tr", "diag")}
SYMBOLS |= {name: rf"\operatorname{{{name}}}" for name in ("cut", "vol")}
SYMBOLS |= {"lam": r"\lambda", "psd": r"\succeq 0"}
SIGNS = {">=": r"\ge", "<=": r"\le", "<-": r"\leftarrow", " o ": r" \odot"}
SIGNS |= {"||": r"\Vert", "<": r"\langle", ">": r"\rangle", " x ": r" \times"}
SIGNS |= {"'": r"^{\top}", "...": r"\dots"}
NAMES = "|".join(SYMBOLS)
TEXT = rf"(?!(?:{NAMES})\b|sum_)[a-z][a-z-]*[a-z]"
TOKEN = re.compile(
    r"(?P<index>[_^](?:\(\w+\)|-?\d+/\d+|[A-Za-z]+\(\w\)|[A-Za-z]+|\d+))"
    r"|(?P<ones>(?<=[A-Z'])1\b|\b1(?=_))"
    r"|(?P<part>\(1/[2n]\)|(?<![\w/])1/[2n]\b)"
    r"|(?P<numbered>[a-z]\d\b)"
    rf"|(?P<symbol>\b(?:{NAMES})(?![a-zA-Z])|sum(?=_))"
    rf"|(?P<text>\b{TEXT}(?: {TEXT})*)"
    r"|(?P<gap> {2,})"
    r"|(?P<sign>>=|<=|<-|\.\.\.|\|\||'|<|>| o | x )"
)


def setup(app: Any) -> dict[str, bool]:
    """Work on every docstring, before numpydoc does."""
    app.connect("autodoc-process-docstring", rewrite, priority=100)
    app.connect("autodoc-skip-member", skip_alias)
    return {"parallel_read_safe": True}


def skip_alias(app: Any, what: Any, name: Any, obj: Any, *rest: Any) -> bool | None:
    """Leave out the fields of a named tuple: its docstring describes them."""
    return True if str(obj.__doc__).startswith("Alias for field") else None


def rewrite(app: Any, what: Any, name: Any, obj: Any, options: Any, lines: Any) -> None:
    """Rewrite the lines of a docstring in place."""
    section, before, result = "", "", []
    for line, below in zip(lines, [*lines[1:], ""], strict=False):
        if re.fullmatch("---+", below):
            section = line
        if not line.startswith("    ") or section not in PROSE:
            result.append(line if is_verbatim(line, section) else escape(line))
            before = line or before
        elif before.endswith("::"):
            result.append(line)
        elif result[-1].strip():  # a further line of a formula
            result[-1] += rf" \\ {to_latex(line)}"
        else:
            result += [".. math::", "", f"    {to_latex(line)}"]
    lines[:] = result


def is_verbatim(line: str, section: str) -> bool:
    """Return whether a line is code, or the name of a parameter."""
    return section not in PROSE and (section == "Examples" or not line.startswith(" "))


def escape(line: str) -> str:
    r"""Return the line with bars and last underscores escaped.

    >>> print(escape("the gap |upper_bound_ - objective_| of ``labels_``"))
    the gap \|upper_bound\_ - objective\_\| of ``labels_``
    """
    return MARKUP.sub(lambda m: m[1] or "\\" + m[2], line)


def to_latex(line: str) -> str:
    """Return a line of a formula as LaTeX."""
    latex = TOKEN.sub(_token, line.strip())
    return latex.replace(r"\text{over}\; \quad", r"\text{over}\;")


def _token(match: re.Match[str]) -> str:
    kind, token = str(match.lastgroup), match[0]
    if kind == "index":
        return f"{token[0]}{{{_index(token[1:])}}}"
    return {
        "ones": r"\mathbf{1}",
        "part": rf"\frac{{1}}{{{token.strip('()')[2:]}}}",
        "numbered": f"{token[0]}_{{{token[1:]}}}",
        "symbol": SYMBOLS.get(token, r"\sum") + " ",
        "text": rf"\;\text{{{token}}}\;",
        "gap": r" \quad ",
        "sign": SIGNS.get(token, "") + " ",
    }[kind]


def _index(index: str) -> str:
    """Return an index: letters stay letters, ``(y_i)`` loses its brackets."""
    if index.isalpha() and not set(index) <= set("abcdijkmnrvFPW"):
        return SYMBOLS.get(index, rf"\text{{{index}}}")
    return TOKEN.sub(_token, index[1:-1]) if index[0] == "(" else index
