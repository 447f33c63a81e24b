"""``lordclust demo``: cluster the digits, print two tables, write four files."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lordclust.cli.exits import interruptible
from lordclust.cli.options import result_option
from lordclust.cli.outputs import Outputs, Writer
from lordclust.cli.progress import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lordclust._core.typing import FloatArray, Graph, IntArray
    from lordclust.cli.tables import Row
    from lordclust.methods.lord import BLoRD
    from lordclust.result import TauPath

#: The files that the demo writes, and the method that they show.
FILES = ("labels.csv", "membership.csv", "path.csv", "demo.png")
SHOWN = "B-LoRD"
#: Clusters; samples of the warm-up; rows of the table of the path.
K, FEW, LINES = 10, 200, 8
#: Digits shown per cluster: the most certain and the most doubtful.
CERTAIN, DOUBTFUL = 9, 6
#: Side of a digit, the gap between two, and the space for a number below, in pixels.
SIDE, GAP, FOOT = 8, 2, 4
#: Left edge of the right half of the plot.
RIGHT = 0.605
#: Taus whose blocks are shown, and the number of samples in each block plot.
BLOCK_TAUS, BLOCK_SAMPLES = (0.07, 0.3, 1.0), 450


@click.command()
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo-output"),
    show_default=True,
    help="Folder for the files.",
)
@result_option("force")
def demo(output: Path, force: bool) -> None:
    """Cluster the 1797 digits shipped with scikit-learn.

    Prints two tables: B-LoRD and LoRD next to spectral clustering and k-means, and
    B-LoRD from soft to hard. Writes labels, probabilities, the path and a plot.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.ClickException(f"Cannot use {output}: {error.strerror}.") from error
    outputs = Outputs({name: str(output / name) for name in FILES}, (), force=force)
    click.echo("Clustering scikit-learn's digits ...", err=True)
    with interruptible() as interrupts:
        data = load_digits()
        with Display():
            warm_up(data)
        result = run_demo(data)
        _print_tables(result)
        try:
            import matplotlib.figure  # noqa: F401
        except ImportError:
            from lordclust._core.validation import missing_extra

            click.echo(f"No plot: {missing_extra('matplotlib', 'plot')}", err=True)
            outputs.leave_out("demo.png")
        writers = _writers(result)
        outputs.write(writers, interrupts)
    outputs.finish(writers, quiet=False)
    interrupts.end()


@dataclass(frozen=True)
class Digits:
    """The digits, their true classes, and their graph."""

    X: FloatArray
    y: IntArray
    S: Graph
    graph_seconds: float


@dataclass(frozen=True)
class Demo:
    """Everything that the tables, the files and the plot show.

    ``model`` is B-LoRD with tau from n alone, soft enough to show doubt.
    """

    data: Digits
    scores: list[Row]
    model: BLoRD
    path: TauPath
    path_seconds: float
    path_rows: list[Row]


def load_digits() -> Digits:
    """Load the digits and build their graph; the second build is timed."""
    from lordclust import datasets, graph

    X, y = datasets.load("digits")
    graph.make_affinity("knn", X)
    start = time.perf_counter()
    S = graph.make_affinity("knn", X)
    return Digits(X, y, S, time.perf_counter() - start)


def _methods() -> dict[str, tuple[Any, str]]:
    """Return the methods to compare, and whether they take S or X."""
    from sklearn.cluster import KMeans, SpectralClustering

    from lordclust import BLoRD, LoRD

    spectral = SpectralClustering(K, affinity="precomputed", random_state=0)
    return {
        SHOWN: (BLoRD(K), "X"),
        "B-LoRD, equal shares": (
            BLoRD(K, proportions="equal", tau=1.0, affinity="precomputed"),
            "S",
        ),
        "LoRD": (LoRD(K, affinity="precomputed"), "S"),
        "SpectralClustering": (spectral, "S"),
        "KMeans, 10 starts": (KMeans(K, n_init=10, random_state=0), "X"),
    }


def warm_up(data: Digits) -> None:
    """Run every method on a few samples, so that compilation is not timed."""
    from lordclust import graph

    few = {"X": data.X[:FEW], "S": graph.make_affinity("knn", data.X[:FEW])}
    with warnings.catch_warnings():
        # The graph of a few samples may be disconnected.
        warnings.simplefilter("ignore", UserWarning)
        for model, needs in _methods().values():
            model.fit(few[needs])


