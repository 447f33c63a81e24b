"""Read docstrings as the plain text they are in an editor.

They show a formula by indentation, a norm by bars and a fitted attribute by its name.
reStructuredText would take these for a quotation, a substitution and a link.
"""

import re
from typing import Any

#: Sections of running text; the others are lists of names, or code.
PROSE = ("", "Notes")
#: A literal, which stays; or a bar, or the last underscore of a name, to be escaped.
MARKUP = re.compile(r"(``.*?``)|(\||(?<=[A-Za-z0-9])_(?!\w))")


def setup(app: Any) -> dict[str, bool]:
    """Work on every docstring, before numpydoc does."""
    app.connect("autodoc-process-docstring", rewrite, priority=100)
    app.connect("autodoc-skip-member", skip_alias)
    return {"parallel_read_safe": True}


def skip_alias(app: Any, what: Any, name: Any, obj: Any, *rest: Any) -> bool | None:
    """Leave out the fields of a named tuple: its docstring says more of them."""
    return True if str(obj.__doc__).startswith("Alias for field") else None


def rewrite(app: Any, what: Any, name: Any, obj: Any, options: Any, lines: Any) -> None:
    """Rewrite the lines of a docstring in place."""
    section, last, result = "", "", []
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if re.fullmatch("---+", below):
            section = line
        indented = line.startswith("    ")
        if indented and section in PROSE and not result[-1].strip():
            if not last.rstrip().endswith("::"):
                result += ["::", ""]
            last = "::"  # all of the block is literal
        elif line and not indented:
            last = line
        result.append(line if is_verbatim(line, section, last) else escape(line))
    lines[:] = result


def is_verbatim(line: str, section: str, last: str) -> bool:
    """Tell whether a line is code, a formula, or the name of a parameter."""
    if section in PROSE:
        return line.startswith("    ") and last.rstrip().endswith("::")
    return section == "Examples" or not line.startswith(" ")


def escape(line: str) -> str:
    r"""Return the line with bars and last underscores escaped.

    >>> print(escape("the gap |upper_bound_ - objective_| of ``labels_``"))
    the gap \|upper_bound\_ - objective\_\| of ``labels_``
    """
    return MARKUP.sub(lambda m: m[1] or "\\" + m[2], line)
