"""Write docs/methods.md, the registry as a page.

Usage: python -m benchmarks.methods_page
"""

from pathlib import Path

from lordclust.registry import METHODS
from lordclust.reproduction.table import markdown

PAGE = Path(__file__).parent.parent / "docs" / "methods.md"

INTRO = """# Methods

All methods are scikit-learn estimators: `make_method("symnmf", n_clusters=10)` or
`from lordclust.methods import SymNMF`. *graph*: works on a sparse graph of nearest
neighbours; *kernel*: on a full kernel; *features*: on the samples themselves.
*published*: the authors' algorithm; *own solver*: their problem, solved another way;
*reconstruction*: neither their text nor their code could be read, and the model is put
together from what others say of it. Each docstring says which part is which.

[](reproduction.md) has their accuracies beside those printed in the paper, what each
costs, and where and why ours differ."""


def render() -> str:
    """Return the page."""
    rows = [
        [f"`{m.name}`", f"`{m.class_name}`", m.title, m.source, m.takes, m.status]
        for m in METHODS.values()
    ]
    head = ["name", "class", "what", "source", "on", "status"]
    return f"{INTRO}\n\n{markdown(head, rows)}\n"


if __name__ == "__main__":
    PAGE.write_text(render())
