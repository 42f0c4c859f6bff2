"""Streams that are given to estimators: bad values, weights, features, types, and Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from sfumato import REFCMFS
from sfumato.streams import stream
from tests.catalogue import blobs

MODEL = REFCMFS(4, n_active=2, fuzzifier=1.5, random_state=0, n_threads=1)
ROWS = blobs(200, 3, 4)


def with_nan(folder: Path) -> Path:
    """A file whose chunk 17, of 10 rows, holds a NaN in its fourth row."""
    rows = ROWS.copy()
    rows[173, 1] = np.nan
    np.save(folder / "rows.npy", rows)
    return folder / "rows.npy"


def test_nan_is_named(tmp_path: Path) -> None:
    path = with_nan(tmp_path)
    words = r"NaN, first at .*rows\.npy, row 173 \(counting from 0\), column 1"
    with pytest.raises(ValueError, match=words):
        clone(MODEL).fit(stream(path, chunk_rows=10))
    model = clone(MODEL).fit(ROWS)
    for name in ("predict", "transform", "score_outliers", "predict_membership"):
        with pytest.raises(ValueError, match=words):
            getattr(model, name)(stream(path, chunk_rows=10)).compute()
    with pytest.raises(ValueError, match=words):
        model.score(stream(path, chunk_rows=10))


def test_nan_in_a_chunk_of_an_iterable_is_named() -> None:
    rows = ROWS.copy()
    rows[173, 1] = np.nan
    source = stream([pd.DataFrame(part, columns=["a", "b", "c"]) for part in np.split(rows, 20)])
    with pytest.raises(ValueError, match=r"chunk 17 of the iterable, row 3 .*column 'b'"):
        clone(MODEL).fit(source)


def test_empty_streams() -> None:
    with pytest.raises(ValueError, match=r"ndarray of shape \(0, 3\) holds no rows"):
        clone(MODEL).fit(stream(ROWS[:0]))
    model = clone(MODEL).fit(ROWS)
    assert np.asarray(model.predict(stream(ROWS[:0]))).shape == (0,)
    assert np.asarray(model.transform(stream(ROWS[:0]))).shape == (0, 4)
    with pytest.raises(ValueError, match="no rows"):
        model.score(stream(ROWS[:0]))


@pytest.mark.slow
def test_weights_may_come_in_every_way() -> None:
    weights = np.arange(200) % 4
    frame = pd.DataFrame(ROWS, columns=["a", "b", "c"])
    by_column = stream(frame.assign(w=weights), weights="w", chunk_rows=30)
    expected = clone(MODEL).fit(by_column)
    for given in (weights, weights.astype(float), weights.tolist(), pd.Series(weights)):
        found = clone(MODEL).fit(stream(frame, chunk_rows=30), sample_weight=given)
        assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
        score = found.score(stream(frame, chunk_rows=30), sample_weight=given)
        assert score == expected.score(by_column)
    equal = clone(MODEL).fit(stream(ROWS, chunk_rows=30), sample_weight=2.0)
    plain = clone(MODEL).fit(stream(ROWS, chunk_rows=30))
    assert equal.objective_ == pytest.approx(2 * plain.objective_, rel=1e-6)


@pytest.mark.parametrize("length", [190, 210, 0])
@pytest.mark.parametrize("counted", [True, False])
def test_weights_of_another_length(length: int, counted: bool) -> None:
    """Also where the number of rows takes a pass to find out."""
    model = clone(MODEL).fit(ROWS)
    for call in (clone(MODEL).fit, model.score):
        source = stream(ROWS, chunk_rows=30) if counted else stream(np.split(ROWS, 10))
        with pytest.raises(
            ValueError, match=rf"(?s)sample_weight.*\({length},\).*(200|at least \d+) rows"
        ):
            call(source, sample_weight=np.full(length, 2.0))


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_weights_that_are_none(bad: float) -> None:
    weights = np.ones(200)
    weights[173] = bad
    model = clone(MODEL).fit(ROWS)
    for call in (clone(MODEL).fit, model.score):
        with pytest.raises(ValueError, match="173"):
            call(stream(ROWS, chunk_rows=10), sample_weight=weights)


def test_weights_twice() -> None:
    frame = pd.DataFrame(ROWS, columns=["a", "b", "w"]).abs()
    with pytest.raises(ValueError, match="weights of its own"):
        clone(MODEL).fit(stream(frame, weights="w"), sample_weight=np.full(200, 2.0))


def test_features_must_be_those_of_the_fit() -> None:
    frame = pd.DataFrame(ROWS, columns=["a", "b", "c"])
    model = clone(MODEL).fit(stream(frame))
    assert_array_equal(model.feature_names_in_, ["a", "b", "c"])
    with pytest.raises(ValueError, match="Feature 1 of X is 'c', where the fit had 'b'"):
        model.predict(stream(frame[["a", "c", "b"]]))
    with pytest.raises(ValueError, match="X has 2 features, but REFCMFS is expecting 3"):
        model.predict(stream(frame[["a", "b"]]))


def test_chunks_of_different_types() -> None:
    whole = np.round(10 * ROWS)
    kinds = (np.float32, np.float64, np.int16, np.int64)
    parts = [p.astype(kind) for p, kind in zip(np.split(whole, 4), kinds, strict=True)]
    found = clone(MODEL).set_params(init=whole[:4]).fit(stream(parts))
    expected = clone(MODEL).set_params(init=whole[:4]).fit(whole)
    assert found.cluster_centers_.dtype == np.float64
    assert_allclose(found.cluster_centers_, expected.cluster_centers_, rtol=1e-10)
    assert_array_equal(np.asarray(found.labels_), expected.labels_)
    single = clone(MODEL).fit(stream(ROWS.astype(np.float32)))
    assert single.cluster_centers_.dtype == np.float32


# Ctrl-C.

LONG_FIT = """
import sys, threading
import numpy as np
from sfumato import REFCMFS
from sfumato.streams import stream

X = np.random.default_rng(0).normal(size=(100_000, 32))
model = REFCMFS(200, n_active=5, fuzzifier=1.1, tol=0, max_iter=100_000, init=X[:200].copy())
print("fitting", flush=True)
try:
    model.fit(stream(X, chunk_rows=10_000))
except KeyboardInterrupt:
    print("interrupted", threading.active_count(), flush=True)
    assert not [name for name in vars(model) if name.endswith("_")], vars(model)
    sys.exit(0)
"""


@pytest.mark.slow
def test_ctrl_c_is_prompt() -> None:
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", LONG_FIT],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "fitting\n"
    time.sleep(1.5)
    assert process.poll() is None, "the fit must still be running"
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    assert process.stdout.readline() == "interrupted 1\n"
    assert time.monotonic() - sent < 60, "the fit would take hours"
    out, err = process.communicate(timeout=180)
    assert (process.returncode, out) == (0, ""), err
