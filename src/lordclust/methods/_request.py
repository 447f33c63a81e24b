"""What a fit is asked for, checked: samples, shares and sizes, links and known labels.

All errors about parameters and arguments are raised here, before the graph is built.
"""

from numbers import Real
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from lordclust._core.memory import (
    LITTLE,
    check_memory,
    choice_bytes,
    solver_advice,
    solver_bytes,
)
from lordclust._core.threads import count_threads
from lordclust._core.typing import (
    ArrayLike,
    BoolArray,
    FloatArray,
    Graph,
    IntArray,
    PathLike,
)
from lordclust._core.validation import (
    check_choice,
    check_count,
    check_dtype,
    check_known_labels,
    check_n_clusters,
    check_not_both,
    check_positive,
    check_tau,
    check_weights,
    is_auto,
    unknown_name,
)
from lordclust.methods._left_out import check_outliers, selected
from lordclust.methods._rounding import Demands, check_places, numbered
from lordclust.rounding.transport import Bounds, check_bounds, check_sizes
from lordclust.solver.arrays import load_torch
from lordclust.solver.checkpoint import check_place
from lordclust.solver.links import Links, check_links
from lordclust.solver.omega import Omega, make_omega
from lordclust.solver.solve import MANY
from lordclust.solver.start import count_starts
from lordclust.solver.tau_rules import TAU_RULES

if TYPE_CHECKING:
    from lordclust.methods.lord import BLoRD, DoublyStochasticClusterer

ALGORITHMS = ("fast", "paper")
STARTS = ("auto", "path", "random")
ROUNDINGS = ("argmax", "exact")
LINKS = ("soft", "hard")


class Samples(NamedTuple):
    """Samples, and what was given for each of them."""

    X: Graph
    heavy: BoolArray  # have a positive weight
    weight: FloatArray | None = None  # as given
    known: IntArray | None = None
    links: Links | None = None
    start: str | Graph = "auto"

    def only(self, kept: BoolArray, *, square: bool) -> Self:
        """Return some of the samples; ``square`` if X is a matrix of all pairs."""
        number, start, links = np.cumsum(kept) - 1, self.start, self.links
        if not isinstance(start, str):
            start = start if sp.issparse(start) else np.asarray(start)
            if start.shape[0] == len(kept):  # else an error is raised later
                start = selected(start, kept, square=False)
        if links is not None:
            inside = (pairs[kept[pairs].all(axis=1)] for pairs in links)
            links = Links(*(np.asarray(number[pairs]) for pairs in inside))
        return self._replace(
            X=selected(self.X, kept, square=square),
            heavy=self.heavy[kept],
            weight=None if self.weight is None else self.weight[kept],
            known=None if self.known is None else self.known[kept],
            links=None if links is None or not len(np.concatenate(links)) else links,
            start=start,
        )


class Automatic(NamedTuple):
    """What is to be chosen."""

    tau: bool = False
    shares: bool = False


class FitRequest(NamedTuple):
    """The problem that a fit is to solve, and what its labels must meet."""

    samples: Samples
    omega: Omega
    shares: FloatArray
    exact: bool = False  # whether labels meet the shares exactly, not only nearly
    demands: Demands | None = None
    checkpoint: PathLike | None = None
    scales: FloatArray | None = None  # of a self-tuning graph


def check_samples(
    model: "DoublyStochasticClusterer",
    X: Graph,
    sample_weight: ArrayLike | None,
    known_labels: ArrayLike | None,
    must_link: ArrayLike | None,
    cannot_link: ArrayLike | None,
) -> Samples:
    """Return checked samples; raise an error for parameters that no fit can use."""
    n, k = X.shape[0], model.n_clusters
    check_n_clusters(1 if k is None else k, n)
    model._check_parameters()
    weight, heavy, known, links = None, np.ones(n, dtype=bool), None, None
    if sample_weight is not None:
        weight = np.asarray(sample_weight)
        heavy = np.asarray(check_weights(sample_weight, n)) > 0
    if known_labels is not None:
        known = check_known_labels(known_labels, n, n if k is None else k)
    if must_link is not None or cannot_link is not None:
        links = check_links(must_link, cannot_link, known, n)
    return Samples(X, heavy, weight, known, links, model.start)


