"""Sizes of clusters, and what sets them apart."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from pandas.testing import assert_frame_equal

import sfumato
from sfumato import REFCMFS, CappedREFCMFS, FuzzyClustering, KMedoids, describe, stream
from sfumato.datasets import make_blobs_with_outliers
from sfumato.exceptions import ParameterError, ParameterTypeError
from tests.catalogue import USER_STORAGES

COLUMNS = ["cluster", "feature", "category", "center", "mean", "rest", "difference", "rank"]


def fitted(outliers: float = 0.1, offset: float = 0.0) -> tuple[Any, Any]:
    blobs = make_blobs_with_outliers(
        400, 5, n_clusters=3, contamination=outliers, size_ratio=3, random_state=0
    )
    X = blobs.data + offset
    return CappedREFCMFS(3, random_state=0).fit(X), X


def by_hand(model: Any, X: Any) -> pd.DataFrame:
    """The same numbers, by pandas."""
    labels = model.predict(X, mark_outliers=True)
    inside, labels = pd.DataFrame(X[labels >= 0]), labels[labels >= 0]
    records = []
    for cluster in range(len(model.cluster_centers_)):
        own, rest = inside[labels == cluster].mean(), inside[labels != cluster].mean()
        for feature, difference in enumerate((own - rest) / inside.std(ddof=0)):
            records.append((cluster, f"x{feature}", own[feature], rest[feature], difference))
    return pd.DataFrame(records, columns=["cluster", "feature", "mean", "rest", "difference"])


def by_name(features: pd.DataFrame) -> pd.DataFrame:
    return features.sort_values(["cluster", "feature"]).reset_index(drop=True)


def test_a_case_worked_by_hand() -> None:
    X = np.array([[0.0, 7.0], [2.0, 7.0], [10.0, 7.0], [12.0, 7.0]])
    model = FuzzyClustering(2, loss="squared", membership="hard", random_state=0).fit(X)
    order = np.argsort(model.cluster_centers_[:, 0])
    found = describe(model, X, ["price", "fee"])
    assert list(found.features.columns) == COLUMNS
    low = found.features[found.features["cluster"] == order[0]]
    assert low["feature"].tolist() == ["price", "fee"]
    assert low["rank"].tolist() == [1, 2]
    assert low["mean"].tolist() == [1.0, 7.0]
    assert low["rest"].tolist() == [11.0, 7.0]
    # The variance is 25 between the clusters and 1 within them; a constant column differs nowhere.
    assert_allclose(low["difference"], [-10 / np.sqrt(26), 0.0])
    assert found.clusters["size"].tolist() == [2, 2]
    assert found.clusters["share"].tolist() == [0.5, 0.5]
    assert found.clusters["mean_membership"].tolist() == [1.0, 1.0]
    assert found.clusters["shared"].tolist() == [0.0, 0.0]


def test_features_are_those_that_pandas_computes() -> None:
    model, X = fitted()
    found = by_name(describe(model, X).features)
    expected = by_hand(model, X)
    assert_frame_equal(found[expected.columns], expected, check_exact=False, rtol=1e-10)
    order = found.groupby("cluster")["difference"].apply(lambda d: (-d.abs()).rank())
    assert_array_equal(found["rank"], order)
    assert_array_equal(found["center"], model.cluster_centers_.ravel())


def test_clusters_are_those_of_the_predictions() -> None:
    model, X = fitted()
    found = describe(model, X)
    labels = model.predict(X, mark_outliers=True)
    memberships = model.predict_proba(X)
    for cluster, row in found.clusters.iterrows():
        own = memberships[labels == cluster]
        assert row["size"] == len(own)
        assert row["share"] == len(own) / len(X)
        assert_allclose(row["mean_membership"], own[:, cluster].mean())
        assert_allclose(row["shared"], (own.max(axis=1) < 2 / 3).mean())
        assert_allclose(found.overlap.toarray()[cluster], own.mean(axis=0))
    assert_array_equal(found.clusters["radius"], model.cluster_radii_)
    assert found.n_rows == len(X)
    assert found.n_outliers == (labels < 0).sum() > 0


def test_outliers_count_in_no_cluster() -> None:
    model, X = fitted()
    far = np.vstack([X, np.full((40, X.shape[1]), 1e9)])
    plain, found = describe(model, X), describe(model, far)
    assert_frame_equal(plain.features, found.features)
    assert_array_equal(plain.clusters["size"], found.clusters["size"])
    assert found.n_outliers == plain.n_outliers + 40


SOURCES: dict[str, Callable[[Any], Any]] = {
    **USER_STORAGES,
    "list": lambda X: X.tolist(),
    "frame": pd.DataFrame,
    "stream": lambda X: stream(X, chunk_rows=77),
    "sparse stream": lambda X: stream(sp.csr_array(X), chunk_rows=77),
    "dask": lambda X: da.from_array(X, chunks=(77, X.shape[1])),
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_numbers(source: str) -> None:
    model, X = fitted()
    expected, found = describe(model, X), describe(model, SOURCES[source](X))
    assert_frame_equal(by_name(found.features), by_name(expected.features), rtol=1e-9)
    assert_frame_equal(found.clusters, expected.clusters, rtol=1e-9)
    assert_allclose(found.overlap.toarray(), expected.overlap.toarray(), rtol=1e-9)
    assert found.n_outliers == expected.n_outliers


def test_a_weight_is_as_many_copies() -> None:
    model, X = fitted()
    copies = np.random.default_rng(0).integers(0, 4, size=len(X))
    weighted = describe(model, X, sample_weight=copies)
    copied = describe(model, np.repeat(X, copies, axis=0))
    assert_frame_equal(by_name(weighted.features), by_name(copied.features), rtol=1e-9)
    assert_frame_equal(weighted.clusters, copied.clusters, check_dtype=False, rtol=1e-9)


def test_an_offset_costs_no_digits() -> None:
    # Of a width of 1 at 1e8, 8 digits are left in the data.
    (near, X), (far, Y) = fitted(0.0), fitted(0.0, offset=1e8)
    expected, found = by_name(describe(near, X).features), by_name(describe(far, Y).features)
    assert_allclose(np.sort(found["difference"]), np.sort(expected["difference"]), atol=1e-6)


def test_blocks_do_not_change_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    model, X = fitted()
    expected = describe(model, X)
    monkeypatch.setattr("sfumato._data.BLOCK_BYTES", 1000)
    assert_frame_equal(by_name(describe(model, X).features), by_name(expected.features), rtol=1e-10)


def test_one_cluster_has_no_rest() -> None:
    X = np.arange(12.0).reshape(6, 2)
    found = describe(REFCMFS(1).fit(X), X)
    assert found.features[["rest", "difference"]].isna().all(axis=None)
    assert found.clusters["size"].tolist() == [6]
    assert found.features["rank"].tolist() == [1, 2]


def test_rows_may_all_be_outliers() -> None:
    model, X = fitted()
    found = describe(model, X + 1e6)
    assert found.n_outliers == len(X)
    assert found.clusters["size"].tolist() == [0, 0, 0]
    assert found.features[["mean", "rest", "difference"]].isna().all(axis=None)


def test_names_are_those_given_or_of_the_fit() -> None:
    _, X = fitted()
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = CappedREFCMFS(3, random_state=0).fit(frame)
    assert set(describe(model, frame).features["feature"]) == set("abcde")
    assert set(describe(model, frame, list("vwxyz")).features["feature"]) == set("vwxyz")
    plain, _ = fitted()
    assert set(describe(plain, stream(frame)).features["feature"]) == set("abcde")
    with pytest.raises(ParameterError, match="feature_names has 2 names, and the model 5"):
        describe(model, frame, ["a", "b"])


def test_models_without_memberships_are_refused() -> None:
    X = [[0.0], [1.0], [9.0]]
    with pytest.raises(ParameterTypeError, match=r"KMedoids.* has no memberships; give"):
        describe(KMedoids(2).fit(X), X)


def test_pandas_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    model, X = fitted()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install \"sfumato\[io\]\""):
        describe(model, X)


def test_the_record_is_short() -> None:
    model, X = fitted()
    found = describe(model, X)
    assert repr(found).startswith("Description(n_clusters=3, n_features=5, n_rows=")
    assert found.top(2)["rank"].tolist() == [1, 2, 1, 2, 1, 2]
    assert sfumato.Description is type(found)
