"""
How certain is a clustering?
============================

A label does not show how clear the assignment is. Here 1797 handwritten digits are
clustered without their classes. Then the model reports which images are doubtful, which
clusters are hard to separate, and whether other solution paths agree.
"""

# %%
# Clusters of digits
# ------------------
# The probabilities are calibrated without labels. The classes only serve to name the
# clusters, each by its most frequent digit.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from lordclust import BLoRD

digits = load_digits()
model = BLoRD(10).fit(digits.data)
name = np.array(
    [np.bincount(digits.target[model.labels_ == j]).argmax() for j in range(10)]
)
right = name[model.labels_] == digits.target

# %%
# Doubtful images
# ---------------
# ``uncertainty_`` is the normalised entropy of a sample's probabilities, from 0
# (certain) to 1 (all equal). These are the twelve most doubtful images, with their
# three most probable digits.

doubtful = np.argsort(-model.uncertainty_)[:12]
fig, axes = plt.subplots(2, 12, figsize=(11, 2.6), height_ratios=[1.5, 1])
for (image, bars), i in zip(axes.T, doubtful, strict=True):
    image.imshow(digits.images[i], cmap="Greys")
    image.set_title(f"{model.uncertainty_[i]:.2f}", loc="center", size=9)
    image.axis("off")
    top = np.argsort(-model.membership_[i])[:3]
    bars.bar(range(3), model.membership_[i, top], color=["C0", "C5", "0.75"])
    bars.set_xticks(range(3), name[top])
    bars.set(ylim=(0, 0.7), yticks=[])
    bars.tick_params(length=0)
axes[1, 0].set_ylabel("probability")

# %%
# Similar clusters
# ----------------
# ``confusable_pairs`` lists the pairs of clusters that share the most probability, and
# the most doubtful samples between the two.

pairs = model.confusable_pairs(5, n_samples=6)
fig, axes = plt.subplots(5, 7, figsize=(6.6, 5.2), width_ratios=[2.4, *[1] * 6])
for row, pair in zip(axes, pairs, strict=True):
    for ax in row:
        ax.axis("off")
    text = f"{name[pair.a]} or {name[pair.b]}"
    row[0].text(0, 0.58, text, size=13, weight="bold", va="center")
    row[0].text(0, 0.22, f"{pair.share:.1%} shared", size=9, va="center")
    for ax, i in zip(row[1:], pair.samples, strict=True):
        ax.imshow(digits.images[i], cmap="Greys")

# %%
# Is the uncertainty informative?
# -------------------------------
# Yes: the more certain the model is, the more often it is correct. If a person handles
# the most doubtful images, the others have fewer errors. The curve begins with the
# most certain tenth of the images.

order = np.argsort(model.uncertainty_, kind="stable")
kept = np.arange(1, len(order) + 1)
errors = np.cumsum(~right[order]) / kept
sure = len(order) // 10

fig, ax = plt.subplots(figsize=(6.4, 3))
ax.plot(kept[sure - 1 :] / len(order), errors[sure - 1 :])
ax.xaxis.set_major_formatter("{x:.0%}")
ax.yaxis.set_major_formatter("{x:.1%}")
ax.set(xlabel="images kept, most certain first", ylabel="in a wrong cluster", ylim=0)

# %%
# Do other paths agree?
# ---------------------
# ``agreement`` solves B-LoRD for the same shares along other paths. Samples on which
# all paths agree are less often wrong.

agreement = model.agreement(3)
agreed = agreement.share == 1
print(agreement)
print(f"errors where all agree {1 - right[agreed].mean():.1%}")
print(f"errors elsewhere       {1 - right[~agreed].mean():.1%}")
