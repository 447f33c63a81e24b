"""One fit of a method, scored: the paper's protocol start by start."""

import time
from typing import Any

import numpy as np

from lordclust._core.typing import FloatArray, IntArray
from lordclust.registry import METHODS, make_method
from lordclust.reproduction import inputs
from lordclust.reproduction.store import Cell, Record
from lordclust.solver.projection import project_newton

#: Methods scored by the mean over roundings of one solution.
ROUNDED = ("sc", "sdp", "dsn", "sds", "dvd", "dsni")
#: Methods without chance.
DETERMINISTIC = ("gkkm", "directsc")
#: Methods scored by the mean over their members.
MEMBERS = ("s3nmf",)
#: Methods and variants that are run once: they follow a path.
ONCE = ("lord-path", "blord-path", "blord-auto")
#: Rows of tables that are a method with settings of its own.
VARIANTS: dict[str, tuple[str, Record]] = {
    "lord": ("lord", {"start": "random"}),
    "lord-path": ("lord", {}),
    "lord-true": ("lord", {"start": "random", "shares": "true"}),
    "lord-projected": ("lord", {"start": "projected"}),
    "blord-path": ("blord", {}),
    "blord-auto": (
        "blord",
        {"tau": "auto", "proportions": "auto", "input": "features"},
    ),
    "blord-random": ("blord", {"start": "random"}),
    "blord-projected": ("blord", {"start": "projected"}),
}
#: Settings of a cell that are not parameters of its method.
OURS = ("roundings", "shares", "input")


def run(cell: Cell) -> Record:
    """Return the scores of a fit, with its objective and its time.

    Settings are parameters of the method, and: ``roundings``, how many are averaged;
    ``shares="true"``, the class shares as proportions; ``input``, what is passed in
    place of what the method takes; ``start="projected"``, a random matrix projected
    onto the feasible set instead of scaled into it.
    """
    method, settings = VARIANTS.get(cell.method, (cell.method, {}))
    settings = settings | cell.settings
    known = inputs.data(cell.data)
    takes = settings.get("input", METHODS[method].takes)
    X = inputs.prepared(takes, cell.data)
    model = _estimator(method, settings, cell, takes)
    start = time.process_time()  # not the wall: other cells run beside it
    model.fit(X)
    seconds = time.process_time() - start
    partitions = _partitions(method, settings, model)
    found = [inputs.scores(known.y, labels) for labels in partitions]
    return {
        "objective": float(model.objective_),
        "converged": bool(model.converged_),
        "n_iter": int(model.n_iter_),
        "seconds": round(seconds, 3),
        **{name: float(np.mean([s[name] for s in found])) for name in found[0]},
    }


def _estimator(method: str, settings: Record, cell: Cell, takes: str) -> Any:
    """Return the estimator of a cell: one start, the cell's seed, one thread."""
    wanted = {x: v for x, v in settings.items() if x not in OURS}
    if wanted.get("start") == "projected":
        wanted["start"] = projected_start(cell.data, cell.seed)
    if "shares" in settings:
        wanted["proportions"] = inputs.shares(cell.data, settings["shares"])
    model = make_method(method, inputs.data(cell.data).n_clusters, **wanted)
    one_start = {"random_state": cell.seed, "n_init": 1}
    if method in ROUNDED:
        one_start.pop("n_init")  # of the rounding, which is averaged
    elif method in DETERMINISTIC or cell.method in ONCE:
        one_start = {}
    chosen: Record = {**one_start, "n_jobs": 1}
    if takes != "features":
        chosen["affinity"] = "precomputed"
    known = model.get_params()
    return model.set_params(**{x: v for x, v in chosen.items() if x in known})


def projected_start(data: str, seed: int) -> FloatArray:
    """Return the nearest feasible point to a matrix uniform in [0, 1].

    The paper warns of it: the matrix is far larger than V, so that the point is on
    the boundary.
    """
    omega = inputs.omega(data)
    U = np.random.default_rng(seed).random(omega.shape)
    return project_newton(U, omega)[0]


def _partitions(method: str, settings: Record, model: Any) -> list[IntArray]:
    """Return the partitions that are scored and averaged."""
    if method in ROUNDED:
        return [model.relabel(seed) for seed in range(settings["roundings"])]
    if method in MEMBERS:
        return list(model.members_labels_)
    return [model.labels_]
