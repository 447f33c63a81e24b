"""
Teams of exactly the sizes you need
===================================

Four crews read the meters of a town. They can visit 80, 64, 56 and 40 houses. Houses
near each other should have the same crew, and no crew may have one house more than it
can visit. ``cluster_sizes`` asks for counts, not for shares, and gets them exactly.
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
# Counts as they come, and as they must be
# ----------------------------------------
# Clusters of these shares have nearly these counts, as the most probable cluster of a
# house is asked for one house at a time. With ``cluster_sizes`` the labels are, of all
# with exactly these counts, those with the largest total probability.

near = BLoRD(4, tau=0.2, proportions=sizes / 240).fit(X)
exact = BLoRD(4, tau=0.2, cluster_sizes=sizes).fit(X)
print("proportions   ", near.sizes_)
print("cluster_sizes ", exact.sizes_)

# %%
# The houses that change hands
# ----------------------------
# Houses at the borders, in rings, go to the next crew. All others keep theirs.

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
# Shares of other kinds
# ---------------------
# ``rounding="exact"`` does the same for proportions: 240 houses for 7 equal crews.

print(BLoRD(7, rounding="exact").fit(X).sizes_)
