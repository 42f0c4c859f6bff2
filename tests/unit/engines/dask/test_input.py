"""Every kind of dask collection: chunks known or not, empty, tiny, mixed; frames; weights."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import dask.bag
import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from sfumato import FuzzyClustering
from sfumato._engines.dask import DaskRunner
from sfumato._engines.passes import Total
from tests.catalogue import blobs, row_weights, sparse_blobs, start_near

X = blobs(300)
WEIGHTS = row_weights(300)
SIZES = (70, 1, 0, 129, 100)


@pytest.fixture(autouse=True)
def sync() -> Any:
    with dask.config.set(scheduler="sync"):
        yield


def model() -> FuzzyClustering:
    return FuzzyClustering(5, init=start_near(X), tol=1e-3)


def assert_fits(given: Any, weights: Any = None, rows: Any = X, of: Any = None) -> None:
    """The fit is that of the rows at hand."""
    start = start_near(X if sp.issparse(rows) or rows.shape[1] == X.shape[1] else rows)
    found = FuzzyClustering(5, init=start, tol=1e-3).fit(given, sample_weight=weights)
    expected = FuzzyClustering(5, init=start, tol=1e-3).fit(rows, sample_weight=of)
    tolerance = 1e-10 if found.cluster_centers_.dtype == np.float64 else 1e-4
    assert found.cluster_centers_.dtype == expected.cluster_centers_.dtype
    np.testing.assert_allclose(found.cluster_centers_, expected.cluster_centers_, rtol=tolerance)
    np.testing.assert_allclose(found.objective_, expected.objective_, rtol=tolerance)
    labels = found.labels_.compute()
    assert np.mean(labels == expected.labels_) > 0.99


def chunked(rows: Any = X) -> da.Array:
    return da.from_array(rows, chunks=(SIZES, -1))


def unknown(rows: Any = X) -> da.Array:
    """Rows in chunks of sizes that dask does not know."""
    array = chunked(rows)
    return array[da.ones(len(rows), chunks=(SIZES,), dtype=bool)]


def frame(rows: Any = X) -> dd.DataFrame:
    table = pd.DataFrame(rows, columns=["x", "y", "z"]).assign(weight=WEIGHTS)
    parts = [table[end - size : end] for size, end in zip(SIZES, np.cumsum(SIZES), strict=True)]
    return dd.from_map(lambda part: part, parts, meta=table[:0])


def test_chunks_with_an_empty_one() -> None:
    assert_fits(chunked())


def test_columns_in_several_chunks() -> None:
    assert_fits(da.from_array(X, chunks=(50, 2)))


def test_unknown_chunk_sizes() -> None:
    array = unknown()
    assert np.isnan(array.shape[0])
    assert_fits(array)
    assert np.isnan(array.shape[0]), "the user's array is left alone"
    labels = model().fit(array).labels_
    assert labels.numblocks == array.numblocks[:1]


def test_unknown_chunk_sizes_and_several_chunks_of_columns() -> None:
    assert_fits(unknown().rechunk({1: 1}))


def test_chunks_of_one_row() -> None:
    assert_fits(da.from_array(X, chunks=(1, -1)))


@pytest.mark.slow
def test_ten_thousand_tiny_chunks() -> None:
    rows = blobs(20_000)
    start = start_near(rows)
    array = da.from_array(rows, chunks=(2, -1))
    found = FuzzyClustering(5, membership="hard", init=start, tol=0.5).fit(array)
    expected = FuzzyClustering(5, membership="hard", init=start, tol=0.5).fit(rows)
    np.testing.assert_allclose(found.cluster_centers_, expected.cluster_centers_, rtol=1e-10)


def test_float32_stays_float32() -> None:
    rows = X.astype(np.float32)
    assert_fits(chunked(rows), rows=rows)


def test_integers() -> None:
    rows = np.round(10 * X).astype(np.int16)
    assert_fits(chunked(rows), rows=rows)


def test_chunks_of_different_dtypes() -> None:
    """Computed as what they hold, not as what dask declares."""
    rounded = np.round(X)

    def cast(block: Any, block_id: Any = (0, 0)) -> Any:
        return block.astype([np.float64, np.float32, np.int8, np.int64, np.float16][block_id[0]])

    assert_fits(chunked(rounded).map_blocks(cast, dtype=np.float64), rows=rounded)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array])
def test_sparse_chunks(kind: Any) -> None:
    rows = sparse_blobs(300)
    array = chunked(rows).map_blocks(kind, dtype=float, meta=kind(np.empty((0, 6))))
    start = start_near(rows)
    found = FuzzyClustering(5, init=start).fit(array)
    expected = FuzzyClustering(5, init=start).fit(sp.csr_array(rows))
    np.testing.assert_allclose(found.cluster_centers_, expected.cluster_centers_, rtol=1e-10)
    np.testing.assert_array_equal(found.predict(array).compute(), expected.labels_)


# Frames.


def test_frames_name_their_features() -> None:
    table = frame()[["x", "y", "z"]]
    assert_fits(table)
    fitted = model().fit(table)
    assert list(fitted.feature_names_in_) == ["x", "y", "z"]
    assert fitted.labels_.numblocks == (table.npartitions,)
    with pytest.raises(ValueError, match="'y', where the fit had 'x'"):
        fitted.predict(table[["y", "x", "z"]])


def test_frames_with_weights_from_a_column() -> None:
    table = frame()
    assert_fits(table[["x", "y", "z"]], table["weight"], of=WEIGHTS)


@pytest.mark.slow
def test_frames_that_a_cluster_holds(client: distributed.Client) -> None:
    with dask.config.set(scheduler="distributed"):
        table = frame().persist()
        assert_fits(table[["x", "y", "z"]], table["weight"], of=WEIGHTS)


def test_frames_with_numbers_that_may_be_missing() -> None:
    table = frame(np.round(X)).astype({"x": "Float64", "y": "Int64"})
    assert_fits(table[["x", "y", "z"]], rows=np.round(X))


def test_missing_numbers_are_found() -> None:
    table = pd.DataFrame(np.round(X), columns=["x", "y", "z"]).astype({"y": "Int64"})
    table.loc[103, "y"] = pd.NA
    given = dd.from_pandas(table, npartitions=3)
    with pytest.raises(ValueError, match=r"NaN, first at chunk 1, row 3 of it \(row 103.*'y'"):
        model().fit(given)


def test_columns_that_are_no_numbers() -> None:
    table = dd.from_pandas(pd.DataFrame({"a": [1.0, 2], "b": ["u", "v"]}), npartitions=1)
    with pytest.raises(ValueError, match=r"not of real numbers.*'b'"):
        model().fit(table)


# Weights.


def test_weights_are_cut_like_the_rows() -> None:
    assert_fits(chunked(), da.from_array(WEIGHTS, chunks=77), of=WEIGHTS)


def test_weights_in_memory() -> None:
    assert_fits(chunked(), WEIGHTS, of=WEIGHTS)
    assert_fits(chunked(), list(WEIGHTS), of=WEIGHTS)


def test_weights_in_memory_for_unknown_chunk_sizes() -> None:
    assert_fits(unknown(), WEIGHTS, of=WEIGHTS)


def test_weights_of_unknown_chunk_sizes() -> None:
    assert_fits(unknown(), unknown(WEIGHTS[:, None])[:, 0], of=WEIGHTS)
    assert_fits(chunked(), unknown(WEIGHTS[:, None])[:, 0], of=WEIGHTS)


def test_rows_and_weights_from_one_source_read_it_once() -> None:
    read: list[int] = []

    def load(block: Any) -> Any:
        read.append(len(block))
        return block

    whole = chunked(np.column_stack([X, WEIGHTS])).map_blocks(
        load, dtype=float, meta=np.empty((0, 4))
    )
    runner = DaskRunner(whole[:, :3], whole[:, 3])
    for _ in range(2):
        read.clear()
        runner.reduce(lambda chunk: Total(chunk.weights.sum()))
        assert sorted(read) == sorted(SIZES)


# Refusals.


@pytest.mark.parametrize(
    ("given", "weights", "words"),
    [
        (da.ones(5), None, "1 dimension"),
        (da.ones((5, 2, 2)), None, "3 dimension"),
        (da.ones((5, 2), dtype=complex), None, "complex128, not of real numbers"),
        (da.ones((5, 0)), None, r"shape \(5, 0\)"),
        (da.ma.masked_equal(da.ones((5, 2)), 1), None, "masked"),
        (dask.bag.from_sequence([1, 2]), None, "dask.bag.*give a dask.array"),
        (dask.delayed(np.ones)((5, 2)), None, "[Dd]elayed.*give a dask.array"),
        (da.ones((5, 2)), da.ones(4), r"shape \(4,\), but there are 5 rows"),
        (da.ones((5, 2)), da.ones((5, 1)), r"shape \(5, 1\).*one weight per row"),
        (da.ones((5, 2)), np.ones(4), r"shape \(4,\), but there are 5 rows"),
        (da.ones((5, 2)), np.array(["a"] * 5), "not an array of numbers but of <U1"),
        (unknown(), da.ones(300, chunks=300), "5 chunks and sample_weight 1"),
        (unknown(), np.ones(299), r"shape \(299,\), but there are 300 rows"),
        (unknown(), da.ones(300, chunks=60), r"Chunk \d of sample_weight has shape \(60,\)"),
        (chunked(), -da.ones(300, chunks=60), "holds -1 at chunk 0, row 0 of it"),
        (chunked(), da.zeros(300), "zero everywhere"),
        (da.ones((0, 2)), None, "no rows"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_refused(given: Any, weights: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        model().fit(given, sample_weight=weights)


def test_mixed_sparse_and_dense_chunks() -> None:
    def some(block: Any, block_id: Any = (0, 0)) -> Any:
        return sp.csr_array(block) if block_id[0] else block

    with pytest.raises(ValueError, match="sparse and others dense"):
        model().fit(chunked().map_blocks(some, dtype=float, meta=np.empty((0, 3))))


def test_other_features_than_the_fit() -> None:
    fitted = model().fit(chunked())
    with pytest.raises(ValueError, match="has 2 features"):
        fitted.predict(da.ones((5, 2)))


def with_nan(column: int = 1) -> da.Array:
    rows = np.array(np.tile(X, (7, 1))[:2000])
    rows[1703, column] = np.nan
    return da.from_array(rows, chunks=(100, -1))


def test_nan_in_chunk_17() -> None:
    words = r"NaN, first at chunk 17, row 3 of it \(row 1703 of all\), column 1;"
    with pytest.raises(ValueError, match=words):
        model().fit(with_nan())
    lazy = model().fit(chunked()).predict(with_nan())
    with pytest.raises(ValueError, match=words):
        lazy.compute()
    np.testing.assert_array_equal(lazy[:1700].compute()[:300], model().fit(X).labels_)


def test_nan_where_sizes_are_not_known() -> None:
    array = with_nan()[da.ones(2000, chunks=100, dtype=bool)]
    with pytest.raises(ValueError, match=r"chunk 17, row 3 of it, column 1;"):
        model().fit(chunked()).predict(array).compute()
