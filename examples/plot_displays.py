"""
Plots of a clustering
=====================

All display classes of :mod:`lordclust.plots`, on handwritten digits. They follow the
API of scikit-learn's displays: ``from_estimator`` draws into the axes ``ax``.
"""

# %%
# Samples
# -------
# Colour shows the cluster, opacity its probability: faint samples are doubtful. Without
# ``X`` the layout follows the graph; with it, the principal components.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from lordclust import BLoRD, tau_path
from lordclust.plots import (
    BlocksDisplay,
    ConvergenceDisplay,
    MembershipDisplay,
    PathDisplay,
    SelectionDisplay,
    SizesDisplay,
)

X, y = load_digits(return_X_y=True)
model = BLoRD(10).fit(X)

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8))
MembershipDisplay.from_estimator(model, ax=left)
MembershipDisplay.from_estimator(model, X, ax=right)
right.set_title("The same, by principal components")
_ = left.set_title("Digits, laid out by their graph")

# %%
# Blocks and sizes
# ----------------
# The probability that two samples share a cluster, from 0 (white) to 1, ordered by
# cluster. Doubtful samples form the pale margins of the blocks. The sizes were found
# without labels.

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), width_ratios=[1, 1.3])
BlocksDisplay.from_estimator(model, ax=left)
_ = SizesDisplay.from_estimator(model, ax=right)

# %%
# Along tau
# ---------
# With ``keep="all"`` a path stores every membership, so that its blocks can be drawn.

path = tau_path(model.affinity_matrix_, 10, keep="all")
PathDisplay.from_path(path, y)

fig, axes = plt.subplots(1, 4, figsize=(11, 3.2))
for ax, tau in zip(axes, (0.06, 0.12, 0.3, 1.0), strict=True):
    display = BlocksDisplay.from_path(path, tau, max_samples=300, ax=ax)
    ax.set(title=f"tau = {path.taus[path.at(tau)]:.2f}", xlabel="", ylabel="")

# %%
# Selection and convergence
# -------------------------
# Left, for four digits in very uneven numbers: the evidence for each candidate. Right:
# the descent to equal shares from a random start.

counts = {0: 170, 2: 120, 3: 40, 4: 80}
few = np.concatenate([np.flatnonzero(y == digit)[:n] for digit, n in counts.items()])
auto = BLoRD(4).fit(X[few])
once = BLoRD(
    4, tau=0.3, proportions="equal", start="random", n_init=1, random_state=0
).fit(X[few])

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8))
SelectionDisplay.from_estimator(auto, ax=left)
_ = ConvergenceDisplay.from_estimator(once, ax=right)
