"""The lower bounds of pyproject.toml as constraints for pip, so that they are tested.

``python -m qa.floors > floors.txt`` writes one line ``name==version`` for each package
that the project, or its extra for tests, requires.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_BOUND = re.compile(r"(?P<name>[\w.-]+)(\[[\w,]+\])?>=(?P<floor>[\w.]+)")


def floors(project: dict[str, object], *extras: str) -> dict[str, str]:
    """Return the lowest version allowed of each package, by name.

    Parameters
    ----------
    project : dict
        The table "project" of a pyproject.toml.
    *extras : str
        The extras to include, with those that they refer to.

    Examples
    --------
    >>> floors({"name": "us", "dependencies": ["numpy>=1.26"],
    ...         "optional-dependencies": {"all": ["us[plot]"],
    ...                                   "plot": ["matplotlib>=3.8"]}}, "all")
    {'numpy': '1.26', 'matplotlib': '3.8'}
    """
    groups: dict[str, list[str]] = project["optional-dependencies"]  # type: ignore[assignment]
    wanted: list[str] = list(project["dependencies"])  # type: ignore[call-overload]
    for extra in extras:
        wanted += groups[extra]
    found: dict[str, str] = {}
    own = f"{project['name']}["
    while wanted:
        line = wanted.pop(0)
        if line.startswith(own):
            for extra in line.removeprefix(own).removesuffix("]").split(","):
                wanted += groups[extra]
            continue
        bound = _BOUND.fullmatch(line)
        if bound is None:
            raise ValueError(f"{line!r} has no lower bound: write name>=version.")
        found[bound["name"]] = bound["floor"]
    return found


def main() -> None:
    """Write the constraints to standard output."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for name, floor in floors(project, *(sys.argv[1:] or ["test"])).items():
        print(f"{name}=={floor}")


if __name__ == "__main__":
    main()
