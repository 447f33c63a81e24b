"""Digests of fits of all kinds: equal digests mean equal bits.

As a script it prints them as JSON, for a process with other settings:
``python tests/digests.py N_JOBS``.
"""

import json
import sys
import warnings
from hashlib import sha256

import numpy as np
from sklearn.datasets import make_blobs

from lordclust import BLoRD, LoRD, list_methods, make_method, tau_path
from lordclust.graph import KNNGraph, self_tuning_kernel
from models import PAPER

SMALL, _ = make_blobs(90, 4, centers=4, cluster_std=2.0, random_state=1)
LARGE, _ = make_blobs(2600, 3, centers=5, cluster_std=1.5, random_state=0)


def of(*arrays):
    """Return a digest of arrays, types and shapes included."""
    digest = sha256()
    for array in arrays:
        array = np.ascontiguousarray(array)
        digest.update(f"{array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()[:16]


def of_model(model):
    """Return a digest of what a fit left."""
    return of(model.V_, model.membership_, model.labels_, model.history_)


def fits(n_jobs=None):
    """Yield names and digests: both solvers, graphs, paths, and choices."""
    yield (
        "B-LoRD",
        of_model(PAPER(4, tau=0.3, n_jobs=n_jobs).fit(SMALL)),
    )
    yield "LoRD", of_model(LoRD(4, n_jobs=n_jobs).fit(SMALL))
    large = PAPER(5, tau=0.3, tol=1e-3, n_jobs=n_jobs)
    yield "B-LoRD, 2600", of_model(large.fit(LARGE))
    starts = {"start": "random", "n_init": 4, "random_state": 0, "tol": 1e-2}
    yield "starts", of_model(PAPER(4, n_jobs=n_jobs, **starts).fit(SMALL))
    auto = BLoRD(4, tau="auto", proportions="auto", n_jobs=n_jobs)
    yield "auto", of_model(auto.fit(SMALL))
    kernel = self_tuning_kernel(SMALL)
    dense = PAPER(4, tau=0.4, affinity="precomputed", n_jobs=n_jobs)
    yield "dense S", of_model(dense.fit(kernel))
    S = KNNGraph(n_jobs=n_jobs).build(SMALL)
    yield "graph", of(S.indptr, S.indices, S.data)
    path = tau_path(S, 4, n_jobs=n_jobs)
    yield "path", of(path.taus, path.objectives, path.labels)


def quick(name):
    """Return a method that ends soon: how far it gets is not the matter."""
    model = make_method(name, n_clusters=3)
    wanted = {"random_state": 0, "max_iter": 30, "n_init": 2}
    known = model.get_params()
    return model.set_params(**{n: v for n, v in wanted.items() if n in known})


def method_labels():
    """Yield the labels of every method of the registry on the small data."""
    for name in list_methods():
        yield f"labels of {name}", of(quick(name).fit(SMALL[:30]).labels_)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    jobs = int(sys.argv[1])
    print(json.dumps(dict(fits(jobs)) | dict(method_labels())))
