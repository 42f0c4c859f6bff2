"""Fits that are interrupted after so many passes, and what must be the same afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import clone

from sfumato._engines.native import NativeEngine
from sfumato._engines.reference import ReferenceEngine
from sfumato._fit import checkpoint as checkpoints
from sfumato.streams import stream
from tests.catalogue import blobs, csr, row_weights, sparse_blobs

X = blobs(120, 3, n_clusters=4)
WEIGHTS = row_weights(len(X))
KINDS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "native": (lambda: X, {}),
    "reference": (lambda: X[:60], {"engine": "reference"}),
    "csr": (lambda: csr(sparse_blobs(120)), {}),
    "float32": (lambda: X.astype(np.float32), {}),
    "stream": (lambda: stream(X, chunk_rows=50), {}),
}
"""Data, and parameters beside those of the estimator."""


class InterruptError(Exception):
    """What an interrupted pass raises."""


class Sweeps:
    """Counts passes, and interrupts after so many."""

    def __init__(self) -> None:
        self.count, self.limit = 0, None
        self.sparing = False
        """Whether files are written only shortly before an interruption: the others are unread."""

    def writing(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def written(checkpoint: Any) -> None:
            near = self.limit is not None and self.count >= self.limit - 6
            if near or not self.sparing:
                write(checkpoint)

        return written

    def wrapped(self, sweep: Callable[..., Any]) -> Callable[..., Any]:
        def counted(engine: Any, centers: Any) -> Any:
            if self.limit is not None and self.count >= self.limit:
                raise InterruptError
            self.count += 1
            return sweep(engine, centers)

        return counted

    def during(self, action: Callable[[], Any]) -> int:
        """Passes that an action makes."""
        self.count = 0
        action()
        return self.count

    def interrupt(self, action: Callable[[], Any], after: int) -> None:
        """Let an action be interrupted after so many passes."""
        self.count, self.limit = 0, after
        with pytest.raises(InterruptError):
            action()
        self.limit = None


def counted_sweeps(monkeypatch: pytest.MonkeyPatch) -> Sweeps:
    """Passes over rows at hand, of which one over pieces makes several; states are all kept."""
    found = Sweeps()
    for engine in (NativeEngine, ReferenceEngine):
        monkeypatch.setattr(engine, "sweep", found.wrapped(engine.sweep))
    monkeypatch.setattr(checkpoints, "LEAST_PAUSE", 0.0)
    monkeypatch.setattr(checkpoints, "PAUSE_PER_WRITE", 0.0)
    monkeypatch.setattr(
        checkpoints.Checkpoint, "write", found.writing(checkpoints.Checkpoint.write)
    )
    monkeypatch.setattr(checkpoints.os, "fsync", lambda descriptor: None)  # Slow, and no power cut.
    return found


def facts(model: Any) -> dict[str, Any]:
    """All that must be the same to the bit: times are not."""
    memberships = model.memberships_
    if not sp.issparse(memberships):
        memberships = memberships.compute()
    return {
        "centers": model.cluster_centers_,
        "objective": model.objective_,
        "outcome": model.outcome_,
        "stability": model.stability_,
        "dimension": model.intrinsic_dimension_,
        "history": [(r.objective, r.shift, r.repairs, r.passes) for r in model.history_],
        "n_iter": model.n_iter_,
        "values": memberships.data,
        "indices": memberships.indices,
        "labels": np.asarray(model.labels_),
        "scores": np.asarray(model.outlier_scores_),
    }


def assert_same(found: Any, expected: Any) -> None:
    same, wanted = facts(found), facts(expected)
    for name, value in wanted.items():
        if isinstance(value, np.ndarray):
            assert_array_equal(same[name], value, err_msg=name, strict=True)
        else:
            assert same[name] == value, name


def fitted(estimator: Any, rows: Any, weights: Any = None, **parameters: Any) -> Any:
    parameters = {"n_threads": 1, **parameters}  # Data is small.
    return clone(estimator).set_params(**parameters).fit(rows, sample_weight=weights)
