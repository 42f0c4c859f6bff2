"""One answer about outliers: marks, scores, labels and memberships say the same everywhere."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from sfumato import Capped, CappedREFCMFS, FuzzyClustering, Hard, Power, stream
from sfumato.losses import Loss
from sfumato.memberships import Membership
from tests.catalogue import (
    CAP,
    EVERY_LOSS,
    EVERY_MEMBERSHIP,
    N_CLUSTERS,
    USER_STORAGES,
    blobs,
    each,
    every_engine,
    every_membership,
    every_setting,
    make_engine,
    row_weights,
    start_near,
    whatever_results,
)

pytestmark = whatever_results

FAR = np.array([[40.0, 0, 0], [0, 0, -70.0], [30.0, 30, 30]])
X = np.concatenate([blobs(80), FAR])
NEW = np.concatenate([FAR[:2] + 1, blobs(80)[:20] + 0.1])
START = start_near(blobs(80))
BOUNDED = [loss for loss in EVERY_LOSS if loss.bounded]
PLACES = ("memory", "stream", "dask")


def in_place(rows: Any, place: str) -> Any:
    """The rows as an array, a stream or a dask array of several chunks."""
    if place == "memory":
        return rows
    if place == "stream":
        parts = [rows[:30], rows[30:]] if rows.shape[0] > 30 else [rows]
        return stream(parts)
    if not sp.issparse(rows):
        return da.from_array(rows, chunks=(30, -1))
    blocks = [da.from_array(rows[i : i + 30], asarray=False) for i in range(0, rows.shape[0], 30)]
    return da.concatenate(blocks)


def now(values: Any) -> Any:
    """Values of an array that may be lazy."""
    return values.compute() if hasattr(values, "compute") else values


def fitted(loss: Loss, membership: Membership, rows: Any, **given: Any) -> FuzzyClustering:
    options = {"max_iter": 3, "init": START} | given
    weights = options.pop("weights", None)
    model = FuzzyClustering(N_CLUSTERS, loss=loss, membership=membership, **options)
    return model.fit(rows, sample_weight=weights)


def assert_empty_where(outliers: Any, memberships: Any, dense: Any) -> None:
    """No stored entries where a row is an outlier, otherwise memberships that sum to one."""
    outliers, memberships, dense = now(outliers), now(memberships), now(dense)
    assert memberships.has_canonical_format
    assert_array_equal(np.diff(memberships.indptr) == 0, outliers)
    assert_allclose(memberships.sum(axis=1), 1.0 - outliers, atol=1e-6)
    assert_array_equal(dense, memberships.toarray())


def assert_one_answer(model: FuzzyClustering, rows: Any, new: Any) -> None:
    """Agreement of all that is said about outliers, among training rows and new ones."""
    outliers = now(model.outliers_)
    assert_array_equal(now(model.outlier_scores_) > 1, outliers)
    assert_array_equal(now(model.predict(rows)), now(model.labels_))
    assert_empty_where(outliers, model.memberships_, model.predict_proba(rows))
    found = now(model.memberships_).toarray()
    assert_array_equal(now(model.predict_membership(rows)).toarray(), found)
    for these in (rows, new):
        outlying = now(model.score_outliers(these)) > 1
        nearest, marked = now(model.predict(these)), now(model.predict(these, mark_outliers=True))
        assert_array_equal(marked, np.where(outlying, -1, nearest))
        assert nearest.min() >= 0
        assert outlying.any()
        assert not outlying.all()
        assert_empty_where(outlying, model.predict_membership(these), model.predict_proba(these))
    if np.isfinite(model.cap_):
        assert (model.cluster_radii_ <= model.cap_).all()
        distances = now(model.transform(rows))
        assert outliers[(distances > model.cap_).all(axis=1)].all()


@every_setting
@every_membership
@each("loss", BOUNDED)
@pytest.mark.parametrize("place", PLACES)
def test_marks_scores_labels_and_memberships_agree(
    setting: tuple[str, type], membership: Membership, loss: Loss, place: str
) -> None:
    engine, dtype = setting
    for name in ("C", "csr32") if place == "dask" else USER_STORAGES:
        if place == "stream" and name == "csc":
            continue
        rows, new = (USER_STORAGES[name](each.astype(dtype)) for each in (X, NEW))
        places = [in_place(each, place) for each in (rows, new)]
        weights = row_weights(len(X)) if name in ("F", "csr32") else None
        with dask.config.set(scheduler="sync"):
            model = fitted(loss, membership, places[0], engine=engine, weights=weights)
            assert_one_answer(model, *places)


@each("membership", EVERY_MEMBERSHIP)
@each("loss", [loss for loss in EVERY_LOSS if not loss.bounded])
def test_under_an_unbounded_loss_outliers_keep_their_memberships(
    loss: Loss, membership: Membership
) -> None:
    for place in ("memory", "stream"):
        rows = in_place(X, place)
        model = fitted(loss, membership, rows)
        assert now(model.score_outliers(NEW) > 1).any()
        assert_allclose(now(model.memberships_).sum(axis=1), 1, rtol=1e-12)
        assert_allclose(now(model.predict_proba(in_place(NEW, place))).sum(axis=1), 1, rtol=1e-12)


@every_engine
@each("membership", [Hard(), Power(2, 1.5)])
def test_batches_give_one_answer(engine_name: str, membership: Membership) -> None:
    model = FuzzyClustering(
        N_CLUSTERS, loss=Capped(CAP), membership=membership, init=START, engine=engine_name
    )
    for begin in (0, 30, 60):
        batch = np.concatenate([X[begin : begin + 30], FAR])
        model.partial_fit(batch, sample_weight=row_weights(len(batch)))
        assert_one_answer(model, batch, NEW)


def test_the_objective_counts_outliers_all_the_same() -> None:
    """Only what is reported changes: rows beyond the cap cost it."""
    model = fitted(Capped(CAP), Hard(), X)
    distances = model.transform(X).min(axis=1)
    assert_allclose(model.objective_, np.minimum(distances, CAP).sum(), rtol=1e-12)
    assert_allclose(model.objective_, model.objective(X), rtol=1e-12)


@every_engine
def test_the_border_belongs_to_the_cluster(engine_name: str) -> None:
    """A hand-worked case: six rows at a distance of 1 from each center, and a cap of 4."""
    around = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1], [1, 0], [-1, 0]])
    centers = np.array([[0.0, 0], [100, 0]])
    rows = np.concatenate([around, centers[1] + around])
    model = FuzzyClustering(
        2, loss=Capped(4.0), membership=Power(2, 2.0), init=centers, engine=engine_name
    ).fit(rows)
    assert_allclose(model.cluster_centers_, centers, atol=1e-12)
    model.cluster_centers_, model.cluster_radii_ = centers, np.array([2.0, 4.0])
    new = np.array([[2.0, 0], [2.0 + 1e-9, 0], [0, 2], [96, 0], [95.5, 0], [3, 0]])
    outlying = [False, True, False, False, True, True]
    assert_array_equal(model.score_outliers(new) > 1, outlying)
    assert_array_equal(model.predict(new), [0, 0, 0, 1, 1, 0])
    assert_array_equal(model.predict(new, mark_outliers=True), [0, -1, 0, 1, -1, -1])
    # At distances 2 and 98, losses 2 and 4: shares in proportion to 1/2 and 1/4.
    first = [[2 / 3, 1 / 3], [0, 0], [2 / 3, 1 / 3]]
    assert_allclose(model.predict_proba(new)[:3], first, rtol=1e-12)
    assert_array_equal(model.predict_membership(new).indptr, [0, 2, 2, 4, 6, 6, 6])


@each("loss", [Capped(1.0), Capped(np.inf)])
def test_a_cluster_of_few_rows_ends_at_the_cap(loss: Capped) -> None:
    """Its own radius is unknown. Without a cap to take instead, scores leave the cluster out."""
    line = np.linspace(-0.5, 0.5, 20)[:, None]
    rows = np.concatenate([line, [[50.0], [50.2]]])
    model = FuzzyClustering(2, loss=loss, membership=Hard(), init=[[0.0], [50.1]]).fit(rows)
    if np.isfinite(loss.cap):
        assert model.cluster_radii_[1] == 1.0
        assert not model.outliers_.any()
        assert_array_equal(model.score_outliers([[51.1], [51.5]]) > 1, [False, True])
    else:
        assert np.isnan(model.cluster_radii_[1])
        assert_array_equal(np.flatnonzero(model.outliers_), [20, 21])
        assert_array_equal(np.diff(model.memberships_.indptr)[-2:], 0)


@every_engine
@pytest.mark.parametrize("cap", [1.5, 0.5])
def test_members_beyond_the_cap_are_the_nearest(engine_name: str, cap: float) -> None:
    """A hand-worked case: beyond the cap all clusters cost the same, and distances decide."""
    centers = np.array([[9.0], [1.0], [5.0], [3.0], [7.0]])
    rows = np.array([[2.2], [8.1], [30.0]])
    engine = make_engine(engine_name, rows, Capped(cap), Power(3, 2.0))
    found = engine.assign(centers)
    assert_array_equal(found.labels, [3, 0, 0])
    assert_array_equal(found.memberships.indices.reshape(3, 3), [[1, 2, 3], [0, 2, 4], [0, 2, 4]])
    if cap == 0.5:  # All of them are beyond it.
        assert_allclose(found.memberships.data, 1 / 3, rtol=1e-12)
    else:  # Losses 0.8, 1.2 and the cap; 0.9, 1.1 and the cap.
        shares = np.array([[1 / 1.2, 1 / 1.5, 1 / 0.8], [1 / 0.9, 1 / 1.5, 1 / 1.1]])
        expected = shares / shares.sum(axis=1, keepdims=True)
        assert_allclose(found.memberships.sum(axis=1), 1)
        assert_allclose(found.memberships.data.reshape(3, 3)[:2], expected, rtol=1e-12)


def test_radii_never_exceed_an_automatic_cap() -> None:
    rng = np.random.default_rng(0)
    centers = rng.uniform(-20, 20, size=(5, 4))
    widths = np.array([0.2, 0.5, 1.0, 2.0, 3.0])
    labels = rng.integers(5, size=2000)
    rows = centers[labels] + widths[labels, None] * rng.normal(size=(2000, 4))
    rows[:40] *= 100
    model = CappedREFCMFS(5, random_state=0).fit(rows)
    assert np.isfinite(model.cap_)
    assert_one_answer(model, rows, rows[20:300])
    for begin in (0, 20):
        batch = rows[begin : begin + 700]
        assert_one_answer(model.partial_fit(batch), batch, rows)
