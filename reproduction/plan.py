"""Which cells a table or a figure needs, and what is reduced or left out."""

from collections.abc import Iterable, Iterator

from lordclust.datasets.synthetic import MIXTURES
from reproduction.experiments import coclustering
from reproduction.experiments.scores import (
    CORRELATED,
    DETERMINISTIC,
    MEMBERS,
    ONCE,
    ROUNDED,
)
from reproduction.experiments.tau_grid import MAX_ITER
from reproduction.experiments.tuned import GRIDS
from reproduction.paper import BEST_TAU, METHODS, NINE, SETS, printed
from reproduction.store import Cell, Record

#: Random starts, roundings of one learned Z, and taus of the paper's grid.
RESTARTS, TAUS = 50, 100
#: The three large sets; starts or roundings, where they are fewer, and taus.
LARGE = ("isolet", "coil100", "mnist")
LARGE_RESTARTS = {"coil100": 10, "mnist": 10}
LARGE_TAUS = 20
#: Fewer starts still, where each takes minutes.
FEWER = {
    ("kkm", "mnist"): 1,
    ("dcd-priors", "mnist"): 2,
    ("dsdc", "mnist"): 3,
    ("symnmf", "mnist"): 5,
    ("blord", "mnist"): 4,
    ("dcd-priors", "coil100"): 2,
    ("dcd-priors", "isolet"): 5,
    ("nlr", "isolet"): 3,
    ("blord", "isolet"): 10,
}
#: Settings of single entries: KKM computes a kernel of 70,000 samples in blocks, and
#: each iteration takes seconds. GKKM tries every sample as a centre, as the paper does
#: (half an hour on Isolet).
SETTINGS: dict[tuple[str, str], Record] = {
    ("kkm", "mnist"): {"input": "features", "max_iter": 30},
    ("gkkm", "isolet"): {"algorithm": "full"},
}
#: Entries of the paper that are not computed here, with the reason.
TOO_LARGE: dict[tuple[str, str], str] = {
    ("gkkm", "coil100"): "every sample is tried as a centre, which takes two hours",
}
#: Rows of ours without numbers in the paper.
OWN = (
    "lord-path", "blord-path", "blord-auto", "dcd-priors", "dsn-default", "sds-rank",
)  # fmt: skip
#: Starts for each of the settings that are tuned, where a method has random starts.
TUNED_STARTS = 5
#: Methods of the library that are not in the paper.
OTHERS = ("gwl", "balanced_kmeans")
#: The imbalanced sets of the table on mu.
UNEVEN = ("semeion", "mnist2000", "wine", "yeast", "ecoli")
#: Draws, starts and taus of the mixtures.
DRAWS, DRAW_STARTS, DRAW_TAUS = 10, 10, 20
#: Largest number of iterations of the paper's algorithm where it takes minutes: all
#: ways on MNIST; on two more sets only the one with the stricter projection.
CUT = {"mnist": 100}
STRICT_CUT = {"coil100": 20, "mnist": 20, "isolet": 40}


