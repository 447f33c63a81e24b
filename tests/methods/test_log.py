"""A fit tells what it does, in a few lines of the log."""

import logging

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from lordclust import BLoRD
from lordclust.methods import BalancedKMeans
from models import MODELS

X, _ = make_blobs(80, centers=3, n_features=4, cluster_std=3.0, random_state=0)


@MODELS
def test_one_line_at_info(Model, caplog):
    caplog.set_level(logging.INFO, "lordclust")
    model = Model(3).fit(X)
    (line,) = (one for one in caplog.records if one.name == "lordclust.fit")
    assert f"80 samples in clusters of {model.sizes_.tolist()}" in line.getMessage()


def test_other_methods_log_each_start(caplog):
    caplog.set_level(logging.DEBUG, "lordclust")
    model = BalancedKMeans(3, n_init=4, random_state=0).fit(X)
    *starts, line = (one.getMessage() for one in caplog.records)
    assert len(starts) == 4
    assert starts[1] == f"start 2: objective {model.all_objectives_[1]:.6g}"
    assert "BalancedKMeans: 80 samples in clusters of [27, 27, 26]" in line


def test_each_stage_at_debug(caplog):
    caplog.set_level(logging.DEBUG, "lordclust")
    BLoRD(3).fit(X)
    records = [one for one in caplog.records if one.name == "lordclust.fit"]
    stages = [one.getMessage().partition(":")[0] for one in records]
    wanted = ["graph", "eigenvectors", "seeds", "choice", "calibration", "BLoRD"]
    assert stages == wanted


@pytest.mark.parametrize("level", [logging.INFO, logging.DEBUG])
def test_separate_clusters(caplog, level):
    caplog.set_level(level, "lordclust")
    BLoRD(2, affinity="precomputed").fit(np.kron(np.eye(2), np.ones((8, 8))))
    told = "clusters of the cut are separate" in caplog.text
    assert told == (level == logging.DEBUG)
