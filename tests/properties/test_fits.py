"""Properties of fits that hold for whatever is given, searched for by hypothesis.

A fit ends with one line that says what is wrong, or with a result: finite centers, memberships that
sum to one (or are empty, for outliers), an objective that never rises, and predictions that a
pickle and a clone repeat.
"""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from hypothesis import given, note
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import sfumato
from sfumato import (
    L21,
    REFCMFS,
    RSFKM,
    Capped,
    CappedREFCMFS,
    FuzzyClustering,
    FuzzyCMeans,
    Hard,
    KMedoids,
    LandmarkSpectralClustering,
    Power,
    Simplex,
    SimREFCMFS,
    Squared,
)
from tests.catalogue import minimizes, strided
from tests.properties.conftest import searched


def single(X: np.ndarray) -> np.ndarray:
    """Rows of a type that sparse matrices have."""
    return X.astype(np.float32) if X.dtype == np.float16 else X


DTYPES = [np.float64, np.float32, np.float16, np.int64, np.int8, np.uint8, np.bool_]
STORAGES = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": strided,
    "list": lambda X: X.tolist(),
    "frame": lambda X: pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]),
    "csr": lambda X: sp.csr_array(single(X)),
    "csc": lambda X: sp.csc_array(single(X)),
    "coo": lambda X: sp.coo_matrix(single(X)),
    "stream": lambda X: sfumato.stream(X),
    "chunks": lambda X: sfumato.stream(np.array_split(X, 3) if len(X) > 3 else [X]),
}
SCALES = [1.0, 1e-3, 1e6, 1e-30, 1e30, 1e-160, 1e150, 5e-324, 1e308]


@st.composite
def tables(draw: Any, least_rows: int = 1) -> np.ndarray:
    """Small tables: blobs, noise, duplicates, constant columns, far rows, odd values."""
    n_rows = draw(st.integers(least_rows, 40))
    n_features = draw(st.sampled_from([1, 2, 3, 8, 300]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["blobs", "noise", "grid", "constant", "few", "drawn"]))
    if kind == "drawn" and n_features <= 8:
        numbers = st.floats(width=32, allow_subnormal=True)
        X = draw(hnp.arrays(np.float64, (n_rows, n_features), elements=numbers))
    elif kind == "blobs":
        X = 9 * rng.normal(size=(3, n_features))[rng.integers(3, size=n_rows)]
        X = X + rng.normal(size=X.shape)
    elif kind == "grid":
        X = rng.integers(-2, 3, size=(n_rows, n_features)).astype(float)
    elif kind == "constant":
        X = np.full((n_rows, n_features), rng.normal())
    elif kind == "few":
        X = rng.normal(size=(2, n_features))[rng.integers(2, size=n_rows)]
    else:
        X = rng.normal(size=(n_rows, n_features))
    with np.errstate(all="ignore"):
        X = X * draw(st.sampled_from(SCALES)) + draw(st.sampled_from([0.0, 0.0, 1e3, -1e9]))
        if draw(st.booleans()):
            X[:, rng.integers(n_features)] = rng.normal()
        if draw(st.booleans()):
            X[rng.integers(n_rows)] *= draw(st.sampled_from(SCALES))
        if draw(st.integers(0, 9)) == 0:
            X[rng.integers(n_rows), rng.integers(n_features)] = draw(
                st.sampled_from([np.nan, np.inf, -np.inf])
            )
        return X.astype(draw(st.sampled_from(DTYPES)))


@st.composite
def weights_of(draw: Any, n_rows: int) -> Any:
    """Weights of rows: none, alike, with zeros, huge, tiny, wrong."""
    kind = draw(
        st.sampled_from(["none", "none", "random", "zeros", "huge", "tiny", "mixed", "odd"])
    )
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    plain = rng.uniform(0.1, 3, size=n_rows)
    if kind == "none":
        return None
    if kind == "zeros":
        return plain * (rng.random(n_rows) < 0.5)
    if kind == "odd":
        return draw(hnp.arrays(np.float64, n_rows, elements=st.floats()))
    scale = {"huge": 1e120, "tiny": 1e-120, "mixed": 10.0 ** rng.uniform(-99, 99, n_rows)}
    return plain * scale.get(kind, 1.0)