class Plan:
    """The data sets, methods and number of starts that are requested.

    Parameters
    ----------
    only, methods : iterable of str, optional
        Data sets and methods, all by default.
    restarts : int, default=50
        Largest number of starts and roundings.
    """

    def __init__(
        self,
        only: Iterable[str] = (),
        methods: Iterable[str] = (),
        restarts: int = RESTARTS,
    ) -> None:
        self.only, self.methods = tuple(only), tuple(methods)
        self.restarts = restarts

    def _sets(self, sets: Iterable[str]) -> list[str]:
        """Return those of the data sets that are requested."""
        return [name for name in sets if not self.only or name in self.only]

    def _methods(self, methods: Iterable[str]) -> list[str]:
        """Return those of the methods that are requested.

        A method stands for its variants as well, a variant for itself.
        """
        wanted = set(self.methods)
        return [x for x in methods if not wanted or {x, x.split("-")[0]} & wanted]

    def starts(self, method: str, data: str) -> int:
        """Return the number of starts or roundings of an entry."""
        usual = LARGE_RESTARTS.get(data, RESTARTS)
        return min(FEWER.get((method, data), usual), self.restarts)

    def taus(self, data: str) -> int:
        """Return the number of taus in the grid of a data set."""
        return LARGE_TAUS if data in LARGE else TAUS

    def scores(self, methods: Iterable[str], sets: Iterable[str]) -> Iterator[Cell]:
        """Yield the cells of methods that are fitted start by start."""
        for data in self._sets(sets):
            for method in self._methods(methods):
                if left_out(method, data) is None:
                    yield from self.entry(method, data)

    def entry(self, method: str, data: str) -> Iterator[Cell]:
        """Yield the cells of one entry of a table."""
        count = self.starts(method, data)
        extra = SETTINGS.get((method, data), {})
        if method.partition("-")[0] in ROUNDED:
            yield Cell("scores", method, data, 0, {"roundings": count})
        elif method in (*DETERMINISTIC, *MEMBERS, *ONCE):
            yield Cell("scores", method, data, 0, extra)
        else:
            for seed in range(count):
                yield Cell("scores", method, data, seed, extra)

    def tuned(self, sets: Iterable[str]) -> Iterator[Cell]:
        """Yield the methods that the paper tunes, each over its grid."""
        for data in self._sets(sets):
            for method in self._methods(GRIDS):
                if left_out(method, data) is None:
                    alone = method in (*ROUNDED, *DETERMINISTIC)
                    starts = 1 if alone else min(TUNED_STARTS, self.restarts)
                    settings = {"starts": starts, "roundings": self.restarts}
                    settings["grid"] = len(GRIDS[method])  # a longer one is run again
                    yield Cell("tuned", method, data, 0, settings)

    def grid(self, sets: Iterable[str], shares: str = "equal") -> Iterator[Cell]:
        """Yield the paper's protocol for B-LoRD: starts times taus."""
        for data in self._sets(sets if self._methods(["blord"]) else ()):
            settings = {"taus": self.taus(data), "shares": shares}
            for seed in range(self.starts("blord", data)):
                yield Cell("grid", "blord", data, seed, settings)

    def path(self, sets: Iterable[str]) -> Iterator[Cell]:
        """Yield one path per data set."""
        for data in self._sets(sets if self._methods(["blord"]) else ()):
            yield Cell("path", "blord", data, 0, {"taus": TAUS})

    # -- tables ---------------------------------------------------------------------

    def tables(self) -> Iterator[Cell]:
        """Yield the cells of the four tables of scores."""
        rows = [method for method in METHODS if method != "blord"]
        yield from self.scores([*rows, *OWN], NINE)
        yield from self.scores(OTHERS, NINE)
        yield from self.tuned(NINE)
        yield from self.grid(NINE)
        yield from self.scores([*rows, *OWN], LARGE)
        yield from self.grid(LARGE)

    def r2(self) -> Iterator[Cell]:
        """Yield the cells of the correlations."""
        rows = [method for method in CORRELATED if method != "blord"]
        for sets in (NINE, LARGE):
            yield from self.scores(rows, sets)
            yield from self.grid(sets)

    def tau(self) -> Iterator[Cell]:
        """Yield the cells of the rules for tau."""
        yield from self.path(SETS)
        yield from self.grid(SETS)

    def mu(self) -> Iterator[Cell]:
        """Yield the cells of equal and true shares."""
        yield from self.scores(["lord", "lord-true"], UNEVEN)
        yield from self.grid(UNEVEN)
        yield from self.grid(UNEVEN, "true")

    def synthetic(self) -> Iterator[Cell]:
        """Yield the cells of the mixtures."""
        starts = min(DRAW_STARTS, self.restarts)
        for data in self._sets(MIXTURES):
            for method in self._methods(["gmm", "lord", "blord"]):
                for shares in ("true", "equal"):
                    settings = {"shares": shares, "starts": starts}
                    if method == "blord":
                        settings["taus"] = DRAW_TAUS
                    for draw in range(DRAWS):
                        yield Cell("synthetic", method, data, draw, settings)

    def nothing(self) -> Iterator[Cell]:
        """Yield no cells: for figures that show no results."""
        yield from ()

    # -- figures --------------------------------------------------------------------

    def tau_blocks(self) -> Iterator[Cell]:
        """Yield the cells of VV' as tau grows."""
        for data in self._sets(coclustering.NAMES):
            yield Cell("blocks", "blord", data, 0, {"taus": list(coclustering.TAUS)})

    def learned_z(self) -> Iterator[Cell]:
        """Yield the cells of Z, LoRD's and B-LoRD's at the paper's best tau."""
        for data in self._sets(SETS):
            yield Cell("blocks", "lord", data)
            yield Cell("blocks", "blord", data, 0, {"taus": [BEST_TAU[data]]})

    def descent(self) -> Iterator[Cell]:
        """Yield the cells of convergence and inner iterations."""
        for data in self._sets(SETS):
            for method in self._methods(["lord", "blord"]):
                limit = CUT.get(data, MAX_ITER)
                strict = STRICT_CUT.get(data, limit)
                settings: Record = {"max_iter": limit, "strict_iter": strict}
                if method == "blord":
                    settings["tau"] = BEST_TAU[data]
                yield Cell("descent", method, data, 0, settings)

    def init(self) -> Iterator[Cell]:
        """Yield the cells of Sinkhorn's and Dykstra's starts."""
        for data in self._sets(NINE):
            for method in self._methods(
                ["lord", "lord-projected", "blord-random", "blord-projected"]
            ):
                fixed = {"tau": BEST_TAU[data]} if method.startswith("blord") else {}
                for seed in range(self.starts(method, data)):
                    yield Cell("scores", method, data, seed, fixed)

    def landscape(self) -> Iterator[Cell]:
        """Yield the cells of a path among random starts."""
        yield from self.path(NINE)
        yield from self.grid(NINE)


def left_out(method: str, data: str) -> str | None:
    """Return why an entry is left out, or None if it is not."""
    if (method, data) in TOO_LARGE:
        return TOO_LARGE[method, data]
    name = method.partition("-")[0]  # of a variant
    if name in METHODS and data not in printed("acc")[name]:
        return "left out by the paper"
    return None
