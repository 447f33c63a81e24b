"""SymNMF and PHALS beside scikit-learn's NMF of the same graph."""

import warnings
from typing import Any

import numpy as np
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from benchmarks.common import clock
from lordclust import make_method
from lordclust.datasets import load
from lordclust.graph import KNNGraph

TITLE = "SymNMF and PHALS beside NMF"
NOTE = (
    "The same S and rank, one thread of work each. `its seconds`: a fit of NMF at its "
    "default tolerance, mean over the starts. `seconds`: ours until the loss is as low "
    "as NMF's mean final loss, median over the starts that get there (`reached`); ours "
    "goes on to a tighter tolerance. `iteration`: how many times faster one iteration "
    "is. NMF has two free factors, so its loss may be out of reach of V V'."
)
STARTS = {"digits": 8, "semeion": 8, "mnist2000": 8, "mnist": 2}
PAIRS = (("symnmf", "mu"), ("phals", "cd"))


def run() -> list[dict[str, Any]]:
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = []
    for name, starts in STARTS.items():
        data = load(name)
        S = KNNGraph().build(data.prepared())
        rows += [measure(name, S, data.n_clusters, starts, *pair) for pair in PAIRS]
    return rows


def measure(
    name: str, S: Any, k: int, starts: int, ours: str, solver: str
) -> dict[str, Any]:
    theirs = [fit_nmf(S, k, solver, seed) for seed in range(starts)]
    t_other, step_other, loss = np.mean(theirs, axis=0)
    found = [fit_ours(S, k, ours, seed, loss) for seed in range(starts)]
    seconds, step = np.array(found).T
    reached = seconds[np.isfinite(seconds)]
    t = float(np.median(reached)) if len(reached) else float("nan")
    return {
        "data": name,
        "method": ours,
        "seconds": t,
        "reached": f"{len(reached)} of {starts}",
        "beside": f"NMF({solver})",
        "its seconds": float(t_other),
        "times faster": float(t_other / t),
        "iteration": float(step_other / step.mean()),
    }


def fit_nmf(S: Any, k: int, solver: str, seed: int) -> tuple[float, float, float]:
    """Return seconds, seconds an iteration, and half the squared error."""
    model = NMF(k, init="random", solver=solver, random_state=seed)
    t, _ = clock(lambda: model.fit(S))
    return t, t / model.n_iter_, model.reconstruction_err_**2 / 2


def fit_ours(S: Any, k: int, ours: str, seed: int, loss: float) -> tuple[float, float]:
    """Return the seconds until the loss is reached (or inf), and an iteration's."""
    model = make_method(ours, k, affinity="precomputed", n_init=1, random_state=seed)
    model.set_params(max_iter=1000 if S.shape[0] < 10_000 else 300)
    t, _ = clock(lambda: model.fit(S))
    step = t / model.n_iter_
    reached = np.flatnonzero(model.history_ <= loss)
    return (step * reached[0] if len(reached) else np.inf), step
