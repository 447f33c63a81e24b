"""
Shares you are not sure of
==========================

Equal shares are a guess, and often a fair one, but not one to insist on.
``proportions=(prior, strength)`` makes the shares a wish: a cluster may leave the prior
if the graph is clearly better for it. The strength says how clearly. ``None`` stands
for equal shares.
"""

# %%
# Three groups, not quite equal
# -----------------------------
# Their shares are 46 %, 31 % and 23 %. The model is told nothing but "three, about the
# same size".

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from lordclust import BLoRD
from lordclust.metrics import accuracy

centers = [[-2.2, 0], [2.2, 0], [0, 3.3]]
X, y = make_blobs(
    [180, 120, 90], centers=centers, cluster_std=[1, 0.8, 0.7], random_state=2
)

# %%
# From free to exact
# ------------------
# Without a wish one cluster takes everything: that cuts no edge. A weak wish is enough
# to have three clusters, and they have the sizes of the groups. A strong one makes them
# equal, and part of the largest group goes to the others.

strengths = [0.0, 0.05, 100.0]
models = [BLoRD(3, proportions=(None, s)).fit(X) for s in strengths]

fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.4), sharex=True, sharey=True)
for ax, strength, model in zip(axes, strengths, models, strict=True):
    ax.scatter(*X.T, s=16, c=[f"C{j}" for j in model.labels_])
    ax.set_title(f"strength {strength:g}")
    shares = ", ".join(f"{share:.0%}" for share in model.proportions_)
    ax.set_xlabel(f"{shares}; {accuracy(y, model.labels_):.0%} right")
    ax.set(xticks=[], yticks=[], aspect="equal")

# %%
# All strengths
# -------------
# ``proportions_`` holds the shares that were reached. For weak wishes they are those of
# the groups, drawn dashed.

grid = np.geomspace(0.01, 100, 17)
reached = [BLoRD(3, proportions=(None, s)).fit(X).proportions_ for s in grid]

fig, ax = plt.subplots(figsize=(6.6, 3.2))
ax.semilogx(grid, reached)
for j, share in enumerate(np.bincount(y) / len(y)):
    ax.axhline(share, color=f"C{j}", linestyle="--", linewidth=1)
ax.plot([], [], color="0.4", label="cluster")
ax.plot([], [], "--", color="0.4", linewidth=1, label="group")
ax.yaxis.set_major_formatter("{x:.0%}")
ax.set(xlabel="strength", ylabel="share", ylim=(0.2, 0.5))
ax.legend()
