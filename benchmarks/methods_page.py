"""Write docs/methods.md, the registry as a page.

Usage: python -m benchmarks.methods_page
"""

from benchmarks.common import ROOT, table
from lordclust.registry import METHODS

PAGE = ROOT / "docs" / "methods.md"

INTRO = """# Methods

All methods are scikit-learn estimators: `make_method("symnmf", n_clusters=10)` or
`from lordclust.methods import SymNMF`. The column *input* is *graph* for methods that
work on a sparse nearest-neighbour graph, *kernel* for a full kernel matrix, and
*features* for the samples themselves. The column *status* is *published* for the
authors' algorithm; *own solver* for their problem, solved in another way; and
*reconstruction* if neither their paper nor their code was available to us, and the
model is assembled from descriptions by others. Each docstring states the details.

All have `fit`, `predict`, `score`, `save` and `load`, the parameters `n_clusters`,
`n_init`, `random_state` and `verbose`, and the attributes `labels_` and `sizes_`. Those
on graphs and kernels also have `affinity`, `metric` and `n_neighbors`.

[](reproduction.md) compares their accuracies with those printed in the paper, explains
the differences, and lists the cost."""


def render() -> str:
    """Return the page."""
    rows = [
        {
            "name": f"`{m.name}`",
            "class": f"`{m.class_name}`",
            "method": m.title,
            "source": m.source,
            "input": m.takes,
            "status": m.status,
        }
        for m in METHODS.values()
    ]
    return f"{INTRO}\n\n{table(rows)}\n"


if __name__ == "__main__":
    PAGE.write_text(render())
