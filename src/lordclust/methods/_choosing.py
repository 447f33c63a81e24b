"""Choosing tau and the shares, for ``BLoRD``: the search, and the chosen partition."""

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lordclust._core.threads import count_threads
from lordclust._core.typing import FloatArray, Graph
from lordclust._core.validation import check_weights, is_auto
from lordclust.choose.calibrate import calibrated, partition_stability
from lordclust.choose.evidence import Evidence
from lordclust.choose.n_clusters import MAX_CLUSTERS, KSuggestion, best_n_clusters
from lordclust.choose.search import Candidate, Search, cell_of, choose, given
from lordclust.methods import _callbacks as callbacks
from lordclust.methods._base import NAN
from lordclust.methods._descents import MIXTURES, Solution
from lordclust.methods._request import FitRequest, Samples
from lordclust.methods._rounding import numbered
from lordclust.result import Selection
from lordclust.rounding.labels import canonical_order, membership_from
from lordclust.rounding.transport import counts_within
from lordclust.solver.omega import Omega
from lordclust.solver.problem import Problem
from lordclust.solver.seeds import completed
from lordclust.solver.solve import Limits
from lordclust.solver.start import check_start_labels, start_seeds

if TYPE_CHECKING:
    from lordclust.methods.lord import DoublyStochasticClusterer

LOG = logging.getLogger("lordclust.fit")


def suggest_clusters(
    model: "DoublyStochasticClusterer", S: Graph, samples: Samples
) -> KSuggestion:
    """Return the number of clusters with the most evidence, and all others.

    They are those from 2 to 20 that bounds on the sizes allow, or the least.
    """
    n = S.shape[0]
    least, most = counts_within(model.size_min, model.size_max, n)
    weight = Omega.of(np.ones(1), n, check_weights(samples.weight, n)).weight
    graph_only = model._is_precomputed() or model._has_metric(NAN)
    X = None if graph_only else samples.X
    last = max(2, min(most, MAX_CLUSTERS))
    return best_n_clusters(S, X, weight, last, min_clusters=least)


def choose_partition(
    model: "DoublyStochasticClusterer", problem: Problem, request: FitRequest
) -> Solution:
    """Return the result whose tau and shares have the most evidence."""
    omega, start, demands = problem.omega, request.samples.start, request.demands
    graph_only = model._is_precomputed() or model._has_metric(NAN)
    X = None if graph_only else request.samples.X
    seeds = model._seeds_from(problem.S, len(omega.mu), X, request.scales)
    seed = 0 if model.random_state is None else model.random_state
    # Links are edges of S alone; known labels tell more of shapes than Gaussians.
    reach = seeds.reach if request.samples.links is None else None
    features = X if omega.known is None else None
    search = Search(
        Evidence(problem.S, len(omega.mu), features, omega.weight, reach),
        seeds,
        start_seeds(MIXTURES if is_auto(model.n_init) else int(model.n_init), seed),
        Limits(model.tol, model.max_iter),
        count_threads(model.n_jobs),
        lambda V, omega: numbered(
            membership_from(V, omega.mu), omega.mu**2, omega, request.exact,
            demands=demands,
        )[1],
        lambda name, part: callbacks.step(model, name, part),
        request.samples.links,
    )  # fmt: skip
    auto = model._automatic()
    keeps_names = omega.known is not None or not isinstance(start, str)
    if not isinstance(start, str):
        labels = completed(check_start_labels(start, *omega.shape), seeds)
        best, selection = given(search, omega, labels)
    elif omega.one_each:
        best, selection = given(search, omega, np.arange(len(omega.mu)))
    else:
        best, selection = choose(problem, search, shares=auto.shares)
    callbacks.step(model, "choice", max(0.0, 1 - sum(search.done)))
    if not auto.shares:
        return _within(model, problem, best, request.shares, selection, search)
    if not keeps_names:
        # Numbered by size: the shares to start from are equal.
        order = canonical_order(best.labels, omega.mu)
        best = best.renumbered(np.argsort(order))
        if demands is not None and demands.bounds is not None:
            order = demands.bounds.matched(best.labels)
            best = best.renumbered(np.argsort(order))
    labels = best.labels
    while True:  # once more with the shares of labels that meet all demands
        cell, best = cell_of(labels, problem), best._replace(labels=labels)
        shares = cell.omega.mu**2
        found = _within(model, cell, best, shares, selection, search)
        if demands is None or demands.met(labels):
            return found
        P = membership_from(found.result.V, cell.omega.mu)
        labels = numbered(P, shares, cell.omega, False, labels, True, demands)[1]


def _within(
    model: "DoublyStochasticClusterer",
    problem: Problem,
    best: Candidate,
    shares: FloatArray,
    selection: Selection,
    search: Search,
) -> Solution:
    """Return the solution in a cell, from the chosen labels."""
    auto, omega, n_threads = model._automatic(), problem.omega, search.n_threads
    t = 1.0 if auto.tau else model._goal(problem)
    calibrates = auto.tau and not omega.one_each  # otherwise nothing is in doubt
    result = model._solve_from_labels(
        problem, best.labels, t, search.limits,
        n_threads=n_threads, dtype=model.dtype, dense=not calibrates,
    )  # fmt: skip
    labels = None
    if calibrates:
        # Labels that were given may not have the requested sizes.
        if auto.shares or isinstance(model.start, str):
            labels = best.labels
        # Soft shares are those that were reached.
        mu = omega.mu if omega.exact else cell_of(best.labels, problem).omega.mu
        S, weight = problem.S, omega.weight
        # Labels that were given were compared with nothing so far.
        rivals = search.rivals() if search.found else [search.seeds.cut]
        stability = partition_stability(S, best.labels, rivals, len(omega.mu), weight)
        P = calibrated(
            S, best.labels, mu, weight, stability,
            known=omega.known, mixture=best.mixture, n_threads=n_threads,
        )  # fmt: skip
        P /= omega.mu
        P *= omega.mass[:, None]
        result = replace(result, V=P.astype(result.V.dtype, copy=False))
        selection = replace(selection, stability=stability)
        LOG.debug("calibration: stability %.3f", stability)
    objectives = np.array([result.objective])
    return Solution(result, problem, shares, t, objectives, labels, selection)
