"""Sparse matrices whose arrays are wrong: one line that says what, before anything reads them."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

import sfumato
from sfumato import (
    REFCMFS,
    CappedREFCMFS,
    KMedoids,
    LandmarkSpectralClustering,
    LandmarkSpectralEmbedding,
    metrics,
)
from tests.catalogue import each, whatever_results
from tests.contract.estimators import METHODS

pytestmark = whatever_results
N_ROWS, N_FEATURES = 60, 6


def valid(kind=sp.csr_array):
    rows = np.random.default_rng(0).uniform(1, 2, size=(N_ROWS, N_FEATURES))
    rows[np.random.default_rng(1).random(rows.shape) < 0.5] = 0
    return kind(rows)


def broken_csr(**replaced):
    """CSR matrix after its arrays were replaced, which SciPy does not check."""
    X = valid()
    for name, change in replaced.items():
        setattr(X, name, change(getattr(X, name).copy()))
    return X


def with_item(place, value, dtype=None):
    def change(array):
        array = array if dtype is None else array.astype(dtype)
        array[place] = value
        return array

    return change


def swapped(indptr):
    indptr[3], indptr[4] = indptr[4] + 5, indptr[3]
    return indptr


BROKEN = {
    "out of range": broken_csr(indices=with_item(5, 10**7)),
    "one too large": broken_csr(indices=with_item(5, N_FEATURES)),
    "negative": broken_csr(indices=with_item(5, -3)),
    "beyond 2^32": broken_csr(indices=with_item(5, 2**32 + 1, np.int64)),
    "unsigned": broken_csr(indices=with_item(5, 2**64 - 1, np.uint64)),
    "16 bits": broken_csr(indices=with_item(5, N_FEATURES, np.int16)),
    "indices of floats": broken_csr(indices=lambda i: i.astype(float)),
    "indices too short": broken_csr(indices=lambda i: i[:-3]),
    "data too short": broken_csr(data=lambda d: d[:-3]),
    "indptr decreases": broken_csr(indptr=swapped),
    "indptr too long": broken_csr(indptr=lambda p: np.append(p, p[-1])),
    "indptr too short": broken_csr(indptr=lambda p: p[:-1]),
    "indptr ends too late": broken_csr(indptr=with_item(-1, 10**6)),
    "indptr ends beyond 2^32": broken_csr(indptr=with_item(-1, 2**33, np.int64)),
    "indptr begins below zero": broken_csr(indptr=with_item(0, -5)),
    "indptr begins late": broken_csr(indptr=with_item(0, 1)),
    "indptr of floats": broken_csr(indptr=lambda p: p.astype(float)),
}
CSC = sp.csc_array(valid())
CSC.indices[5] = 10**7
COO = sp.coo_array(valid())
COO.coords[1][5] = 10**7
BSR = sp.bsr_array(valid(), blocksize=(2, 2))
BSR.indices[5] = -1
BROKEN |= {"csc": CSC, "coo": COO, "bsr": BSR}
every_broken = each("kind", BROKEN, ids=str)

MODEL = REFCMFS(3, random_state=0, n_init=1)
SHARES = np.eye(3)[np.arange(N_ROWS) % 3]
USES = {
    "fit": lambda X: MODEL.fit(X),
    "fit, reference": lambda X: REFCMFS(3, engine="reference").fit(X),
    "fit, capped": lambda X: CappedREFCMFS(3).fit(X),
    "first batch": lambda X: MODEL.partial_fit(X),
    "second batch": lambda X: fitted().partial_fit(X),
    "init": lambda X: REFCMFS(N_ROWS, init=X).fit(valid()),
    "stream": lambda X: MODEL.fit(sfumato.stream(X)),
    "first chunk": lambda X: MODEL.fit(sfumato.stream([X, valid()])),
    "second chunk": lambda X: MODEL.fit(sfumato.stream([valid(), X])),
    "chunk as batch": lambda X: REFCMFS(3).partial_fit(sfumato.stream([valid(), X])),
    "predicted chunk": lambda X: np.asarray(fitted().predict(sfumato.stream([valid(), X]))),
    "KMedoids": lambda X: KMedoids(3).fit(X),
    "LandmarkSpectralClustering": lambda X: LandmarkSpectralClustering(3).fit(X),
    "LandmarkSpectralEmbedding": lambda X: LandmarkSpectralEmbedding(3).fit(X),
    "fuzzy_silhouette": lambda X: metrics.fuzzy_silhouette(X, SHARES),
    "xie_beni": lambda X: metrics.xie_beni(X, SHARES, np.ones((3, N_FEATURES))),
    "partition_coefficient": metrics.partition_coefficient,
}


@cache
def fitted():
    return REFCMFS(3, random_state=0).fit(valid())


def fitted_method(name):
    return lambda X: getattr(fitted(), name)(X)


USES |= {name: fitted_method(name) for name in METHODS}


@every_broken
@each("use", USES, ids=str)
def test_one_line_says_what_is_wrong(use, kind):
    with pytest.raises(ValueError, match=r"is a broken (CSR|CSC|COO|BSR) matrix") as caught:
        USES[use](BROKEN[kind])
    assert "\n" not in str(caught.value)


@pytest.mark.slow
@every_broken
def test_dask(kind):
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    X = da.from_delayed(
        dask.delayed(lambda: BROKEN[kind])(),
        (N_ROWS, N_FEATURES),
        meta=sp.csr_array((0, N_FEATURES)),
    )
    with dask.config.set(scheduler="synchronous"), pytest.raises(ValueError, match="broken"):
        MODEL.fit(X)


def test_the_matrix_is_not_changed():
    X = broken_csr(indices=lambda i: i.astype(np.int16), indptr=lambda p: p.astype(np.uint16))
    kept = X.indices, X.indptr, X.data
    MODEL.fit(X).predict(X)
    for before, after in zip(kept, (X.indices, X.indptr, X.data), strict=True):
        assert before is after


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.uint64])
def test_indices_of_any_integer_type(dtype):
    X = broken_csr(
        indices=lambda i: i.astype(dtype),
        indptr=lambda p: p.astype(dtype if np.iinfo(dtype).max >= p[-1] else np.int16),
    )
    expected = REFCMFS(3, random_state=0).fit(valid())
    found = REFCMFS(3, random_state=0).fit(X)
    assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
    assert_array_equal(found.predict(X), expected.labels_)


def test_room_behind_the_last_entry():
    """SciPy allows it, and ignores what is there."""
    X = broken_csr(
        indices=lambda i: np.append(i, [10**6] * 3).astype(np.int32),
        data=lambda d: np.append(d, [np.nan] * 3),
    )
    assert_array_equal(
        REFCMFS(3, random_state=0).fit(X).labels_, REFCMFS(3, random_state=0).fit(valid()).labels_
    )
