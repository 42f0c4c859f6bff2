"""Data of the figures: fits, made once per data set and kept in files, and the paper's example."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from sfumato.files import OutputFolder
from sfumato.memberships import Power
from sfumato.paper.experiment import GRID_METHOD, Cell, sample_of
from sfumato.paper.methods import FUZZIFIER, METHODS

FOLDER = "illustrations"
"""Folder of the kept arrays, inside that of the results."""
METHODS_SHOWN = ("K-Means", "FCM", GRID_METHOD)
"""Hard, dense and sparse memberships, in the order of the paper's figure."""
ACCELERATED, PLAIN = "accelerated", "plain"
"""The two loops: as fitted by default, and alternating steps as in the paper."""
SEED = 0
ROWS = 200
"""Rows whose memberships are kept. Chosen by hand: the height of a small picture in pixels."""
EXAMPLE = (2.4, 3.5, 0.6, 7.8, 1.9)
"""Distances of the paper's example."""
EXAMPLE_ACTIVE = 3
"""How many of them it keeps."""
EXAMPLE_PRINTED = (0.39, 0.33, 0.18)
"""Memberships that the paper gives for it."""
EXAMPLE_FUZZIFIERS = (2.0, FUZZIFIER)
"""One at which three memberships can be seen, and the one of the paper's results."""


class Ranking(NamedTuple):
    """Order of the centers of a row, nearest first, and memberships in that order."""

    order: NDArray[np.intp]
    memberships: NDArray[np.floating]


def rank(distances: ArrayLike, n_active: int, fuzzifier: float) -> Ranking:
    """Sort the distances of a row, keep the nearest, and divide the row among them.

    Parameters
    ----------
    distances : array-like of shape (n_clusters,)
    n_active : int
        How many are kept.
    fuzzifier : float

    Returns
    -------
    Ranking

    Examples
    --------
    >>> from sfumato.paper.illustrations import rank
    >>> order, memberships = rank([2.4, 3.5, 0.6, 7.8, 1.9], n_active=3, fuzzifier=2.0)
    >>> order + 1
    array([3, 5, 1, 2, 4])
    >>> memberships.round(3)
    array([0.639, 0.202, 0.16 , 0.   , 0.   ])
    """
    values = np.asarray(distances, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    memberships = np.zeros_like(values)
    nearest = values[order[:n_active]]
    memberships[:n_active] = Power(n_active, fuzzifier).solve(nearest[np.newaxis])[0][0]
    return Ranking(order, memberships)


@dataclass(frozen=True)
class Illustration:
    """Memberships and objectives of one fit per method.

    Parameters
    ----------
    memberships : dict of str to ndarray of shape (n_shown, n_clusters)
        By method; each row in descending order, the rows by their largest membership.
    curves : dict of str to ndarray of shape (n_iterations, 2)
        By loop: passes over the data so far, and the objective.
    """

    memberships: dict[str, NDArray[np.floating]]
    curves: dict[str, NDArray[np.floating]]


def illustrate(data: str, folder: Path) -> Illustration:
    """Fit the methods of the figures to a data set, or read what an earlier call has kept.

    Arrays are kept in ``<folder>/illustrations/<data>.npz``. A file of another version of the
    library, or one that cannot be read, is replaced.

    Parameters
    ----------
    data : str
        Name of a data set.
    folder : Path
        Folder of the results.

    Returns
    -------
    Illustration

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sfumato.paper.illustrations import illustrate
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fitted = illustrate("digits", Path(folder))
    >>> {name: shown.shape for name, shown in fitted.memberships.items()}
    {'K-Means': (200, 10), 'FCM': (200, 10), 'REFCMFS': (200, 10)}
    """
    name = f"{data}.npz"
    kept = _read(folder / FOLDER / name)
    if kept is None:
        kept = _fit(data)
        writer = partial(_write, kept)
        OutputFolder(folder / FOLDER, (name,), force=True).write({name: writer})
    return kept


def descending(memberships: Any) -> NDArray[np.floating]:
    """Memberships of at most ``ROWS`` rows, evenly spaced from the surest to the least sure.

    Parameters
    ----------
    memberships : ndarray or sparse array of shape (n_rows, n_clusters)

    Returns
    -------
    ndarray of shape (n_shown, n_clusters)
        Each row in descending order.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato.paper.illustrations import descending
    >>> descending(np.array([[0.3, 0.7], [0.9, 0.1]]))
    array([[0.9, 0.1],
           [0.7, 0.3]], dtype=float32)
    """
    dense = memberships.toarray() if sp.issparse(memberships) else np.asarray(memberships)
    ordered = -np.sort(-dense, axis=1)
    ordered = ordered[np.argsort(-ordered[:, 0], kind="stable")]
    shown = np.linspace(0, len(ordered) - 1, min(ROWS, len(ordered))).round().astype(int)
    chosen: NDArray[np.floating] = ordered[shown].astype(np.float32)
    return chosen


def _fit(data: str) -> Illustration:
    """Fit all methods from one seed, and REFCMFS by the plain loop too."""
    sample = sample_of(data)
    task = Cell(data, GRID_METHOD, SEED).task(sample.n_clusters)
    models = {name: METHODS[name].make(task) for name in METHODS_SHOWN}
    plain = clone(models[GRID_METHOD]).set_params(acceleration=None)
    with warnings.catch_warnings():
        # A loop that reaches its last iteration is what the figure is there to show.
        warnings.simplefilter("ignore")
        for model in (*models.values(), plain):
            model.fit(sample.X)
    return Illustration(
        {name: descending(_memberships(model)) for name, model in models.items()},
        {ACCELERATED: _curve(models[GRID_METHOD]), PLAIN: _curve(plain)},
    )


def _memberships(model: Any) -> Any:
    if hasattr(model, "memberships_"):
        return model.memberships_
    return np.eye(model.n_clusters)[model.labels_]


def _curve(model: Any) -> NDArray[np.floating]:
    passes = np.cumsum([record.passes for record in model.history_])
    return np.column_stack([passes, [record.objective for record in model.history_]])


def _setting() -> str:
    return f"sfumato {version('sfumato')}, scikit-learn {version('scikit-learn')}"


def _write(kept: Illustration, path: Path) -> None:
    arrays = {f"memberships {name}": shown for name, shown in kept.memberships.items()}
    arrays |= {f"curve {name}": curve for name, curve in kept.curves.items()}
    np.savez_compressed(path, allow_pickle=False, setting=np.array(_setting()), **arrays)


def _read(path: Path) -> Illustration | None:
    """What a file keeps; None if there is none, or it is of no use."""
    try:
        with path.open("rb") as file, np.load(file) as arrays:
            if str(arrays["setting"]) != _setting():
                return None
            return Illustration(
                {name: arrays[f"memberships {name}"] for name in METHODS_SHOWN},
                {name: arrays[f"curve {name}"] for name in (ACCELERATED, PLAIN)},
            )
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return None
