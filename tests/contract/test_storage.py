"""Every container and memory layout gives the result of the plain array, and is left as it was."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone

from sfumato import REFCMFS, Capped, FuzzyClustering, FuzzyCMeans, Simplex
from tests.catalogue import (
    DENSE_STORAGES,
    each,
    row_weights,
    sparse_blobs,
    sparse_rows,
    strided,
    whatever_results,
)

ESTIMATORS = [
    REFCMFS(4, n_active=2, random_state=0),
    FuzzyCMeans(4, random_state=0),
    FuzzyClustering(4, loss=Capped(6.0), membership=Simplex(gamma=2.0), random_state=0),
    FuzzyClustering(4, loss="squared", membership="hard", random_state=0),
]
every_estimator = each("estimator", ESTIMATORS, ids=lambda e: f"{type(e).__name__}-{e._parts()[0]}")


def torch_tensor(X: np.ndarray) -> Any:
    """Tensor on the CPU; a large library, which tests do not require."""
    return pytest.importorskip("torch").tensor(X)


def unsorted_csr(X: np.ndarray) -> sp.csr_array:
    """CSR whose columns run backwards within each row."""
    rows = sp.csr_array(X)
    for begin, end in zip(rows.indptr, rows.indptr[1:], strict=False):
        rows.indices[begin:end] = rows.indices[begin:end][::-1].copy()
        rows.data[begin:end] = rows.data[begin:end][::-1].copy()
    rows.has_sorted_indices = False
    return rows


def redundant_csr(X: np.ndarray) -> sp.csr_array:
    """CSR that stores every value in two halves, zeros included."""
    n_rows, n_features = X.shape
    indices = np.tile(np.arange(n_features).repeat(2), n_rows)
    return sp.csr_array(
        ((X / 2).repeat(2, axis=1).ravel(), indices, np.arange(n_rows + 1) * 2 * n_features),
        shape=X.shape,
    )


CONTAINERS: dict[str, Callable[[np.ndarray], Any]] = {
    **DENSE_STORAGES,
    "reversed": lambda X: X[::-1].copy()[::-1],
    "columns of a wider array": lambda X: np.hstack([X, X])[:, : X.shape[1]],
    "byte-swapped": lambda X: X.astype(X.dtype.newbyteorder(">")),
    "list": lambda X: X.tolist(),
    "tuple of arrays": tuple,
    "object": lambda X: X.astype(object),
    "pandas": pd.DataFrame,
    "pandas by column": lambda X: pd.DataFrame(dict(enumerate(X.T.copy()))),
    "pandas nullable": lambda X: pd.DataFrame(X).astype("Float64"),
    "pandas arrow": lambda X: pd.DataFrame(X).astype("double[pyarrow]"),
    "pandas sparse": lambda X: pd.DataFrame.sparse.from_spmatrix(sp.csr_array(X)),
    "polars": lambda X: pl.DataFrame({f"f{j}": column for j, column in enumerate(X.T)}),
    "pyarrow table": lambda X: pa.table({f"f{j}": column for j, column in enumerate(X.T)}),
    "pyarrow batch": lambda X: pa.RecordBatch.from_pydict(
        {f"f{j}": column for j, column in enumerate(X.T)}
    ),
    "torch": torch_tensor,
    "csr array": sp.csr_array,
    "csr matrix": sp.csr_matrix,
    "csc array": sp.csc_array,
    "csc matrix": sp.csc_matrix,
    "coo": sp.coo_array,
    "lil": sp.lil_array,
    "csr unsorted": unsorted_csr,
    "csr redundant": redundant_csr,
}


@pytest.fixture(name="X")
def fixed_sample() -> np.ndarray:
    return sparse_blobs(90, 4)


def assert_same_fit(model: BaseEstimator, expected: BaseEstimator, rtol: float = 1e-9) -> None:
    assert_allclose(model.cluster_centers_, expected.cluster_centers_, rtol=rtol, atol=rtol)
    assert_array_equal(model.labels_, expected.labels_)
    assert_allclose(model.memberships_.toarray(), expected.memberships_.toarray(), atol=10 * rtol)
    assert_allclose(model.objective_, expected.objective_, rtol=rtol)


@every_estimator
@pytest.mark.parametrize("name", CONTAINERS)
def test_containers(estimator: BaseEstimator, name: str, X: np.ndarray) -> None:
    given, weights = CONTAINERS[name](X), row_weights(len(X))
    expected = clone(estimator).fit(X, sample_weight=weights)
    model = clone(estimator).fit(given, sample_weight=weights)
    assert model.cluster_centers_.dtype == np.float64
    assert_same_fit(model, expected)
    assert_array_equal(model.predict(given), expected.predict(X))
    assert_allclose(model.predict_proba(given), expected.predict_proba(X), atol=1e-8)
    assert_allclose(model.transform(given), expected.transform(X), rtol=1e-8)
    assert_allclose(
        model.score(given, sample_weight=weights), expected.score(X, sample_weight=weights)
    )


@every_estimator
@pytest.mark.parametrize("name", ["C", "F", "strided", "byte-swapped", "csr array", "csc matrix"])
def test_single_precision(estimator: BaseEstimator, name: str, X: np.ndarray) -> None:
    X = X.astype(np.float32)
    # From the same seeds, so that rounding has no say in what is drawn.
    start = X[[1, 20, 40, 60]] + np.float32(0.1)
    expected = clone(estimator).set_params(init=start).fit(X)
    model = clone(estimator).set_params(init=start).fit(CONTAINERS[name](X))
    assert model.cluster_centers_.dtype == np.float32
    assert_allclose(model.cluster_centers_, expected.cluster_centers_, atol=2e-3)
    assert_allclose(model.objective_, expected.objective_, rtol=1e-5)
    assert_allclose(model.transform(CONTAINERS[name](X)), expected.transform(X), atol=2e-3)


DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "g", ">i4", ">f8", ">u2"]
SPARSE_DTYPES = DTYPES[:9]  # SciPy knows neither half precision nor another byte order.


@pytest.mark.parametrize(
    ("container", "dtype"),
    [
        *product([np.ascontiguousarray, strided, pd.DataFrame], DTYPES),
        *product([sp.csr_array], SPARSE_DTYPES),
    ],
)
def test_dtypes(container: Callable[..., Any], dtype: str, X: np.ndarray) -> None:
    values = (np.abs(X) > 3 if dtype == "?" else np.round(np.abs(X))).astype(dtype)
    expected = REFCMFS(3, fuzzifier=1.5, random_state=0).fit(values.astype(np.float64))
    model = REFCMFS(3, fuzzifier=1.5, random_state=0).fit(container(values))
    assert model.cluster_centers_.dtype == np.float64
    assert_same_fit(model, expected)
    assert_array_equal(model.predict(container(values)), expected.labels_)


def test_frames_of_mixed_numbers(X: np.ndarray) -> None:
    columns = {
        "flag": X[:, 0] > 0,
        "count": np.round(np.abs(X[:, 1])).astype(np.int32),
        "single": X[:, 2].astype(np.float32),
        "double": X[:, 3],
    }
    plain = np.column_stack([column.astype(np.float64) for column in columns.values()])
    expected = REFCMFS(3, random_state=0).fit(plain)
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns)):
        model = REFCMFS(3, random_state=0).fit(frame)
        assert_array_equal(model.feature_names_in_, list(columns))
        assert_same_fit(model, expected)


def buffers(given: Any) -> list[np.ndarray]:
    """Arrays that a container keeps its values in."""
    if sp.issparse(given):
        given = given.tocoo() if given.format == "lil" else given
        names = ("data", "indices", "indptr", "row", "col")
        return [getattr(given, name) for name in names if hasattr(given, name)]
    return [np.asarray(given)]


@every_estimator
@pytest.mark.parametrize("name", CONTAINERS)
def test_nothing_given_is_written_to(estimator: BaseEstimator, name: str, X: np.ndarray) -> None:
    given, weights = CONTAINERS[name](X), row_weights(len(X))
    start = X[:4] + 0.1
    before = [buffer.copy() for buffer in buffers(given)]
    kept = weights.copy(), start.copy()
    model = clone(estimator).set_params(init=start).fit(given, sample_weight=weights)
    model.predict(given)
    model.predict_proba(given)
    model.transform(given)
    model.score(given, sample_weight=weights)
    for buffer, copy in zip(buffers(given), before, strict=True):
        assert_array_equal(buffer, copy)
    assert_array_equal(weights, kept[0])
    assert_array_equal(start, kept[1])


def test_weights_in_any_container(X: np.ndarray) -> None:
    weights = np.arange(1.0, 1 + len(X))
    expected = REFCMFS(3, random_state=0).fit(X, sample_weight=weights)
    frozen = weights.copy()
    frozen.setflags(write=False)
    for given in (
        weights.tolist(),
        weights.astype(np.int32),
        weights.astype(np.float32),
        pd.Series(weights, index=range(100, 190)),
        pl.Series(weights),
        frozen,
        weights.repeat(2)[::2],
        weights.astype(">f8"),
    ):
        model = REFCMFS(3, random_state=0).fit(X, sample_weight=given)
        assert_array_equal(model.cluster_centers_, expected.cluster_centers_)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
@pytest.mark.parametrize("order", ["C", "F"])
def test_read_only_memory_map(dtype: type, order: str, X: np.ndarray, tmp_path: Any) -> None:
    values = np.asarray(10 * X, dtype=dtype, order=order)
    np.save(tmp_path / "X.npy", values)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert isinstance(mapped, np.memmap)
    model = REFCMFS(3, fuzzifier=1.5, random_state=0).fit(mapped)
    plain = REFCMFS(3, fuzzifier=1.5, random_state=0).fit(values)
    assert_array_equal(model.cluster_centers_, plain.cluster_centers_)
    assert_array_equal(model.predict(mapped), plain.labels_)


@whatever_results
@pytest.mark.parametrize("storage", ["csr", "csc"])
def test_sparse_rows_stay_sparse(storage: str, monkeypatch: Any) -> None:
    X = sparse_rows((3000, 400), density=0.01).asformat(storage)

    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError(f"{self.shape[0]} sparse rows were made dense")

    def dense_if_few(self: Any, *args: Any, **kwargs: Any) -> Any:
        return original(self, *args, **kwargs) if self.shape[0] <= 100 else refuse(self)

    original = sp.csr_array.toarray
    monkeypatch.setattr(sp.csr_array, "toarray", dense_if_few)
    for cls in (sp.csc_array, sp.coo_array):
        monkeypatch.setattr(cls, "toarray", refuse)
    for cls in (sp.csr_array, sp.csc_array, sp.coo_array):
        monkeypatch.setattr(cls, "todense", refuse)
        monkeypatch.setattr(cls, "__array__", refuse, raising=False)
    model = REFCMFS(5, n_active=2, random_state=0, max_iter=5, tol=0.5).fit(X)
    model.predict(X)
    model.transform(X)
    model.predict_membership(X)
    model.score(X)


MEASURE = """
import json, sys, threading, time
import numpy as np, scipy.sparse as sp
from sfumato import REFCMFS

