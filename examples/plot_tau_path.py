"""
From soft to hard clusters with one knob
========================================

How much doubt should a clustering show? In :class:`lordclust.BLoRD` one number, tau,
decides. At 0 nothing is known and every sample belongs to all clusters alike; at 1
every sample belongs to one. In between the clear samples are decided, while those
between two groups stay in doubt. :func:`lordclust.tau_path` solves all taus in one run.
"""

# %%
# Four groups that overlap
# ------------------------
# Four round Gaussians of different widths, 150 samples each. The path starts soft, and
# the solution for each tau is the start for the next.

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
# Colour and opacity
# ------------------
# The colour is the most probable cluster, the opacity its probability: what could as
# well be elsewhere is pale.

fig, axes = plt.subplots(1, 4, figsize=(11, 3), sharex=True, sharey=True)
for ax, tau in zip(axes, [0.04, 0.08, 0.2, 1.0], strict=True):
    P = path.membership(tau)
    sure = P.max(axis=1)
    ax.scatter(*X.T, s=18, c=[f"C{j}" for j in P.argmax(axis=1)], alpha=sure**1.5)
    ax.set_title(f"tau = {tau:g}")
    ax.set_xlabel(f"{(sure < 0.9).mean():.0%} in doubt")
    ax.set(xticks=[], yticks=[], aspect="equal")

# %%
# One sample makes up its mind
# ----------------------------
# The least decided sample at tau = 0.2 is the lone one at the far right: it is near to
# nothing. The stripes are its four probabilities, in the colours of above.

P = path.membership(0.2)
torn = P.max(axis=1).argmin()
curves = np.array([path.membership(tau)[torn] for tau in taus])

fig, ax = plt.subplots(figsize=(7, 2.8))
ax.stackplot(taus, curves.T, colors=["C0", "C1", "C2", "C3"])
ax.set(xlim=(taus[0], 1), ylim=(0, 1), xlabel="tau", ylabel="probability")
ax.set_title(f"Sample {torn}, at ({X[torn, 0]:.1f}, {X[torn, 1]:.1f})")

# %%
# The shares hold
# ---------------
# However soft, each cluster has exactly a quarter of all probability.

for tau in (0.04, 0.2, 1.0):
    print(f"tau {tau:.2f}   shares {path.membership(tau).mean(axis=0).round(6)}")
