"""Samples that are hard on arithmetic, a dozen or two each."""

import numpy as np
from sklearn.datasets import make_blobs

N = 18
BLOBS, TRUTH = make_blobs(
    [6, 6, 6], centers=[[0, 0], [9, 0], [0, 9]], cluster_std=0.7, random_state=3
)
RNG = np.random.default_rng(0)
SIX = np.repeat(BLOBS[::3], 3, axis=0)
OUTLIER = BLOBS.copy()
OUTLIER[0] *= 1e150

SAMPLES = {
    **{f"scale 1e{e}": BLOBS * 10.0**e for e in (-150, -100, 100, 150)},
    "copies": SIX,
    "near copies": SIX * (1 + 1e-15 * RNG.standard_normal(SIX.shape)),
    "near copies, 1e-8": SIX * (1 + 1e-8 * RNG.standard_normal(SIX.shape)),
    "two places": np.repeat([[0.0, 0.0], [1.0, 1.0]], N // 2, axis=0),
    "far from 0": 1e8 + 1e-3 * BLOBS,
    "features of two scales": BLOBS * [1e-150, 1e150],
    "an outlier": OUTLIER,
    "one feature": BLOBS[:, :1],
    "a grid in 1-D": np.arange(N, dtype=float)[:, None],
    "float32": BLOBS.astype(np.float32),
    "large float32": (1e30 * BLOBS).astype(np.float32),
    "whole numbers": BLOBS.round().astype(int),
}