def run_demo(data: Digits) -> Demo:
    """Run all methods, then B-LoRD from soft to hard."""
    from lordclust.solver.tau_path import tau_path

    methods, scores = _methods(), []
    for name, (model, needs) in methods.items():
        start = time.perf_counter()
        model.fit(getattr(data, needs))
        head: Row = {"method": name, "seconds": time.perf_counter() - start}
        scores.append(head | _scores(data.y, model.labels_))
    start = time.perf_counter()
    path = tau_path(data.S, K, keep="all", random_state=0)
    seconds = time.perf_counter() - start
    rows: list[Row] = []
    for i, tau in enumerate(path.taus.tolist()):
        rows.append({
            "tau": tau,
            **_scores(data.y, path.labels[i]),
            "certainty": float(path.memberships[tau].max(axis=1).mean()),
            "iterations": int(path.n_iter[i]),
            "block_diagonality": float(path.block_diagonality[i]),
        })  # fmt: skip
    return Demo(data, scores, methods[SHOWN][0], path, seconds, rows)


def _scores(y: IntArray, labels: IntArray) -> Row:
    """Return the scores of a clustering, and its smallest and largest cluster."""
    import numpy as np

    from lordclust import metrics

    sizes = np.bincount(labels, minlength=K)
    return {
        "acc": metrics.accuracy(y, labels),
        "nmi": metrics.nmi(y, labels),
        "purity": metrics.purity(y, labels),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
    }


def _print_tables(demo: Demo) -> None:
    """Print the comparison and some rows of the path."""
    from lordclust.cli import tables

    n, taus = len(demo.data.y), len(demo.path.taus)
    click.echo(
        f"\n{n} handwritten digits, {K} clusters, one graph of nearest neighbours "
        f"({demo.data.graph_seconds:.2f} s).\n"
    )
    tables.draw(demo.scores, decimals=3, bold="LoRD")
    click.echo(
        "\nacc, nmi, purity: 1 is best. B-LoRD finds the sizes of its clusters; its\n"
        f"second row and LoRD are set to equal shares (n/k = {n / K:.1f}). KMeans\n"
        "uses the pixels, the others the graph, which B-LoRD builds first.\n"
        f"\nB-LoRD from soft to hard: {taus} values of tau in "
        f"{demo.path_seconds:.2f} s.\n"
    )
    few = sorted({round(i * (taus - 1) / (LINES - 1)) for i in range(LINES)})
    columns = ("acc", "nmi", "certainty", "smallest", "largest", "iterations")
    rows = [{n: demo.path_rows[i][n] for n in ("tau", *columns)} for i in few]
    tables.draw(rows, decimals=3)
    click.echo("\ncertainty: the mean of each sample's largest probability.\n")


def _writers(demo: Demo) -> dict[str, Writer]:
    """Return the function that writes each file."""
    from lordclust.cli import tables
    from lordclust.files import atomic_file

    P, y = demo.model.membership_, demo.data.y
    ids, labels = range(len(P)), demo.model.labels_
    best = P[ids, labels]
    columns: dict[str, tables.Columns] = {
        "labels.csv": {"id": ids, "label": labels, "probability": best, "digit": y},
        "membership.csv": {"id": ids, **{f"p{j}": P[:, j] for j in range(K)}},
        "path.csv": tables.as_columns(demo.path_rows),
    }

    def write_table(file: str, force: bool) -> None:
        tables.write(file, columns[Path(file).name], force)

    def write_picture(file: str, force: bool) -> None:
        with atomic_file(file, force) as out:
            draw(demo).savefig(out, format="png", dpi=120)

    writers: dict[str, Writer] = dict.fromkeys(columns, write_table)
    return writers | {"demo.png": write_picture}


def draw(demo: Demo) -> Figure:
    """Return the plot: certain and doubtful digits, the path, and the blocks."""
    from matplotlib.figure import Figure

    from lordclust._core.colors import INK, QUIET

    figure = Figure(figsize=(12.6, 7.4), facecolor="white")
    left = figure.add_gridspec(
        1, 2, width_ratios=[CERTAIN, DOUBTFUL], wspace=0.07,
        left=0.035, right=0.56, top=0.84, bottom=0.0,
    )  # fmt: skip
    _draw_digits(figure.add_subplot(left[0]), demo, doubtful=False)
    _draw_digits(figure.add_subplot(left[1]), demo, doubtful=True)
    curve = figure.add_gridspec(1, 1, top=0.84, bottom=0.455, left=RIGHT, right=0.972)
    _draw_path(figure.add_subplot(curve[0]), demo)
    blocks = figure.add_gridspec(
        1, 3, wspace=0.1, top=0.265, bottom=0.035, left=RIGHT, right=0.972
    )
    for place, tau in enumerate(BLOCK_TAUS):
        _draw_blocks(figure.add_subplot(blocks[place]), demo, tau)
    texts = (
        (0.035, 0.945, 17, "bold", "B-LoRD on handwritten digits"),
        (0.035, 0.905, 10.5, "normal", f"{len(demo.data.y)} images, ten clusters, no "
         f"labels used. {demo.scores[0]['acc']:.1%} are grouped with their true digit. "
         "Orange: another digit."),
        (RIGHT, 0.337, 11, "bold", "Probability that two images share a cluster"),
        (RIGHT, 0.311, 9.5, "normal", f"{BLOCK_SAMPLES} images, sorted by cluster. "
         "White: 0. Dark: 1."),
    )  # fmt: skip
    for x, y, size, weight, text in texts:
        color = INK if weight == "bold" else QUIET
        figure.text(x, y, text, size=size, color=color, weight=weight)
    return figure