def check_request(
    model: "DoublyStochasticClusterer",
    samples: Samples,
    n_clusters: int,
    checkpoint: PathLike | None,
) -> FitRequest:
    """Return what a fit with this number of clusters is to solve."""
    n, proportions = samples.X.shape[0], model.proportions
    k = check_n_clusters(n_clusters, n)
    bounds = None
    if model.cluster_sizes is not None:
        sizes = check_sizes(model.cluster_sizes, k, n, name="cluster_sizes")
        if sizes.min() == 0:
            raise ValueError(
                "cluster_sizes must be positive, got 0 at position "
                f"{sizes.argmin()}. Lower n_clusters to leave out an empty cluster."
            )
        proportions = sizes / n
    auto = is_auto(proportions)
    if isinstance(proportions, str) and proportions == "equal":
        proportions = None
    if model.strength is not None:
        proportions = (proportions, model.strength)
    omega, shares = make_omega(
        n, k, proportions, samples.weight, samples.known, auto=auto
    )
    if model.size_min is not None or model.size_max is not None:
        bounds = check_bounds(model.size_min, model.size_max, k, n, least=1)
        if omega.known is not None:
            check_places(omega.known, bounds.high, "size_max")
    demands = None if bounds is None else Demands(bounds)
    if model.links == "hard" and samples.links is not None:
        demands = Demands(bounds, samples.links)
        if model.cluster_sizes is not None:
            bounds = Bounds(sizes, sizes)
        elif bounds is None:
            bounds = check_bounds(None, None, k, n, least=1)
        # Links that no labels can meet raise an error.
        even, strict = np.full((n, k), 1 / k), Demands(bounds, samples.links)
        numbered(even, shares, omega, False, demands=strict)
    if model.algorithm == "paper":
        _check_paper(omega)
    elif model.device is None and n * k > LITTLE:
        _check_memory(model, samples, omega)
    if checkpoint is not None:
        _check_checkpoint(model, checkpoint)
    exact = model._rounds_exactly(omega)
    return FitRequest(samples, omega, shares, exact, demands, checkpoint)


def check_parameters(model: "DoublyStochasticClusterer") -> None:
    """Raise an error for parameters that no fit can use."""
    if model.rounding is not None:
        check_choice(model.rounding, ROUNDINGS, "rounding")
    if model.cluster_sizes is not None:
        given = None if is_auto(model.proportions) else model.proportions
        check_not_both(given, "proportions", "cluster_sizes")
        if model.rounding == "argmax":
            raise ValueError(
                "cluster_sizes require exact rounding, got rounding='argmax'. "
                "Leave rounding out, or pass proportions, nearly met by argmax."
            )
    for other in ("cluster_sizes", "rounding"):
        value = getattr(model, other)
        bounded = model.size_min is not None or model.size_max is not None
        if bounded and value is not None:
            raise ValueError(
                f"size_min and size_max cannot be combined with {other}, got "
                f"{other}={value!r}. Leave one of them out."
            )
    if model.strength is not None:
        check_not_both(model.cluster_sizes, "cluster_sizes", "strength")
        if is_auto(model.proportions):
            raise ValueError(
                f"strength is for given shares, got strength={model.strength!r} and "
                'proportions="auto". Pass the shares, or proportions="equal".'
            )
    check_choice(model.algorithm, ALGORITHMS, "algorithm")
    check_choice(model.links, LINKS, "links")
    if isinstance(model.start, str):
        check_choice(model.start, STARTS, "start")
    if not is_auto(model.n_init):
        check_count(model.n_init, "n_init")
    check_count(model.max_iter, "max_iter")
    check_positive(model.tol, "tol")
    count_threads(model.n_jobs)
    if model.device is not None:
        load_torch(model.device)  # before the graph is built
        if model.algorithm == "paper":
            raise ValueError(
                f'algorithm="paper" runs on NumPy, got device={model.device!r}. '
                'Leave device out, or use algorithm="fast".'
            )
    if model.proba_top is not None:
        check_count(model.proba_top, "proba_top")
    check_dtype(model.dtype)
    if model.outliers is not None:
        check_outliers(model.outliers)


