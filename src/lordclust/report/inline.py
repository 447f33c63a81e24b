"""The report as an object that notebooks display."""

from __future__ import annotations

import os
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from lordclust._core.typing import ArrayLike
from lordclust.files.atomic import check_target
from lordclust.methods.layers import Layers
from lordclust.report.build import report_html, save_html
from lordclust.result import TauPath
from lordclust.solver.tau_path import tau_path

#: Taus of the slider; there is no slider above this many probabilities (n times k),
#: because every tau stores all of them.
TAUS = tuple(i / 20 for i in range(1, 21))
SLIDER_UP_TO = 2_000_000
#: Height of the page in a notebook.
HEIGHT = "820px"


class Report:
    """A page about a fitted model, from :meth:`lordclust.BLoRD.report`.

    Notebooks display it, with its slider for tau, or for the number of nested clusters
    (``layers(X).report()``); ``save`` writes it to a file.

    Parameters
    ----------
    html : str
        The page: it is complete, and works offline.

    Examples
    --------
    >>> from lordclust import BLoRD
    >>> BLoRD(2).fit([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]]).report()
    <Report: display it in a notebook, or write it with save("report.html")>
    """

    def __init__(self, html: str) -> None:
        self.html = html

    @classmethod
    def of(cls, model: Any, **options: Any) -> Report:
        """Return the report of a fitted model, or of nested clusters.

        Options are those of ``write_report``.
        """
        fitted = model.model if isinstance(model, Layers) else model
        path = None
        if fitted is model:
            known = model._problem.omega.known if hasattr(model, "_problem") else None
            path = path_around(model, known)
        X = fitted._described()
        described = options.pop("X", X)
        names = getattr(described, "columns", None)
        if names is None:
            names = fitted._described_names()
        # On the map all columns count alike, whatever their units.
        X = fitted._samples if fitted._has_metric("gower") else X
        given = {"S": None, "names": names, "described": described, **options}
        return cls(report_html(model, path, X, **given))

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the page to a file, and return its path.

        Parameters
        ----------
        path : str or path-like
            The file, for example ``"report.html"``.
        force : bool, default=False
            Replace an existing file.

        Returns
        -------
        path : Path
        """
        check_target(Path(path), force)
        return save_html(self.html, path, force)

    def __repr__(self) -> str:
        return (
            '<Report: display it in a notebook, or write it with save("report.html")>'
        )

    def _repr_html_(self) -> str:
        """Return the page in a frame of its own, apart from the notebook's styles."""
        style = f"width: 100%; height: {HEIGHT}; border: 1px solid #ddd"
        return f'<iframe srcdoc="{escape(self.html)}" style="{style}"></iframe>'


def has_slider(model: Any) -> bool:
    """Return whether the report of a model has a slider for tau."""
    if not hasattr(model, "tau_") or not hasattr(model, "affinity_matrix_"):
        return False
    return is_small(model) and bool(model.proportions_.min() > 0)


def is_small(model: Any) -> bool:
    """Return whether a model has few enough probabilities for a slider."""
    return len(model.labels_) * len(model.sizes_) <= SLIDER_UP_TO


def path_around(
    model: Any,
    known_labels: ArrayLike | None = None,
    callback: Callable[[float], bool] | None = None,
) -> TauPath | None:
    """Return the path in tau for the model's shares, or None if it has no path."""
    if not has_slider(model):
        return None
    return tau_path(
        model.affinity_matrix_,
        len(model.proportions_),
        taus=TAUS,
        proportions=model.proportions_,
        sample_weight=getattr(model, "_weight", None),
        known_labels=known_labels,
        keep="all",
        n_jobs=model.n_jobs,
        callback=callback,
    )