def _draw_digits(axes: Axes, demo: Demo, *, doubtful: bool) -> None:
    """Draw one row of digits per cluster, from 0 to 9."""
    import numpy as np
    from matplotlib.colors import LinearSegmentedColormap

    from lordclust._core.colors import INK, ORANGE, QUIET

    P, labels, y = demo.model.membership_, demo.model.labels_, demo.data.y
    count, largest = DOUBTFUL if doubtful else CERTAIN, P.max(axis=1)
    high, wide = SIDE + GAP + FOOT, SIDE + GAP
    sheet = np.zeros((K * high, count * wide))
    usual = [int(np.bincount(y[labels == j]).argmax()) for j in range(K)]
    for row, cluster in enumerate(np.argsort(usual, kind="stable")):
        members = np.flatnonzero(labels == cluster)
        key = largest[members] if doubtful else -largest[members]
        for col, i in enumerate(members[np.argsort(key, kind="stable")[:count]]):
            top, side = row * high, col * wide
            sheet[top : top + SIDE, side : side + SIDE] = demo.data.X[i].reshape(8, 8)
            if doubtful:
                right = y[i] == usual[cluster]
                axes.text(
                    side + SIDE / 2 - 0.5, top + SIDE + 2.4, f"{P[i, cluster]:.2f}",
                    size=8.5, ha="center", va="center",
                    color=QUIET if right else ORANGE,
                    weight="normal" if right else "bold",
                )  # fmt: skip
    pen = LinearSegmentedColormap.from_list("pen", ["#FFFFFF", INK])
    axes.imshow(sheet, cmap=pen, vmin=0, vmax=16, interpolation="nearest")
    axes.axis("off")
    axes.set_anchor("NW")
    title = "Most doubtful" if doubtful else "Most certain"
    axes.set_title(title, loc="left", size=11, color=INK, weight="bold", pad=8)


def _draw_path(axes: Axes, demo: Demo) -> None:
    """Draw accuracy and certainty against tau."""
    from lordclust._core.colors import BLUE, INK, ORANGE, QUIET
    from lordclust.cli.tables import as_columns

    columns = as_columns(demo.path_rows)
    for name, color, x, height, text in (
        ("acc", BLUE, 0.56, 0.865, "accuracy (ACC)"),
        ("certainty", ORANGE, 0.20, 0.70, "mean largest probability"),
    ):
        (line,) = axes.plot(columns["tau"], columns[name], "o-", lw=2, ms=4)
        line.set(color=color, clip_on=False)
        axes.text(x, height, text, color=color, size=10)
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="tau: from soft to hard")
    axes.tick_params(colors=QUIET, labelsize=9)
    axes.xaxis.label.set(color=QUIET, size=10)
    axes.grid(axis="y", color="#E6E6E6", lw=0.8)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color("#BBBBBB")
    title = "One path gives every tau"
    axes.set_title(title, loc="left", size=11, color=INK, weight="bold", pad=8)


def _draw_blocks(axes: Axes, demo: Demo, tau: float) -> None:
    """Draw Z = PP' at the tau of the path nearest to ``tau``."""
    import numpy as np
    from matplotlib.colors import LinearSegmentedColormap

    from lordclust._core.colors import QUIET, RAMP

    path = demo.path
    tau = float(path.taus[path.at(tau)])
    last = path.memberships[float(path.taus[-1])]
    order = np.lexsort((-last.max(axis=1), path.labels[-1]))
    # Evenly spaced samples: the plot is too small for all pairs.
    few = order[np.linspace(0, len(order) - 1, BLOCK_SAMPLES).astype(int)]
    P = path.memberships[tau][few]
    ramp = LinearSegmentedColormap.from_list("ramp", RAMP)
    axes.imshow(P @ P.T, cmap=ramp, vmin=0, vmax=1, interpolation="antialiased")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set(color="#CCCCCC", lw=0.8)
    axes.set_title(f"tau = {tau:.2f}", size=9.5, color=QUIET, pad=5)
