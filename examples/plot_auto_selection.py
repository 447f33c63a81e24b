"""
Shares and tau that nobody told
===============================

Some groups are large, some small, and nobody knows how large. Equal shares cut the
large groups and lump the small ones together. ``BLoRD(k, tau="auto",
proportions="auto")`` weighs many partitions against each other, without labels, and
keeps the one that the features and the graph speak most for.
"""

# %%
# Digits, from common to rare
# ---------------------------
# Of the handwritten digits 178 zeros are kept, and of every further digit a fifth
# fewer, down to 24 nines.

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE
from sklearn.metrics.cluster import contingency_matrix

from lordclust import BLoRD
from lordclust.metrics import accuracy

X, y = load_digits(return_X_y=True)
counts = np.round(178 * 0.8 ** np.arange(10)).astype(int)
kept = np.concatenate([np.flatnonzero(y == j)[:m] for j, m in enumerate(counts)])
X, y = X[kept], y[kept]

models = {
    "equal shares": BLoRD(10).fit(X),
    "auto": BLoRD(10, tau="auto", proportions="auto").fit(X),
}
for title, model in models.items():
    print(f"{title:<14}{accuracy(y, model.labels_):.2f}", model.sizes_)

# %%
# What they make of it
# --------------------
# A map of the images by t-SNE, which neither model sees. Rings mark images in a wrong
# cluster. Equal shares cut the zeros in two; "auto" keeps them whole.


def matched(labels):
    """Return the labels, numbered as the digits they fit best."""
    table = contingency_matrix(labels, y)
    return linear_sum_assignment(table, maximize=True)[1][labels]


at = TSNE(init="pca", random_state=0).fit_transform(X)
panels = {"true digits": y}
panels |= {title: matched(model.labels_) for title, model in models.items()}
fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.9), sharex=True, sharey=True)
for ax, (title, labels) in zip(axes, panels.items(), strict=True):
    wrong = labels != y
    ax.scatter(*at.T, s=12, c=[f"C{j}" for j in labels])
    ax.scatter(*at[wrong].T, s=34, facecolor="none", edgecolor="0.2", linewidth=0.6)
    ax.set_title(title)
    ax.set_xlabel(f"{wrong.mean():.0%} wrong" if wrong.any() else "")
    ax.set(xticks=[], yticks=[])

# %%
# The sizes
# ---------
# Ten clusters were allowed, and eight have samples: of all partitions looked at, one of
# eight clusters has most evidence. The rarest digits, eight and nine, have none of
# their own and lie with others.

fig, ax = plt.subplots(figsize=(7.2, 3))
ax.bar(np.arange(10) - 0.2, np.bincount(y), 0.4, label="true", color="0.75")
found = np.bincount(panels["auto"], minlength=10)
ax.bar(np.arange(10) + 0.2, found, 0.4, label='"auto"', color="C0")
ax.axhline(len(y) / 10, color="C1", linewidth=1, linestyle="--", label="equal shares")
ax.set(xticks=range(10), xlabel="digit", ylabel="images")
ax.legend()

# %%
# How it chose
# ------------
# ``selection_`` holds every candidate. In round 0 all shares are equal; at small tau
# they bind labels least, and there the evidence is largest. The sizes of the best
# candidate become the shares of round 1, and so on while the evidence grows.

chosen = models["auto"].selection_
print(chosen.table(5))

fig, ax = plt.subplots(figsize=(7.2, 3.6))
for turn in np.unique(chosen.rounds):
    mine = chosen.rounds == turn
    ax.scatter(chosen.taus[mine], chosen.evidence[mine], s=14, label=f"round {turn}")
best = chosen.best
ax.scatter(
    chosen.taus[best],
    chosen.evidence[best],
    s=110,
    facecolor="none",
    edgecolor="0.1",
    linewidth=1.3,
    label="kept",
)
ax.set(xlabel="tau", ylabel="evidence in nats")
ax.legend()

# %%
# What it does not do
# -------------------
# It does not find every group: it compares partitions that B-LoRD comes upon, and what
# speaks for Gaussian clusters on a graph need not speak for digits. For ten draws of
# such unequal digits, the sizes given to the digits at random, equal shares were right
# for 64 % of the images, "auto" for 83 %: from 3 % more to 29 % more. True shares,
# given, were right for 75 %: they say how large clusters are, but not which.
#
# In few dimensions it is weaker. On the four groups in the plane of
# :doc:`/gallery/plot_proportions_given` it still cuts the largest one (74 % right, and
# 97 % with the shares given). :doc:`/selection` has the rule and its reasons.
