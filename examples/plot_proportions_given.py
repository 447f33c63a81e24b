"""
Groups of known, unequal size
=============================

Half of the customers, a third, a tenth: often the sizes of the groups are known in
advance. With ``proportions=[...]`` the mean membership of each cluster is exactly the
given share, and so are the sizes. Without it, they are found from the data.
"""

# %%
# Data
# ----
# 600 samples in four groups, with shares of 5 %, 15 %, 30 % and 50 %.

import matplotlib.pyplot as plt
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import make_blobs
from sklearn.metrics.cluster import contingency_matrix

from lordclust import BLoRD

centers = [[-2, 2], [2, 2], [-2, -2], [2, -2]]
X, y = make_blobs(
    [30, 90, 180, 300], centers=centers, cluster_std=[0.5, 0.7, 0.8, 1], random_state=0
)

models = {
    "equal": BLoRD(4, proportions="equal").fit(X),
    "found": BLoRD(4).fit(X),
    "given": BLoRD(4, proportions=[0.05, 0.15, 0.3, 0.5]).fit(X),
}

# %%
# Equal, found and given shares
# -----------------------------
# With equal shares, each cluster must have a quarter of the samples. So the largest
# group is split, and the smallest one receives samples of its neighbours.


def matched(labels):
    """Return the labels, numbered as the groups they fit best."""
    table = contingency_matrix(labels, y)
    return linear_sum_assignment(table, maximize=True)[1][labels]


fig, axes = plt.subplots(1, 4, figsize=(11, 3), sharex=True, sharey=True)
panels = {"true groups": y}
panels |= {f"{title} shares": matched(m.labels_) for title, m in models.items()}
for ax, (title, labels) in zip(axes, panels.items(), strict=True):
    wrong = labels != y
    ax.scatter(*X.T, s=16, c=[f"C{j}" for j in labels], alpha=0.85)
    ax.scatter(*X[wrong].T, s=42, facecolor="none", edgecolor="0.2", linewidth=0.7)
    ax.set_title(title)
    ax.set_xlabel(f"{wrong.mean():.1%} wrong" if wrong.any() else "")
    ax.set(xticks=[], yticks=[], aspect="equal")

# %%
# Rings mark samples in the wrong cluster. With shares found or given, few are left, at
# the borders. Here the shares that were found are nearly the true ones, and the labels
# even a little better: given shares must be met by some samples.
#
# Shares of probabilities and labels
# ----------------------------------
# The probabilities meet the shares up to rounding error, the labels up to whole
# samples.

for title, model in models.items():
    print(title)
    print("  mean membership  ", model.membership_.mean(axis=0).round(6))
    print("  samples by label ", model.sizes_)

# %%
# For exact counts see :doc:`/guide/sizes`.
