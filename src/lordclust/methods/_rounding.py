"""From memberships to labels: sizes and links to meet, and canonical numbers."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust._core.warn import warn_user
from lordclust.rounding.labels import canonical_order, labels_from
from lordclust.rounding.linked import linked_labels
from lordclust.rounding.transport import Bounds, assign_sizes, whole_sizes
from lordclust.solver.links import Links
from lordclust.solver.omega import Omega


class Demands(NamedTuple):
    """What all labels must meet: bounds on the sizes, and hard links."""

    bounds: Bounds | None
    links: Links | None = None

    def met(self, labels: IntArray) -> bool:
        """Return whether labels are within the bounds and break no link."""
        within = self.bounds is None or self.bounds.hold(labels)
        return within and (self.links is None or not len(self.links.broken(labels)))


def numbered(
    P: Graph,
    shares: FloatArray,
    omega: Omega,
    exact: bool,
    labels: IntArray | None = None,
    fixed: bool = False,
    demands: Demands | None = None,
) -> tuple[IntArray, IntArray]:
    """Return the canonical order of the columns of P, and labels numbered by it.

    Clusters of equal mu may change places, unless they are ``fixed``, have known
    samples or different bounds; samples without weight do not affect the order.
    ``labels`` are used if given and if they meet the demands. Otherwise, if ``exact``,
    labels have n * shares samples per cluster (those of P, if the shares of ``omega``
    are soft), rounded to whole numbers, and the largest total membership; if there are
    demands, the largest that meets them; if not, each label is the most probable
    cluster.
    """
    heavy = omega.weight > 0
    bounds, links = (None, None) if demands is None else demands
    alike = None if omega.known is None else omega.open_clusters()
    given, labels = labels is not None, labels_from(P) if labels is None else labels
    named = fixed or omega.known is not None or np.ptp(omega.mu) > 0
    differ = bounds is not None and bounds.kinds().any()
    alike = np.arange(0) if fixed or differ else alike
    order = canonical_order(labels[heavy], omega.mu, alike)
    if bounds is not None and differ and not named:
        order = bounds.matched(labels[heavy])
    labels = np.argsort(order)[labels]
    if demands is None and (given or not exact):
        return order, labels
    P = P.toarray() if sparse.issparse(P) else P
    if bounds is None and exact:
        # If sizes cannot be equal, the first clusters have one sample more.
        shares = shares if omega.exact else omega.weight @ P[:, order] / len(P)
        sizes = whole_sizes(shares, len(P))
        bounds = Bounds(sizes, sizes)
    if demands is not None and Demands(bounds, links).met(labels):
        return order, labels
    if omega.known is not None and bounds is not None:
        check_places(omega.known, bounds.high, "exact size")
    if links is not None:
        labels = linked_labels(P[:, order], labels, *links, bounds, omega.known)
    elif bounds is not None:
        cost = -P[:, order]
        if omega.known is not None:
            cost[omega.known >= 0] *= len(P)  # known labels always take precedence
        labels = assign_sizes(cost, bounds)
    again = canonical_order(labels[heavy], omega.mu, alike)
    return order[again], np.argsort(again)[labels]


def broken_links(links: Links | None, labels: IntArray) -> IntArray:
    """Return the links that labels break, outliers aside; warn if there are any."""
    if links is None:
        return np.empty((0, 2), dtype=np.int64)
    inside = (pairs[(labels[pairs] >= 0).all(axis=1)] for pairs in links)
    found = Links(*inside).broken(labels)
    if count := len(found):
        warn_user(
            f"Labels break {count} link{'s'[: count - 1]}, see broken_links_. Use "
            'links="hard" to meet all, or to learn why that is impossible.',
            UserWarning,
        )
    return found


def check_places(known: IntArray, sizes: IntArray, what: str) -> None:
    """Raise an error if a cluster has more known samples than exact labels."""
    taken = np.bincount(known[known >= 0], minlength=len(sizes))
    worst = int((taken - sizes).argmax())
    if taken[worst] > sizes[worst]:
        hint = "" if what == "size_max" else ', or use rounding="argmax"'
        raise ValueError(
            f"known_labels assign {taken[worst]} samples to cluster {worst}, whose "
            f"{what} is {sizes[worst]}. Pass a larger size or proportion{hint}."
        )