def anonymous():
    # Memory of the process itself, without the pages of mapped files.
    with open("/proc/self/status") as status:
        return 1024 * int(next(line for line in status if line.startswith("RssAnon")).split()[1])

def growth(run):
    # Largest growth of memory while run() runs, in bytes.
    peak, done, base = [0], threading.Event(), anonymous()
    def watch():
        while not done.is_set():
            peak[0] = max(peak[0], anonymous() - base)
            time.sleep(0.001)
    thread = threading.Thread(target=watch)
    thread.start()
    run()
    done.set()
    thread.join()
    return peak[0]

def fit(X, fuzzifier="auto"):
    model = REFCMFS(4, n_active=1, fuzzifier=fuzzifier, random_state=0, n_init=1, tol=0.9)
    model.fit(X)
    model.predict(X)

fit(np.random.RandomState(0).normal(size=(2000, 16)))  # Libraries are loaded, buffers warm.
"""


def measured(script: str, *arguments: str) -> dict[str, float]:
    """Results that a script prints, run in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", MEASURE + script, *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)


needs_proc = pytest.mark.skipif(
    sys.platform != "linux", reason="reads the memory of the process from /proc"
)


@needs_proc
@pytest.mark.slow
def test_no_array_is_copied_whole(tmp_path: Any) -> None:
    rng = np.random.default_rng(0)
    # Above 32 MB, so that memory goes back to the system as soon as it is freed.
    file = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float64, (500_000, 16))
    for block in range(0, len(file), 10_000):
        file[block : block + 10_000] = rng.normal(size=(10_000, 16))
    file.flush()
    script = """
X = np.load(sys.argv[1], mmap_mode="r")
shares = {"mapped": growth(lambda: fit(X)) / X.nbytes}
F = np.asfortranarray(X)
shares["Fortran"] = growth(lambda: fit(F)) / X.nbytes
del F
wide = np.zeros((len(X), 17))
wide[:, :16] = X
shares["strided"] = growth(lambda: fit(wide[:, :16])) / X.nbytes
del wide
whole = (100 * X).astype(np.int32)
shares["integer"] = growth(lambda: fit(whole)) / X.nbytes
print(json.dumps(shares))
"""
    shares = measured(script, str(tmp_path / "X.npy"))
    assert shares.keys() == {"mapped", "Fortran", "strided", "integer"}
    assert max(shares.values()) < 0.6, shares


