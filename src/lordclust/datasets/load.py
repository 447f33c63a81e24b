"""Load a data set by name from a folder, scikit-learn or OpenML."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lordclust._core.typing import FloatArray, IntArray
from lordclust._core.validation import unknown_name
from lordclust.datasets.catalog import CATALOG, Entry
from lordclust.datasets.synthetic import MIXTURES, four_gaussians
from lordclust.files.arrays import read_arrays

#: Environment variable that names the folder of NAME.npz files.
FOLDER_VARIABLE = "LORDCLUST_DATA"
#: Seconds without a response after which a download fails.
TIMEOUT = 20.0

Arrays = tuple[FloatArray, IntArray]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples, their classes, and how the paper prepares them.

    It unpacks as ``X, y = load("digits")``.

    Parameters
    ----------
    X : ndarray, shape (n, d)
        As published, not scaled.
    y : ndarray of int, shape (n,)
        Classes, numbered from 0.
    name, title : str
    n_clusters : int
        Number of classes.
    preparation : {"raw", "minmax", "colmax"}
        How the paper scales the features.

    Examples
    --------
    >>> load("iris").n_clusters
    3
    """

    X: FloatArray
    y: IntArray
    name: str
    title: str
    n_clusters: int
    preparation: str

    def __iter__(self) -> Iterator[Any]:
        yield self.X
        yield self.y

    def prepared(self) -> FloatArray:
        """Return X scaled as in the paper.

        The paper does not state how it scales its data sets. These scalings give the
        scores that it prints for a deterministic method (see "The data sets of the
        paper" on the page of errata).

        Returns
        -------
        X : ndarray, shape (n, d)
            X itself ("raw"), each feature scaled to [0, 1] ("minmax"), or each
            feature divided by its maximum ("colmax").

        Examples
        --------
        >>> load("wine").prepared().max(axis=0).tolist()[:2]
        [1.0, 1.0]
        """
        if self.preparation == "raw":
            return self.X
        X = self.X.astype(np.float64)
        if self.preparation == "minmax":
            X -= X.min(axis=0)
        top = X.max(axis=0)
        return np.asarray(X / np.where(top > 0, top, 1.0))


def load(name: str) -> Dataset:
    """Return the data set with this name.

    The paper's data sets are read from ``NAME.npz`` (arrays X and y) in the folder
    that the environment variable ``LORDCLUST_DATA`` names. Without it they are taken
    from scikit-learn or downloaded from OpenML if these have the same data; classes
    may then be numbered in another order.

    Parameters
    ----------
    name : str
        One of :func:`list_datasets`.

    Returns
    -------
    dataset : Dataset

    Examples
    --------
    >>> X, y = load("digits")
    >>> X.shape
    (1797, 64)
    """
    if name not in CATALOG:
        raise unknown_name("data set", name, CATALOG)
    entry = CATALOG[name]
    X, y = _arrays(entry)
    k = len(np.unique(y))
    return Dataset(X, y, entry.name, entry.title, k, entry.preparation)


def list_datasets() -> list[str]:
    """Return the names of all data sets that ``load`` accepts.

    Examples
    --------
    >>> "digits" in list_datasets()
    True
    """
    return list(CATALOG)


def _arrays(entry: Entry) -> Arrays:
    """Return X and y from the first source that has them."""
    for source in entry.sources:
        kind, _, detail = source.partition(":")
        found = SOURCES[kind](entry, detail)
        if found is not None:
            return found
    raise _missing(entry.name)


def _missing(name: str, reason: str = "") -> FileNotFoundError:
    """Return the error that explains how to get a data set."""
    folder = os.environ.get(FOLDER_VARIABLE)
    state = f"{folder} does not contain it" if folder else "it is not set"
    connect = f", or connect to the network ({reason})" if reason else ""
    return FileNotFoundError(
        f"Data set {name!r} was not found. Set {FOLDER_VARIABLE} to a folder that "
        f"holds {name}.npz with arrays X and y ({state}){connect}."
    )


def _from_folder(entry: Entry, _: str) -> Arrays | None:
    """Read NAME.npz from the folder, if there is one."""
    folder = os.environ.get(FOLDER_VARIABLE)
    path = Path(folder).expanduser() / f"{entry.name}.npz" if folder else None
    if path is None or not path.is_file():
        return None
    try:
        X, y = read_arrays(str(path), "X", "y")
    except Exception as error:  # a damaged file fails in many ways
        reason = str(error).rstrip(".")
        raise ValueError(
            f"{path} must be an .npz file with plain arrays X and y, but reading it "
            f"failed: {reason}. Write it with numpy.savez(path, X=X, y=y)."
        ) from error
    return _checked(X, y, str(path))


def _checked(X: FloatArray, y: NDArray[np.generic], where: str) -> Arrays:
    """Return X of shape (n, d) and y as classes from 0."""
    if X.ndim < 2 or y.shape != X.shape[:1] or len(y) == 0:
        raise ValueError(
            f"{where} must hold n samples X and n labels y, got shapes {X.shape} and "
            f"{y.shape}. Store one row and one label per sample."
        )
    classes = np.unique(y, return_inverse=True)[1].ravel()
    return X.reshape(len(X), -1), classes


def _from_sklearn(entry: Entry, _: str) -> Arrays:
    """Return a data set that is part of scikit-learn."""
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{entry.name}")(return_X_y=True)
    return X, y


def _from_part(entry: Entry, parent: str) -> Arrays:
    """Return a part of another data set."""
    try:
        X, y = _arrays(CATALOG[parent])
    except FileNotFoundError as error:
        raise _missing(entry.name, f"it is a part of {parent}") from error
    if entry.name == "usps1000":  # the first 100 of each class, in the order of y
        firsts = [np.flatnonzero(y == label)[:100] for label in np.unique(y)]
        rows = np.sort(np.concatenate(firsts))
    else:
        rows = np.arange(entry.n)
    return X[rows], y[rows]


def _from_openml(entry: Entry, data_id: str) -> Arrays:
    """Download from OpenML; scikit-learn keeps a copy for the next time."""
    from sklearn.datasets import fetch_openml

    parser = "pandas" if find_spec("pandas") else "liac-arff"
    try:
        with _timeout(TIMEOUT):
            X, y = fetch_openml(
                data_id=int(data_id),
                return_X_y=True,
                as_frame=False,
                parser=parser,
                n_retries=1,
            )
    except (OSError, HTTPException, ValueError) as error:
        raise _missing(entry.name, f"OpenML: {error}") from error
    X, y = _checked(np.asarray(X), np.asarray(y), f"OpenML data set {data_id}")
    found, expected = (*X.shape, int(y.max()) + 1), (entry.n, entry.d, entry.k)
    if found != expected:
        raise ValueError(
            f"OpenML data set {data_id} must have {expected} samples, features and "
            f"classes to be {entry.name!r}, got {found}. Set {FOLDER_VARIABLE} to a "
            f"folder that holds {entry.name}.npz."
        )
    if entry.name == "usps" and X.min() < 0:
        X = (X + 1.0) / 2.0  # grey levels from [-1, 1] to [0, 1]
    return X, y


@contextmanager
def _timeout(seconds: float) -> Iterator[None]:
    """Set a timeout for responses, an option that scikit-learn's fetchers lack."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


#: The functions that return the arrays of a catalog entry, by kind of source.
SOURCES: dict[str, Callable[[Entry, str], Arrays | None]] = {
    "folder": _from_folder,
    "sklearn": _from_sklearn,
    "openml": _from_openml,
    "part-of": _from_part,
    "synthetic": lambda entry, _: four_gaussians(MIXTURES[entry.name], random_state=0),
}
