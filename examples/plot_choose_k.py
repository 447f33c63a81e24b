"""
How many clusters?
==================

:func:`lordclust.suggest_k` compares numbers of clusters: how far the graph separates
into k parts, and how well k clusters describe the features. Here it is applied to
handwritten digits, without their classes.
"""

# %%
# Try 2 to 14
# -----------
# ``affinity="knn"`` builds the nearest-neighbour graph of the images. The score is the
# sum of a gap of its eigenvalues, the separation of the clusters, and their fit.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from lordclust import BLoRD, suggest_k

X = load_digits().data[:600]
suggestion = suggest_k(X, range(2, 15))
print(suggestion)

# %%
# A distinct peak is more convincing than a high plateau.

suggestion.plot()

# %%
# The effect of a wrong number
# ----------------------------
# The mean image of each cluster: with seven clusters, some mix two digits; with ten,
# each is one digit; with thirteen, some digits appear twice, in two styles of writing.

ks = (7, 10, 13)
fig, axes = plt.subplots(len(ks), max(ks), figsize=(10.5, 2.9))
for row, k in zip(axes, ks, strict=True):
    labels = BLoRD(k).fit_predict(X)
    for ax in row:
        ax.axis("off")
    for j in range(k):
        row[j].imshow(X[labels == j].mean(axis=0).reshape(8, 8), cmap="Greys")
    row[0].set_title(f"{k} clusters", size=10)
