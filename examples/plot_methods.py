"""
Eight methods on six toy sets
=============================

Which method finds which shape? This is the counterpart of a well-known figure in
scikit-learn's documentation: each column is a method, each row a data set, and the
number is the accuracy. All methods run with their default parameters, through
:func:`lordclust.make_method`.
"""

# %%
# Six sets of 300 samples
# -----------------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs, make_circles, make_moons

from lordclust import make_method
from lordclust.metrics import accuracy

n = 300
corners = [[0, 0], [5, 3], [5, -3]]
blobs, groups = make_blobs(n, random_state=170)
sets = {
    "moons": make_moons(n, noise=0.06, random_state=0),
    "circles": make_circles(n, factor=0.5, noise=0.05, random_state=0),
    "stretched": (blobs @ [[0.6, -0.6], [-0.4, 0.8]], groups),
    "three widths": make_blobs(n, cluster_std=[1.0, 2.5, 0.5], random_state=170),
    "three sizes": make_blobs([200, 75, 25], centers=corners, random_state=0),
    "round": make_blobs(n, random_state=8),
}

# %%
# Eight methods
# -------------
# The first five use the nearest-neighbour graph, kernel k-means a full kernel, and the
# last two the samples themselves.

methods = {
    "blord": "B-LoRD",
    "lord": "LoRD",
    "sc": "spectral",
    "ncut": "normalised cut",
    "symnmf": "symmetric NMF",
    "kkm": "kernel k-means",
    "gmm": "Gaussian mixture",
    "balanced_kmeans": "k-means,\nexact sizes",
}


def cluster(name, X, k):
    """Return the labels of the method with this name."""
    params = {} if name in ("blord", "lord") else {"random_state": 0}
    return make_method(name, n_clusters=k, **params).fit_predict(X)


# %%
# The figure
# ----------

fig, axes = plt.subplots(len(sets), len(methods), figsize=(11, 9.4))
for row, (shape, (X, y)) in zip(axes, sets.items(), strict=True):
    for ax, name in zip(row, methods, strict=True):
        labels = cluster(name, X, len(np.unique(y)))
        right = accuracy(y, labels)
        ax.scatter(*X.T, s=5, c=[f"C{j}" for j in labels])
        ax.set(xticks=[], yticks=[])
        ax.set_xlabel(f"{right:.2f}", weight="bold" if right > 0.95 else "normal")
    row[0].set_ylabel(shape, size=11)
for ax, title in zip(axes[0], methods.values(), strict=True):
    ax.set_title(title, loc="center", size=9)

# %%
# Results
# -------
# B-LoRD and the spectral methods find all six. LoRD and k-means with exact sizes assume
# equal shares by default and fail on "three sizes": pass ``proportions`` or
# ``cluster_sizes`` there, if you know them. The Gaussian mixture has equal shares too.
