"""
How many clusters?
==================

:func:`lordclust.suggest_k` clusters the same graph many times, each time with other
random weights on its edges, and asks which number of clusters leads to the same
partition again and again. Here it looks at handwritten digits, and does not know that
there are ten kinds.
"""

# %%
# Try 2 to 14
# -----------
# ``affinity="knn"`` makes the graph of nearest neighbours from the images. The score is
# the stability of the partitions plus the gap between eigenvalues of the graph.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from lordclust import BLoRD, suggest_k

X = load_digits().data[:600]
suggestion = suggest_k(X, range(2, 15), affinity="knn", n_paths=4)
print(suggestion)

# %%
# A peak that stands out means more than a high plateau.

suggestion.plot()

# %%
# What a wrong number does
# ------------------------
# The mean image of each cluster. With seven, some mix two digits. With ten, each is one
# digit. With thirteen, some digits come twice, in two hands.

ks = (7, 10, 13)
fig, axes = plt.subplots(len(ks), max(ks), figsize=(10.5, 2.9))
for row, k in zip(axes, ks, strict=True):
    labels = BLoRD(k).fit_predict(X)
    for ax in row:
        ax.axis("off")
    for j in range(k):
        row[j].imshow(X[labels == j].mean(axis=0).reshape(8, 8), cmap="Greys")
    row[0].set_title(f"{k} clusters", size=10)
