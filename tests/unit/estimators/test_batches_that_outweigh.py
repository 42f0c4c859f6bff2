"""Batches that outweigh all that was learned before lose no center, or say so."""

import warnings

import numpy as np
import pytest

from sfumato import REFCMFS, RSFKM, CappedREFCMFS, FuzzyCMeans, SimREFCMFS
from sfumato.exceptions import MovedCentersWarning
from tests.catalogue import each

MIDDLES = np.array([[0.0, 0], [10, 0], [0, 10], [10, 10]])
every_kind = each(
    "kind", [REFCMFS, CappedREFCMFS, SimREFCMFS, RSFKM, FuzzyCMeans], ids=lambda kind: kind.__name__
)
every_decay = pytest.mark.parametrize("decay", [0, 0.5, 0.999, 1 - 2**-53])


def rows(seed, n_rows=200, only=None):
    rng = np.random.default_rng(seed)
    classes = rng.integers(4, size=n_rows) if only is None else np.full(n_rows, only)
    return MIDDLES[classes] + 0.5 * rng.normal(size=(n_rows, 2))


def one_heavy_row():
    return rows(1), np.where(np.arange(200) == 0, 1e100, 1.0)


BATCHES = {
    "all rows heavy": (rows(1), np.full(200, 1e100)),
    "one row heavy": one_heavy_row(),
    "one cluster, heavy": (rows(1, only=1), np.full(200, 1e100)),
    "all rows light": (rows(1), np.full(200, 1e-100)),
    "a row": (rows(1)[:1], None),
}


def on_clusters(model):
    """Whether each cluster has a center of its own."""
    away = np.linalg.norm(model.cluster_centers_[:, None] - MIDDLES, axis=2)
    return sorted(away.argmin(axis=1)) == [0, 1, 2, 3] and away.min(axis=1).max() < 2


@every_kind
@every_decay
@each("batch", BATCHES, ids=str)
def test_no_center_is_lost(kind, decay, batch):
    """RSFKM's four centers ended in one place."""
    model = kind(4, random_state=0, decay=decay).partial_fit(rows(0, 400))
    X, weights = BATCHES[batch]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MovedCentersWarning)
        model.partial_fit(X, sample_weight=weights)
        assert on_clusters(model)
        for seed in range(2, 5):
            model.partial_fit(rows(seed))
    assert on_clusters(model)


@each("kind", [REFCMFS, SimREFCMFS, FuzzyCMeans], ids=lambda kind: kind.__name__)
def test_a_center_that_would_leave_stays_with_a_warning(kind):
    model = kind(4, random_state=0).partial_fit(rows(0, 400))
    before = model.cluster_centers_.copy()
    with pytest.warns(MovedCentersWarning, match="to the places of others; they stayed"):
        model.partial_fit(rows(1, only=1), sample_weight=np.full(200, 1e100))
    moved = np.linalg.norm(model.cluster_centers_ - before, axis=1)
    assert np.sort(moved)[:3].max() == 0


def test_a_center_that_goes_far_away_goes_with_a_warning():
    model = FuzzyCMeans(4, random_state=0).partial_fit(rows(0, 400))
    with pytest.warns(MovedCentersWarning, match="farther than to the next center"):
        model.partial_fit(np.vstack([rows(1), [[1e9, 1e9]]]))


@every_kind
def test_ordinary_batches_do_not_warn(kind):
    model = kind(4, random_state=0, decay=0.1)
    for seed in range(6):
        model.partial_fit(rows(seed, 60 if seed else 200))
    assert on_clusters(model)
