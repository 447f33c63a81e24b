"""
New samples: probabilities and decision regions
===============================================

Graph-based clustering usually applies only to the samples of the fit. A fitted
:class:`lordclust.BLoRD` has ``predict_proba``: a new sample gets the average membership
of its nearest fitted samples, with the weights of the graph. Each new sample is treated
independently.
"""

# %%
# Fit
# ---

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb

from lordclust import BLoRD
from lordclust.datasets import four_gaussians

X, _ = four_gaussians([120, 120, 120, 120], random_state=0)
model = BLoRD(4, tau=0.1).fit(X)

# %%
# Predict every point of a grid
# -----------------------------

x, y = np.meshgrid(np.linspace(-6, 8, 260), np.linspace(-7, 6, 240))
P = model.predict_proba(np.column_stack([x.ravel(), y.ravel()]))
print(P.shape, "rows sum to", P.sum(axis=1).round(12).min())

# %%
# Decision regions and uncertainty
# --------------------------------
# Left: the colours of the clusters mixed by probability. Right: the probability of the
# most probable cluster.

colors = np.array([to_rgb(f"C{j}") for j in range(4)])
extent = (x.min(), x.max(), y.min(), y.max())
fig, axes = plt.subplots(1, 2, figsize=(9.4, 3.9), sharex=True, sharey=True)
mixed = (P @ (0.45 * colors + 0.55)).reshape(*x.shape, 3)
axes[0].imshow(mixed, origin="lower", extent=extent)
axes[0].set_title("predict_proba, as colour")
sure = P.max(axis=1).reshape(x.shape)
shades = axes[1].imshow(sure, origin="lower", extent=extent, cmap="Greys_r")
axes[1].contour(x, y, sure, levels=[0.9], colors="0.1", linewidths=0.8)
axes[1].set_title("certainty (line: 0.9)")
for ax in axes:
    ax.scatter(*X.T, s=7, c=[f"C{j}" for j in model.labels_])
    ax.set(xticks=[], yticks=[])
fig.colorbar(shades, ax=axes[1], label="largest probability")

# %%
# Independent samples, or a batch with given counts
# -------------------------------------------------
# ``predict`` treats every sample independently. ``assign`` labels a batch so that it
# has the given counts and the largest total probability.

batch = [[-2, 2], [-1, 1], [0, 1], [1, 1], [2, 2], [-2, -2], [2, -2], [2, 0]]
print("predict", model.predict(batch))
print("assign ", model.assign(batch, cluster_sizes=[2, 2, 2, 2]))
