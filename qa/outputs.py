"""Rewrite what the code on README.md, the tutorials and the guide prints.

Usage: python -m qa.outputs [PAGE ...], then git diff. A block of ``python`` or
``console`` is run; the block of ``text`` after it, or the lines after the command, are
replaced by what it prints if that differs by more than rounding. tests/test_docs.py
compares both.
"""

import io
import os
import re
import shlex
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from lordclust.cli.app import main as lordclust

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
FENCE = re.compile(r"^```(python|text|console)\n(.*?)^```$", flags=re.M | re.S)


def rewritten(text: str, place: Path) -> str:
    """Return a page with the output of its blocks replaced, run in a folder."""
    from test_readme import SECONDS, assert_same_text

    names: dict[str, Any] = {}
    shown = ""

    def block(found: re.Match[str]) -> str:
        nonlocal shown
        language, body = found.groups()
        if language == "python":
            printed = io.StringIO()
            with redirect_stdout(printed):
                exec(compile(body, place.name, "exec"), names)
            shown = printed.getvalue()
            return found[0]
        command, old = ("", body) if language == "text" else body.split("\n", 1)
        if command:
            words = shlex.split(command)[2:]  # after $ lordclust
            shown = CliRunner().invoke(lordclust, words).output
        try:
            assert_same_text(SECONDS.sub("", shown), SECONDS.sub("", old))
        except AssertionError:
            head = f"{command}\n" if command else ""
            return f"```{language}\n{head}{shown}```"
        return found[0]

    return FENCE.sub(block, text)


def main() -> None:
    from test_readme import write_iris

    pages = [ROOT / "README.md", ROOT / "docs" / "index.md", ROOT / "docs/tutorial.md"]
    pages += sorted((ROOT / "docs").glob("tutorials/*.md"))
    pages += sorted((ROOT / "docs" / "guide").glob("*.md"))
    for page in pages:
        if sys.argv[1:] and page.stem not in sys.argv[1:]:
            continue
        old = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            write_iris(Path("iris.csv"))
            new = rewritten(old, page)
            os.chdir(ROOT)
        if new != old:
            page.write_text(new, encoding="utf-8")
            print(f"wrote {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
