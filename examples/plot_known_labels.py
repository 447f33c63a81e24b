"""
A few known labels go a long way
================================

Often a handful of samples are known: an expert has named them, or they were named last
year. ``fit(X, known_labels=...)`` holds their memberships fixed, and the graph carries
them to the others. What is known only of pairs, together or apart, is said by
``must_link`` and ``cannot_link``.
"""

# %%
# Two rings that touch
# --------------------
# Rings that stand apart are found as they are. These nearly touch: without help the
# clusters cut both in half. Three known samples a ring, drawn large, put it right.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_circles
from sklearn.neighbors import KNeighborsClassifier

from lordclust import BLoRD


def reveal(y, count, rng):
    """Return y with all but count labels a class replaced by -1."""
    known = np.full(len(y), -1)
    for label in np.unique(y):
        chosen = rng.choice(np.flatnonzero(y == label), count, replace=False)
        known[chosen] = label
    return known


rng = np.random.default_rng(0)
X, y = make_circles(300, factor=0.5, noise=0.1, random_state=0)
known = reveal(y, 3, rng)
i, j = rng.integers(len(y), size=(2, 40))  # pairs of samples somebody looked at
together = y[i] == y[j]
pairs = np.column_stack([i, j])

results = {
    "nothing known": BLoRD(2).fit(X),
    "three labels a ring": BLoRD(2).fit(X, known_labels=known),
    "40 pairs": BLoRD(2).fit(
        X, must_link=pairs[together], cannot_link=pairs[~together]
    ),
}

# %%
# Full lines join what must be together, dotted ones what must not.

fig, axes = plt.subplots(1, 3, figsize=(10.5, 4), sharex=True, sharey=True)
for ax, (title, model) in zip(axes, results.items(), strict=True):
    ax.scatter(*X.T, s=14, c=[f"C{j}" for j in model.labels_])
    ax.set_title(title)
    ax.set(xticks=[], yticks=[], aspect="equal")
seen = known >= 0
axes[1].scatter(
    *X[seen].T, s=130, c=[f"C{j}" for j in known[seen]], edgecolor="0.1", linewidth=1.5
)
for pair, joined in zip(pairs, together, strict=True):
    axes[2].plot(*X[pair].T, "-" if joined else ":", color="0.35", linewidth=0.8)

# %%
# How many labels are worth it?
# -----------------------------
# 600 handwritten digits, a few of each kind known; the mean over four draws, for the
# digits that are not known. The classifier by the nearest neighbour sees only the
# labelled ones.

X, y = load_digits(return_X_y=True)
X, y = X[:600], y[:600]
counts = [1, 2, 3, 5, 8, 12]
scores = np.empty((2, len(counts), 4))
for a, count in enumerate(counts):
    for b in range(4):
        known = reveal(y, count, rng)
        seen = known >= 0
        nearest = KNeighborsClassifier(1).fit(X[seen], y[seen])
        model = BLoRD(10).fit(X, known_labels=known)
        scores[0, a, b] = np.mean(model.labels_[~seen] == y[~seen])
        scores[1, a, b] = nearest.score(X[~seen], y[~seen])

fig, ax = plt.subplots(figsize=(6.4, 3.4))
for score, label in zip(scores, ["B-LoRD", "nearest neighbour"], strict=True):
    ax.plot(counts, score.mean(axis=1), marker="o", label=label)
    ax.fill_between(counts, score.min(axis=1), score.max(axis=1), alpha=0.15)
ax.yaxis.set_major_formatter("{x:.0%}")
ax.set(xlabel="known digits of each kind", ylabel="right", xticks=counts)
ax.legend()
