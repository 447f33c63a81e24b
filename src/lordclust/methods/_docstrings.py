"""Texts of parameters and attributes that several classes share, written once.

In the docstring of a class, a line of names without a description, such as
``metric, n_neighbors``, stands for the texts of these names in the docstring of a base
class, or of another class. They are inserted when the class is created, so that
``help`` and the API pages show them all.
"""

import re
from inspect import cleandoc

#: An entry of numpydoc: names, perhaps a type, and an indented description.
ENTRY = re.compile(r"^(\w+(?:, \w+)*)(?: : .*)?\n(?: +\S.*(?:\n|\Z))+", re.MULTILINE)
#: Names without a type and without a description.
NAMES = re.compile(r"^\w+(?:, \w+)*$(?!\n )", re.MULTILINE)


def completed(doc: str | None, sources: list[str]) -> str | None:
    """Return a docstring in which all names have a text, from the first that has one.

    Examples
    --------
    >>> print(completed("tol", ["n : int\\n    Size.\\ntol : float\\n    Limit."]))
    tol : float
        Limit.
    """
    texts: dict[str, str] = {}
    for source in reversed(sources):
        for entry in ENTRY.finditer(cleandoc(source)):
            texts |= dict.fromkeys(entry[1].split(", "), entry[0].rstrip())

    def found(line: re.Match[str]) -> str:
        names = line[0].split(", ")
        if any(name not in texts for name in names):
            return line[0]
        return "\n".join(dict.fromkeys(texts[name] for name in names))

    return doc and NAMES.sub(found, cleandoc(doc))