@st.composite
def models(draw: Any) -> Any:
    """Estimators of the family, with any parameters that make sense together."""
    n_clusters = draw(st.integers(1, 6))
    n_active = draw(st.sampled_from(["auto", 1, 2, 3]))
    fuzzifier = draw(st.sampled_from(["auto", 1.001, 1.1, 1.5, 2.0, 5.0, 50.0]))
    loss = draw(st.sampled_from([Squared(), L21(), Capped(), Capped(1.0), Capped(1e-9)]))
    rule = draw(
        st.sampled_from(
            [Hard(), Power(n_active, fuzzifier), Simplex(gamma=0.5), Simplex(n_active=n_active)]
        )
    )
    shared = {
        "n_clusters": n_clusters,
        "n_init": draw(st.sampled_from(["auto", 1])),
        "max_iter": draw(st.sampled_from([1, 3, 50])),
        "tol": draw(st.sampled_from([0.0, 1e-7, 0.1])),
        "random_state": draw(st.integers(0, 3)),
        "init": draw(st.sampled_from(["auto", "k-means++", "random", "robust"])),
        "acceleration": draw(st.sampled_from(["auto", None])),
        "engine": draw(st.sampled_from(["native", "native", "native", "reference"])),
    }
    power = {"n_active": n_active, "fuzzifier": fuzzifier}
    return draw(
        st.sampled_from(
            [
                REFCMFS(**shared, **power),
                CappedREFCMFS(**shared, **power),
                SimREFCMFS(**shared, **power),
                RSFKM(**shared),
                FuzzyCMeans(**shared, fuzzifier=fuzzifier),
                FuzzyClustering(**shared, loss=loss, membership=rule),
            ]
        )
    )


