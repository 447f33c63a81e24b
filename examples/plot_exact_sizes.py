"""
Teams of exactly the sizes you need
===================================

Four crews read the meters of a town. They can visit 80, 64, 56 and 40 houses. Nearby
houses should have the same crew, and no crew may get more houses than it can visit.
``cluster_sizes`` specifies exact counts instead of shares.
"""

# %%
# 240 houses
# ----------

import matplotlib.pyplot as plt
import numpy as np

from lordclust import BLoRD

sizes = np.array([80, 64, 56, 40])
X = np.random.default_rng(0).uniform(0, [1.5, 1], (240, 2))

# %%
# Approximate and exact counts
# ----------------------------
# With ``rounding="argmax"`` each house gets its most probable crew, so the counts are
# approximate. With ``cluster_sizes`` the result is, of all labellings with exactly
# these counts, the one with the largest total probability.

near = BLoRD(4, tau=0.2, proportions=sizes / 240, rounding="argmax").fit(X)
exact = BLoRD(4, tau=0.2, cluster_sizes=sizes).fit(X)
print("most probable ", near.sizes_)
print("cluster_sizes ", exact.sizes_)

# %%
# Which houses change
# -------------------
# Some houses at the borders, marked by rings, get another crew. All others keep theirs.

moved = near.labels_ != exact.labels_
fig, axes = plt.subplots(1, 2, figsize=(10, 3.9), sharex=True, sharey=True)
for ax, model in zip(axes, [near, exact], strict=True):
    ax.scatter(*X.T, s=34, c=[f"C{j}" for j in model.labels_])
    ax.scatter(*X[moved].T, s=130, facecolor="none", edgecolor="0.2")
    ax.set(xticks=[], yticks=[], aspect="equal")
    ax.set_xlabel("houses: " + ", ".join(map(str, model.sizes_)))
axes[0].set_title("most probable crew")
axes[1].set_title("cluster_sizes=[80, 64, 56, 40]")

# %%
# Equal groups
# ------------
# Given proportions are also met exactly: 240 houses for 7 equal crews.

print(BLoRD(7, proportions="equal").fit(X).sizes_)
