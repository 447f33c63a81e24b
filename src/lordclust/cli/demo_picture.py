"""The demo's picture: certain and doubtful digits, the path, and the blocks."""

from typing import Any

import numpy as np

from lordclust._core.typing import FloatArray, IntArray
from lordclust._core.validation import missing_extra
from lordclust.cli.demo_run import Demo, K, path_rows

try:
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure
except ImportError as error:
    raise missing_extra("matplotlib", "plot") from error

# Okabe and Ito's colours, which colour-blind readers can tell apart.
BLUE, ORANGE, INK, QUIET = "#0072B2", "#D55E00", "#222222", "#767676"
CERTAIN, DOUBTFUL = 9, 6
#: Side of a digit, the space between two, and below a doubtful one its number.
SIDE, GAP, FOOT = 8, 2, 4
#: Where the right half begins.
RIGHT = 0.605
#: Taus whose blocks are shown, and how many samples a block picture has.
BLOCK_TAUS, BLOCK_SAMPLES = (0.07, 0.3, 1.0), 450

PEN = LinearSegmentedColormap.from_list("pen", ["#FFFFFF", INK])
FADE = LinearSegmentedColormap.from_list(
    "fade", ["#FFFFFF", "#9CC9E5", BLUE, "#00243D"]
)


def draw(demo: Demo) -> Any:
    """Return the picture as a matplotlib figure."""
    figure = Figure(figsize=(12.6, 7.4), facecolor="white")
    left = figure.add_gridspec(
        1, 2, width_ratios=[CERTAIN, DOUBTFUL], wspace=0.07,
        left=0.035, right=0.56, top=0.84, bottom=0.0,
    )  # fmt: skip
    _draw_digits(figure.add_subplot(left[0]), demo, doubtful=False)
    _draw_digits(figure.add_subplot(left[1]), demo, doubtful=True)
    right = {"left": RIGHT, "right": 0.972}
    curve = figure.add_gridspec(1, 1, top=0.84, bottom=0.455, **right)
    _draw_path(figure.add_subplot(curve[0]), demo)
    blocks = figure.add_gridspec(1, 3, wspace=0.1, top=0.265, bottom=0.035, **right)
    for place, tau in enumerate(BLOCK_TAUS):
        _draw_blocks(figure.add_subplot(blocks[place]), demo, tau)
    _write_titles(figure, demo)
    return figure


def _write_titles(figure: Any, demo: Demo) -> None:
    """Say what the picture is, and what its lower right part is."""
    n, accuracy = len(demo.data.y), demo.scores[1].accuracy
    figure.text(
        0.035, 0.945, "B-LoRD on handwritten digits", size=17, color=INK, weight="bold"
    )
    figure.text(
        0.035, 0.905, f"{n} images, ten clusters of equal share, no labels used. "
        f"At tau = {demo.model.tau_:.2f}, {accuracy:.1%} are grouped as their true "
        "digit. Orange: another digit.", size=10.5, color=QUIET,
    )  # fmt: skip
    figure.text(
        RIGHT, 0.337, "Probability that two images share a cluster",
        size=11, color=INK, weight="bold",
    )  # fmt: skip
    figure.text(
        RIGHT, 0.311, f"{BLOCK_SAMPLES} images, sorted by cluster. "
        "White: never. Dark: surely.", size=9.5, color=QUIET,
    )  # fmt: skip


def _title(axes: Any, text: str) -> None:
    """Write a panel's title, flush left."""
    axes.set_title(text, loc="left", size=11, color=INK, weight="bold", pad=8)


def _pick(P: FloatArray, labels: IntArray, doubtful: bool) -> list[IntArray]:
    """Return for each cluster its most certain or most doubtful samples."""
    sure = P.max(axis=1)
    count = DOUBTFUL if doubtful else CERTAIN
    picked: list[IntArray] = []
    for j in range(K):
        members = np.flatnonzero(labels == j)
        order = np.argsort(sure[members] if doubtful else -sure[members], kind="stable")
        picked.append(members[order[:count]])
    return picked


def _usual_digits(demo: Demo) -> list[tuple[int, int]]:
    """Return (most frequent digit, cluster), sorted: rows that read from 0 to 9."""
    labels, y = demo.model.labels_, demo.data.y
    usual = [int(np.bincount(y[labels == j]).argmax()) for j in range(K)]
    return sorted(zip(usual, range(K), strict=True))


def _draw_digits(axes: Any, demo: Demo, *, doubtful: bool) -> None:
    """Draw one row of digits a cluster."""
    P, labels = demo.model.membership_, demo.model.labels_
    count = DOUBTFUL if doubtful else CERTAIN
    high, wide = SIDE + GAP + FOOT, SIDE + GAP
    sheet = np.zeros((K * high, count * wide))
    picked = _pick(P, labels, doubtful)
    for row, (usual, cluster) in enumerate(_usual_digits(demo)):
        for col, i in enumerate(picked[cluster]):
            top, side = row * high, col * wide
            sheet[top : top + SIDE, side : side + SIDE] = demo.data.X[i].reshape(8, 8)
            if doubtful:
                _write_number(axes, side, top, P[i, cluster], demo.data.y[i] == usual)
    axes.imshow(sheet, cmap=PEN, vmin=0, vmax=16, interpolation="nearest")
    axes.axis("off")
    axes.set_anchor("NW")
    _title(axes, "Most doubtful" if doubtful else "Most certain")


def _write_number(axes: Any, side: int, top: int, p: float, right: bool) -> None:
    """Write a probability below its digit, orange where the digit is another."""
    axes.text(
        side + SIDE / 2 - 0.5, top + SIDE + 2.4, f"{p:.2f}", size=8.5, ha="center",
        va="center", color=QUIET if right else ORANGE,
        weight="normal" if right else "bold",
    )  # fmt: skip


def _draw_path(axes: Any, demo: Demo) -> None:
    """Draw accuracy and certainty against tau."""
    rows = path_rows(demo)
    tau = [row["tau"] for row in rows]
    curves = {
        "accuracy": (BLUE, "accuracy (ACC)"),
        "certainty": (ORANGE, "mean largest probability"),
    }
    for name, (colour, _) in curves.items():
        y = [row[name] for row in rows]
        axes.plot(tau, y, color=colour, lw=2, marker="o", ms=4, clip_on=False)
    axes.text(0.56, 0.865, curves["accuracy"][1], color=BLUE, size=10)
    axes.text(0.20, 0.70, curves["certainty"][1], color=ORANGE, size=10)
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="tau: from soft to hard")
    axes.tick_params(colors=QUIET, labelsize=9)
    axes.xaxis.label.set(color=QUIET, size=10)
    axes.grid(axis="y", color="#E6E6E6", lw=0.8)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color("#BBBBBB")
    _title(axes, "One path gives every tau")


def _draw_blocks(axes: Any, demo: Demo, tau: float) -> None:
    """Draw Z = PP' at the tau of the path nearest to ``tau``."""
    path = demo.path
    tau = float(path.taus[path.at(tau)])
    last = path.memberships[float(path.taus[-1])]
    order = np.lexsort((-last.max(axis=1), path.labels[-1]))
    # Evenly chosen samples: a picture has no room for all pairs.
    few = order[np.linspace(0, len(order) - 1, BLOCK_SAMPLES).astype(int)]
    P = path.memberships[tau][few]
    axes.imshow(P @ P.T, cmap=FADE, vmin=0, vmax=1, interpolation="antialiased")
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set(color="#CCCCCC", lw=0.8)
    axes.set_title(f"tau = {tau:.2f}", size=9.5, color=QUIET, pad=5)
