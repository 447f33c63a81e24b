"""
A few known labels help a lot
=============================

Often the labels of a few samples are known, for example from an expert. ``fit(X,
known_labels=...)`` fixes their memberships, and the graph propagates them. Knowledge
about pairs, together or apart, is passed by ``must_link`` and ``cannot_link``.
"""

# %%
# Two rings that touch
# --------------------
# Separate rings are found without help. These nearly touch, and the clusters cut both
# in half. Three known samples per ring, drawn large, correct this, if they take part
# from the beginning: ``start="path"`` follows the solution from soft to hard, and known
# samples decide where it splits. The default, which compares finished partitions, needs
# about 20 known samples per ring here. Links change the graph, and help here too.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_circles
from sklearn.neighbors import KNeighborsClassifier

from lordclust import BLoRD


def reveal(y, count, rng):
    """Return y with all but count labels per class replaced by -1."""
    known = np.full(len(y), -1)
    for label in np.unique(y):
        chosen = rng.choice(np.flatnonzero(y == label), count, replace=False)
        known[chosen] = label
    return known


rng = np.random.default_rng(0)
X, y = make_circles(300, factor=0.5, noise=0.1, random_state=0)
known = reveal(y, 3, rng)
i, j = rng.integers(len(y), size=(2, 40))  # pairs that somebody compared
together = y[i] == y[j]
pairs = np.column_stack([i, j])

results = {
    "nothing known": BLoRD(2).fit(X),
    "three labels per ring": BLoRD(2, tau=1.0, proportions="equal", start="path").fit(
        X, known_labels=known
    ),
    "40 pairs": BLoRD(2).fit(
        X, must_link=pairs[together], cannot_link=pairs[~together]
    ),
}

# %%
# Solid lines are must-links, dotted lines cannot-links.

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
# How many labels are needed?
# ---------------------------
# 600 handwritten digits with a few known labels per class: the accuracy on the others,
# mean and range of four draws. A nearest-neighbour classifier uses only the labelled
# images.

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
ax.set(xlabel="known labels per class", ylabel="accuracy", xticks=counts)
ax.legend()