@needs_proc
@pytest.mark.slow
def test_wide_sparse_rows_fit_into_memory() -> None:
    # As a dense array this would be 16 gigabytes.
    script = """
rng = np.random.default_rng(0)
indptr = np.arange(20_001) * 10
indices = rng.integers(100_000, size=indptr[-1])
X = sp.csr_array((rng.random(indptr[-1]), indices, indptr), shape=(20_000, 100_000))
X.sum_duplicates()
sizes = {"csr": growth(lambda: fit(X, 1.5))}
Y = X.tocsc()
sizes["csc"] = growth(lambda: fit(Y, 1.5))
print(json.dumps(sizes))
"""
    sizes = measured(script)
    assert max(sizes.values()) < 400e6, sizes


@whatever_results
def test_sparse_rows_whose_arrays_have_gaps() -> None:
    rows = sparse_rows((200, 6), density=0.5)
    wide = np.full(2 * rows.nnz, np.nan)
    wide[::2] = rows.data
    gaps = sp.csr_array((wide[::2], rows.indices, rows.indptr), shape=rows.shape)
    expected = REFCMFS(3, fuzzifier=1.5, random_state=0).fit(rows).objective_
    assert REFCMFS(3, fuzzifier=1.5, random_state=0).fit(gaps).objective_ == expected


def test_a_field_of_records_that_is_not_aligned() -> None:
    records = np.zeros(60, dtype=[("flag", "i1"), ("x", "f8", (3,))])
    records["x"] = np.random.default_rng(0).normal(size=(60, 3))
    expected = REFCMFS(2, fuzzifier=1.5, random_state=0).fit(records["x"].copy())
    found = REFCMFS(2, fuzzifier=1.5, random_state=0).fit(records["x"])
    np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
