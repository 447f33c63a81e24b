"""
From soft to hard clusters with one parameter
=============================================

In :class:`lordclust.BLoRD` the parameter tau controls how much doubt a clustering
shows. At 0 every sample belongs to all clusters equally; at 1 almost every sample
belongs to one. In between, clear samples are decided and those between two groups stay
in doubt. :func:`lordclust.tau_path` computes all values of tau in one run.
"""

# %%
# Four groups that overlap
# ------------------------
# Four Gaussians of different width, 150 samples each. The path starts soft, and the
# solution for each tau is the starting point for the next.

import matplotlib.pyplot as plt
import numpy as np

from lordclust import tau_path
from lordclust.datasets import four_gaussians
from lordclust.graph import KNNGraph

X, y = four_gaussians([150, 150, 150, 150], random_state=0)
S = KNNGraph().build(X)
taus = np.linspace(0.02, 1, 50)
path = tau_path(S, 4, taus=taus, keep="all")

# %%
# Soft and hard
# -------------
# Colour shows the most probable cluster, opacity its probability: doubtful samples are
# pale.

fig, axes = plt.subplots(1, 4, figsize=(11, 3), sharex=True, sharey=True)
for ax, tau in zip(axes, [0.04, 0.08, 0.2, 1.0], strict=True):
    P = path.membership(tau)
    sure = P.max(axis=1)
    ax.scatter(*X.T, s=18, c=[f"C{j}" for j in P.argmax(axis=1)], alpha=sure**1.5)
    ax.set_title(f"tau = {tau:g}")
    ax.set_xlabel(f"{(sure < 0.9).mean():.0%} in doubt")
    ax.set(xticks=[], yticks=[], aspect="equal")

# %%
# One sample along the path
# -------------------------
# The most doubtful sample at tau = 0.2 is the isolated one at the far right. The bands
# are its four probabilities, in the colours from above.

P = path.membership(0.2)
doubtful = P.max(axis=1).argmin()
curves = np.array([path.membership(tau)[doubtful] for tau in taus])

fig, ax = plt.subplots(figsize=(7, 2.8))
ax.stackplot(taus, curves.T, colors=["C0", "C1", "C2", "C3"])
ax.set(xlim=(taus[0], 1), ylim=(0, 1), xlabel="tau", ylabel="probability")
ax.set_title("Sample {} at ({:.1f}, {:.1f})".format(doubtful, *X[doubtful]))

# %%
# Constant shares
# ---------------
# At every tau, each cluster has exactly a quarter of the total probability.

for tau in (0.04, 0.2, 1.0):
    print(f"tau {tau:.2f}   shares {path.membership(tau).mean(axis=0).round(6)}")
