"""The models: which constraints of kernel k-means each method keeps."""

from lordclust._core.colors import BLUE, PALE
from lordclust.plots._axes import bare
from lordclust.registry import CONSTRAINTS, METHODS, Method
from reproduction.experiments._sheet import Sheet, sheet
from reproduction.results import Results

#: What each constraint says of V, or of Z = VV'.
FORMULAS = ("n x k", "V ≥ 0", "VV'1 = 1", "V'V = I")


def models(results: Results) -> Sheet:
    """Draw the methods of the registry by the constraints that they keep."""
    shown = sorted((m for m in METHODS.values() if m.keeps), key=_relaxed)
    figure, (panel,) = sheet(1, 1, size=(7.2, 0.27 * len(shown) + 0.7))
    bare(panel)
    for row, method in enumerate(shown):
        for column, name in enumerate(CONSTRAINTS):
            kept, part = name in method.keeps, name in method.partly
            colour = BLUE if kept else "none"
            edge = BLUE if kept or part else PALE
            panel.plot(
                column, -row, "o", ms=9, mfc=colour, mec=edge, mew=1.6 if part else 0.8
            )
        panel.text(-0.45, -row, method.class_name, ha="right", va="center", size=10)
        panel.text(3.45, -row, method.title, va="center", size=9)
    for column, (name, formula) in enumerate(zip(CONSTRAINTS, FORMULAS, strict=True)):
        heading = f"{name.replace(' ', chr(10), 1)}\n{formula}"
        panel.text(column, 0.75, heading, ha="center", va="bottom", size=8)
    panel.set(xlim=(-1.7, 7.2), ylim=(-len(shown) + 0.4, 2.6))
    for side in panel.spines.values():
        side.set_visible(False)
    return figure


def _relaxed(method: Method) -> tuple[int, int, list[bool]]:
    """Return how much is relaxed: kernel k-means first, like methods together."""
    kept = [name not in method.keeps for name in CONSTRAINTS]
    return sum(kept), -len(method.partly), kept
