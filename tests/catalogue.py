"""Every part, storage, precision and engine that the laws are tested over, and data to do it on.

A part that enters the registry without an entry here fails ``test_catalogue.py``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato import (
    L21,
    Capped,
    FuzzyClustering,
    Hard,
    Power,
    Simplex,
    Squared,
    losses,
    memberships,
)
from sfumato import _engines as engines
from sfumato._data import Data
from sfumato._engines.base import Engine
from sfumato._problem import Problem
from sfumato._solvers.descent import Solution, Stopping, StopReason, solve
from sfumato._validation import check_fit_data
from sfumato.losses import Loss
from sfumato.memberships import Membership

Floats = NDArray[np.floating]

N_CLUSTERS = 5
"""Number of clusters that the membership rules of the catalogue are made for."""
CAP = 2.0
"""Between the distances within a cluster of ``blobs`` and those between clusters."""
FUZZIFIERS = (1.01, 1.1, 1.5, 2.0, 5.0)
DTYPES = (np.float64, np.float32)
ENGINES = [name for name in engines.ENGINES if name != "auto"]

LOSSES: dict[type[Loss], tuple[Loss, ...]] = {
    Squared: (Squared(),),
    L21: (L21(),),
    Capped: (Capped(CAP), Capped(np.inf)),
}
MEMBERSHIPS: dict[type[Membership], tuple[Membership, ...]] = {
    Hard: (Hard(),),
    Power: (
        Power(1, 1.1),
        Power(2, 1.01),
        Power(2, 2.0),
        Power(3, 1.5),
        Power(3, 5.0),
        Power(N_CLUSTERS, 2.0),
    ),
    Simplex: (
        Simplex(gamma=0.05),
        Simplex(gamma=5.0),
        Simplex(n_active=1),
        Simplex(n_active=2),
        Simplex(n_active=N_CLUSTERS),
    ),
}
EVERY_POWER = [Power(n, r) for n, r in product((1, 2, 3, N_CLUSTERS), FUZZIFIERS)]


def data_file(name: str) -> Path:
    """File of one of the paper's data sets; the test is skipped where there is none.

    They are not part of the repository: the environment variable SFUMATO_DATA names their folder.
    """
    folder = os.environ.get("SFUMATO_DATA")
    if not folder:
        pytest.skip("SFUMATO_DATA is not set: no folder of the paper's data sets")
    file = Path(folder) / f"{name}.npz"
    if not file.exists():
        pytest.skip(f"{file.name} is not in the folder that SFUMATO_DATA names")
    return file


def label(part: Any) -> str:
    """Short name of a part for the report: ``Power-2-1.1``."""
    values = [f"{v}" for v in part.get_params().values() if v is not None]
    names = [n for n, v in part.get_params().items() if v is not None] if len(values) == 1 else []
    return "-".join([type(part).__name__, *names, *values])


def entries(catalogue: dict[type, tuple[Any, ...]], known: dict[str, type]) -> list[Any]:
    """Catalogue entries of all registered classes, in the registry's order."""
    return [part for cls in known.values() for part in catalogue.get(cls, ())]


EVERY_LOSS: list[Loss] = entries(LOSSES, losses.LOSSES)
EVERY_MEMBERSHIP: list[Membership] = entries(MEMBERSHIPS, memberships.MEMBERSHIPS)


def minimizes(rule: Membership) -> bool:
    """Whether a fit with this rule minimizes one function, so that the objective cannot rise.

    ``Simplex(n_active)`` gives each row a gamma that changes with the centers.
    """
    return not (isinstance(rule, Simplex) and rule.n_active is not None)


whatever_results = pytest.mark.filterwarnings("ignore::sfumato.exceptions.ClusteringWarning")
"""For tests with any parts, also those whose clusters collapse or whose centers coincide."""
needs_callbacks = pytest.mark.skipif(
    find_spec("sklearn.callback") is None, reason="scikit-learn has callbacks since 1.9"
)
MINIMIZING = [rule for rule in EVERY_MEMBERSHIP if minimizes(rule)]


def each(name: str, values: Iterable[Any], ids: Callable[[Any], str] = label) -> Any:
    """Parametrize a test over the values, named in the report."""
    return pytest.mark.parametrize(name, values, ids=ids)