def check_blord_parameters(model: "BLoRD") -> None:
    """Raise an error for parameters that no fit can use, including tau and gamma."""
    check_parameters(model)
    chooses = any(model._automatic())
    labels = not isinstance(model.start, str) and np.ndim(model.start) == 1
    free = (is_auto(model.start) or labels) and model.algorithm == "fast"
    if chooses and not free:
        raise ValueError(
            f'tau="auto" and proportions="auto" compare many starts, got '
            f"start={_named(model.start)} and algorithm={model.algorithm!r}. Leave "
            "both out, or pass tau and proportions."
        )
    if chooses and model.device is not None:
        raise ValueError(
            f'"auto" runs on the compiled solver, got device={model.device!r}. '
            "Leave device out, or pass tau and proportions."
        )
    given = model.proportions, model.strength, model.cluster_sizes
    shares = model._automatic().shares or not any(one is not None for one in given)
    if model.n_clusters is None and not shares:
        raise ValueError(
            "Shares or sizes were given without n_clusters. Pass n_clusters, or leave "
            "them out."
        )
    if model.gamma is not None:
        if not is_auto(model.tau):
            raise ValueError(
                f"tau={model.tau!r} and gamma={model.gamma!r} determine each other. "
                "Pass only one of them."
            )
        if isinstance(model.gamma, bool) or not isinstance(model.gamma, Real):
            raise TypeError(f"gamma must be a number, got {model.gamma!r}.")
    if not isinstance(model.tau, str):
        check_tau(model.tau)
    elif model.tau not in ("auto", *TAU_RULES):
        raise unknown_name("tau rule", model.tau, ["auto", *TAU_RULES])


def _named(start: str | Graph) -> str:
    """Return a start as text."""
    return repr(start if isinstance(start, str) else "an array")


def _check_paper(omega: Omega) -> None:
    """Raise an error for options that the paper's algorithm does not support."""
    for needed, fine, got in (
        ("equal weights", omega.equal, "a sample_weight that is not constant"),
        ("no known labels", omega.known is None, "known_labels"),
        ("exact proportions", omega.exact, f"a strength of {omega.strength:g}"),
    ):
        if not fine:
            raise ValueError(
                f'algorithm="paper" requires {needed}, got {got}. Use algorithm="fast".'
            )


def _check_checkpoint(model: "DoublyStochasticClusterer", checkpoint: PathLike) -> None:
    """Raise an error if a checkpoint cannot be written, or there is no path."""
    check_place(checkpoint)
    if not model._uses_path():
        raise ValueError(
            f"checkpoint saves a path, but start={_named(model.start)} and "
            f'algorithm={model.algorithm!r} follow none. Use start="path" and '
            'algorithm="fast", or leave checkpoint out.'
        )
    if model.device is not None:
        raise ValueError(
            "checkpoint saves a path of the compiled solver, got "
            f"device={model.device!r}. Leave one of them out."
        )
    if any(model._automatic()):
        raise ValueError(
            'checkpoint saves a path to one tau, but "auto" compares many. Pass '
            "tau and proportions, or leave checkpoint out."
        )


def _check_memory(
    model: "DoublyStochasticClusterer", samples: Samples, omega: Omega
) -> None:
    """Raise an error, before the graph is built, if memory will not suffice."""
    n, k = omega.shape
    edges = 0  # S has at least this many entries; a dense one is not copied
    if model._is_precomputed():
        edges = int(samples.X.nnz) if sp.issparse(samples.X) else 0
    elif isinstance(model.affinity, str):
        # The default graph has floor(log2 n) + 1 neighbours per sample.
        edges = n * min(model.n_neighbors or n.bit_length(), n - 1)
    n_init = model.n_init if isinstance(model.start, str) else 1
    paths = count_starts(n_init, omega, path=model._uses_path())
    paths = min(count_threads(model.n_jobs), paths)
    single = np.dtype(model.dtype) == np.float32
    needed = solver_bytes(n, k, edges, 4 if single else 8, paths)
    if model._automatic().tau and edges and omega.exact and k >= MANY:
        # V is kept sparse, and eigenvectors are in double precision.
        needed, single, paths = choice_bytes(n, k, edges), True, 1
    check_memory(
        needed,
        f"{type(model).__name__} of {n} samples and {k} clusters",
        solver_advice(single=single, paths=paths),
    )