def or_one_line(call: Any) -> Any:
    """Result of a call; None if it raised one line. Warnings are the library's own."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", sfumato.exceptions.ClusteringWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)  # K-means, on few different rows.
        try:
            return call()
        except ValueError as error:
            text = str(error)
            note(text)
            assert "\n" not in text, text
            words = (
                "X",
                "sample_weight",
                "n_clusters",
                "n_active",
                "n_samples",
                "iterable",
                "chunk",
            )
            assert any(word in text for word in words), text
            return None


def assert_shares(memberships: Any, n_rows: int, n_clusters: int, outliers: Any) -> None:
    """Memberships sum to one; those of outliers may be empty."""
    table = sp.csr_array(np.asarray(memberships) if not sp.issparse(memberships) else memberships)
    assert table.shape == (n_rows, n_clusters)
    assert np.isfinite(table.data).all()
    assert (table.data >= 0).all()
    sums = table.sum(axis=1)
    empty = np.diff(table.indptr) == 0
    np.testing.assert_allclose(sums[~empty], 1, rtol=1e-5)
    assert not (empty & ~np.asarray(outliers)).any()


def computed(value: Any) -> Any:
    """Values of a lazy result, or the result itself."""
    return value.compute() if hasattr(value, "compute") else value


@searched
@given(st.data())
def test_a_fit_gives_a_result_or_one_line(data: st.DataObject) -> None:
    X, model = data.draw(tables()), data.draw(models())
    storage = data.draw(st.sampled_from(sorted(STORAGES)))
    weights = data.draw(weights_of(len(X)))
    fitted = or_one_line(lambda: model.fit(STORAGES[storage](X), sample_weight=weights))
    if fitted is None:
        return
    n_clusters = model.n_clusters
    assert fitted.cluster_centers_.shape == (n_clusters, X.shape[1])
    assert np.isfinite(fitted.cluster_centers_).all()
    labels = np.asarray(fitted.labels_)
    assert ((labels >= 0) & (labels < n_clusters)).all()
    assert np.isfinite(fitted.objective_)
    assert fitted.objective_ >= 0
    assert_shares(computed(fitted.memberships_), len(X), n_clusters, np.asarray(fitted.outliers_))
    objectives = np.array([record.objective for record in fitted.history_])
    if minimizes(fitted.membership_):
        slack = 1e-6 if fitted.cluster_centers_.dtype == np.float32 else 1e-12
        # A row on a center is off by the rounding of its coordinates, times its weight.
        mass = len(X) if weights is None else float(np.sum(weights))
        far = float(np.abs(X.astype(np.float64)).max()) * slack
        rounding = mass * max(far, far * far)  # A power would raise OverflowError.
        assert (np.diff(objectives) <= slack * objectives[:-1] + rounding).all(), objectives


@searched
@given(st.data())
def test_pickles_and_clones_predict_the_same(data: st.DataObject) -> None:
    X, model = data.draw(tables()), data.draw(models())
    storage = data.draw(
        st.sampled_from([s for s in sorted(STORAGES) if s not in ("stream", "chunks")])
    )
    rows, weights = STORAGES[storage](X), data.draw(weights_of(len(X)))
    fitted = or_one_line(lambda: model.fit(rows, sample_weight=weights))
    if fitted is None:
        return
    again = pickle.loads(pickle.dumps(fitted))
    other = or_one_line(lambda: clone(model).fit(rows, sample_weight=weights))
    for found in (again, other):
        assert_array_equal(found.cluster_centers_, fitted.cluster_centers_)
        for name in ("predict", "transform", "score_outliers", "predict_proba"):
            expected = or_one_line(lambda name=name: getattr(fitted, name)(rows))
            assert_array_equal(or_one_line(lambda f=found, n=name: getattr(f, n)(rows)), expected)
    assert_array_equal(fitted.predict(rows), fitted.labels_)


@searched
@given(st.data())
def test_predictions_for_other_rows_are_finite_or_one_line(data: st.DataObject) -> None:
    X, model = data.draw(tables(least_rows=6)), data.draw(models())
    if or_one_line(lambda: model.fit(X)) is None:
        return
    new = data.draw(tables())
    for name in ("predict", "transform", "score_samples", "predict_membership", "score"):
        found = or_one_line(lambda name=name: getattr(model, name)(new))
        if found is not None:
            values = found.data if sp.issparse(found) else np.asarray(found)
            assert not np.isnan(values).any(), name


@searched
@given(st.data())
def test_batches_give_a_result_or_one_line(data: st.DataObject) -> None:
    model = data.draw(models()).set_params(decay=data.draw(st.sampled_from([0.0, 0.1, 0.999])))
    if or_one_line(lambda: model.partial_fit(data.draw(tables(least_rows=6)))) is None:
        return
    for _ in range(2):
        X = data.draw(tables())
        before = model.cluster_centers_.copy()
        weights = data.draw(weights_of(len(X)))
        if or_one_line(lambda X=X, w=weights: model.partial_fit(X, sample_weight=w)) is None:
            assert_array_equal(model.cluster_centers_, before)
        assert np.isfinite(model.cluster_centers_).all()
        assert np.isfinite(model.objective_)


@searched
@given(st.data())
def test_methods_to_compare_with_give_a_result_or_one_line(data: st.DataObject) -> None:
    X = data.draw(tables())
    storage = data.draw(st.sampled_from(["C", "F", "strided", "csr", "csc"]))
    kind = data.draw(st.sampled_from([KMedoids, LandmarkSpectralClustering]))
    n_clusters = data.draw(st.integers(1, 4))
    model = or_one_line(lambda: kind(n_clusters, random_state=0).fit(STORAGES[storage](X)))
    if model is not None:
        assert_array_equal(np.asarray(model.labels_).shape, len(X))
        assert (np.asarray(model.labels_) < n_clusters).all()
