"""
Shares as a soft constraint
===========================

Equal shares are often a reasonable guess, but only a guess.
``strength`` turns the shares into a soft constraint: clusters may
deviate from the prior if the graph favours it, and the strength controls how much.
``None`` stands for equal shares.
"""

# %%
# Three groups of different size
# ------------------------------
# Their shares are 46 %, 31 % and 23 %. The model only knows that there are three, of
# similar size.

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
# A weak constraint leaves the sizes to the graph. The stronger it is, the more equal
# they are, and part of the largest group goes to the others.

strengths = [0.05, 1.0, 100.0]
models = [BLoRD(3, proportions="equal", strength=s).fit(X) for s in strengths]

fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.4), sharex=True, sharey=True)
for ax, strength, model in zip(axes, strengths, models, strict=True):
    ax.scatter(*X.T, s=16, c=[f"C{j}" for j in model.labels_])
    ax.set_title(f"strength {strength:g}")
    shares = ", ".join(f"{share:.0%}" for share in model.proportions_)
    ax.set_xlabel(f"{shares}; accuracy {accuracy(y, model.labels_):.0%}")
    ax.set(xticks=[], yticks=[], aspect="equal")

# %%
# Vary the strength
# -----------------
# ``proportions_`` contains the resulting shares. For weak constraints they are those of
# the groups (dashed).

grid = np.geomspace(0.01, 100, 17)
reached = [BLoRD(3, proportions="equal", strength=s).fit(X).proportions_ for s in grid]

fig, ax = plt.subplots(figsize=(6.6, 3.2))
ax.semilogx(grid, reached)
for j, share in enumerate(np.bincount(y) / len(y)):
    ax.axhline(share, color=f"C{j}", linestyle="--", linewidth=1)
ax.plot([], [], color="0.4", label="cluster")
ax.plot([], [], "--", color="0.4", linewidth=1, label="group")
ax.yaxis.set_major_formatter("{x:.0%}")
ax.set(xlabel="strength", ylabel="share", ylim=(0.2, 0.5))
ax.legend()