every_loss = each("loss", EVERY_LOSS)
# With an infinite cap every bit is that of L21 (agreement/test_oracles.py): once is enough.
every_distinct_loss = each(
    "loss", [loss for loss in EVERY_LOSS if getattr(loss, "cap", 0) < np.inf]
)
every_membership = each("membership", EVERY_MEMBERSHIP)
every_minimizing_membership = each("membership", MINIMIZING)
every_engine = each("engine_name", ENGINES, ids=str)
every_setting = each(
    "setting",
    # The reference computes in double whatever the data.
    [(e, d) for e, d in product(ENGINES, DTYPES) if (e, d) != ("reference", np.float32)],
    ids=lambda setting: f"{setting[0]}-{setting[1].__name__}",
)
"""Engine and precision."""
every_dtype = each("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)


# Storages: each makes the given values, cast to a dtype, into what a user might pass.


def strided(X: NDArray[Any]) -> NDArray[Any]:
    """View of every second row and third column, backwards, of an array full of other values."""
    padded = np.full((2 * len(X), 3 * X.shape[1]), 77, dtype=X.dtype)
    view = padded[::-2, ::-3]
    view[...] = X
    return view


def read_only(X: NDArray[Any]) -> NDArray[Any]:
    """Array that must not be written to."""
    frozen = np.ascontiguousarray(X).copy()
    frozen.setflags(write=False)
    return frozen


def csr(X: NDArray[Any], index_dtype: type = np.int32) -> sp.csr_array:
    """CSR array with indices of the given type."""
    rows = sp.csr_array(X)
    rows.indices = rows.indices.astype(index_dtype)
    rows.indptr = rows.indptr.astype(index_dtype)
    return rows


DENSE_STORAGES: dict[str, Callable[[NDArray[Any]], Any]] = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": strided,
    "read-only": read_only,
}
SPARSE_STORAGES: dict[str, Callable[[NDArray[Any]], Any]] = {
    "csr32": lambda X: csr(X, np.int32),
    "csr64": lambda X: csr(X, np.int64),
}
STORAGES = DENSE_STORAGES | SPARSE_STORAGES
USER_STORAGES = STORAGES | {"csc": sp.csc_array}
INTEGER_DTYPES = (np.uint8, np.int16, np.int32, np.int64, np.bool_)


# Data.


def blobs(
    n_rows: int = 60, n_features: int = 3, n_clusters: int = N_CLUSTERS, seed: int = 0
) -> Floats:
    """Gaussian clusters of width 1, about 6 apart in any direction, in shuffled order."""
    rng = np.random.default_rng(seed)
    middles = rng.uniform(-6, 6, size=(n_clusters, n_features))
    return middles[rng.integers(n_clusters, size=n_rows)] + rng.normal(size=(n_rows, n_features))


def sparse_blobs(n_rows: int = 60, n_features: int = 6, seed: int = 0) -> Floats:
    """Blobs with about half of all values zero, as a dense array."""
    rng = np.random.default_rng(seed)
    X = blobs(n_rows, n_features, seed=seed)
    X[rng.random(X.shape) < 0.5] = 0
    return X


def sparse_rows(shape: tuple[int, int], density: float, seed: int = 0) -> sp.csr_array:
    """Uniform numbers in a share of the places, and zeros. SciPy before 1.15 has another API."""
    rng = np.random.default_rng(seed)
    return sp.csr_array(rng.random(shape) * (rng.random(shape) < density))


def row_weights(n_rows: int, seed: int = 0) -> Floats:
    """Positive weights of varied size."""
    return np.random.default_rng(seed).uniform(0.2, 3, size=n_rows)


def start_near(X: Floats, n_clusters: int = N_CLUSTERS, seed: int = 0) -> Floats:
    """Centers near distinct rows, and on none."""
    rng = np.random.default_rng(seed)
    rows = np.unique(X, axis=0)
    chosen = rows[rng.choice(len(rows), n_clusters, replace=False)]
    return chosen + 0.3 * rng.normal(size=chosen.shape)


def start_on(X: Floats, n_clusters: int = N_CLUSTERS, seed: int = 0) -> Floats:
    """Centers on distinct rows."""
    rows = np.unique(X, axis=0)
    return rows[np.random.default_rng(seed).choice(len(rows), n_clusters, replace=False)]


# From parts and data to engines and solutions.


def checked(X: Any, weights: Any = None) -> Data:
    """Data as an estimator would hand them to an engine."""
    return check_fit_data(FuzzyClustering(), X, weights)


def make_engine(
    name: str,
    X: Any,
    loss: Loss,
    membership: Membership,
    weights: Any = None,
    n_threads: int = 1,
) -> Engine:
    """Engine of that name for the given parts and data."""
    return engines.ENGINES[name](checked(X, weights), Problem(loss, membership), n_threads)


def iterate(n_iterations: int) -> Callable[..., StopReason | None]:
    """Stopping rule that runs so many iterations, whatever the objective does."""

    def stopping(objectives: list[float], repaired: bool) -> StopReason | None:
        return StopReason.OUT_OF_ITERATIONS if len(objectives) >= n_iterations else None

    return stopping


def settle(engine: Engine, start: Floats, tol: float = 1e-13, max_iter: int = 3000) -> Solution:
    """Solution of a loop that runs until it really stands still."""
    return solve(engine, start, Stopping(max_iter=max_iter, tol=tol))


def scaled(part: Any, scale: float, degree: int) -> Any:
    """Part whose parameters are in units that are ``scale`` times smaller."""
    if isinstance(part, Capped):
        return Capped(part.cap * scale)
    if isinstance(part, Simplex) and part.gamma is not None:
        return Simplex(gamma=part.gamma * scale**degree)
    return part


def rounding(dtype: Any, steps: float = 16) -> float:
    """So many units in the last place, relative to one."""
    return steps * float(np.finfo(dtype).eps)
