"""
Sample weights: cluster a histogram
===================================

A sample may represent many others: a town its inhabitants, a histogram cell its counts.
``fit(X, sample_weight=w)`` treats a sample of weight 2 as two samples. Here 20,000
samples are binned, and the 665 nonempty cells are clustered instead.
"""

# %%
# 20,000 samples in 665 cells
# ---------------------------

import matplotlib.pyplot as plt
import numpy as np

from lordclust import BLoRD
from lordclust.datasets import four_gaussians
from lordclust.metrics import accuracy

X, y = four_gaussians([5000, 5000, 5000, 5000], random_state=0)
cells, cell, counts = np.unique(
    np.floor(X / 0.4), axis=0, return_inverse=True, return_counts=True
)
cell = cell.ravel()  # the cell of each sample
print(len(cells), "cells with 1 to", counts.max(), "samples")

# %%
# With and without the counts
# ---------------------------
# The cells form a regular grid: without the counts only the outline of the groups is
# left. With the counts, the borders are where samples are rare.

plain = BLoRD(4).fit(cells)
weighted = BLoRD(4).fit(cells, sample_weight=counts)

# %%
# The darker a cell, the more samples it contains.

shade = np.clip(np.sqrt(counts / 150), 0.2, 1)
fig, axes = plt.subplots(1, 3, figsize=(11, 3.9), sharex=True, sharey=True)
style = {"s": 13, "marker": "s"}
axes[0].scatter(*cells.T, c="0.15", alpha=shade, **style)
axes[0].set_title("counts")
titles = ["fit(cells)", "fit(cells, sample_weight=counts)"]
for ax, model, title in zip(axes[1:], [plain, weighted], titles, strict=True):
    ax.scatter(*cells.T, c=[f"C{j}" for j in model.labels_], alpha=shade, **style)
    ax.set_title(title)
    ax.set_xlabel(f"{accuracy(y, model.labels_[cell]):.1%} of the samples correct")
for ax in axes:
    ax.set(xticks=[], yticks=[], aspect="equal")

# %%
# Shares of the weight
# --------------------
# With weights, shares are those of the total weight: each cluster that was found has
# about a quarter of the samples, whatever its number of cells.

print("samples", np.bincount(weighted.labels_, counts).astype(int))
print("cells  ", weighted.sizes_)
