"""Robust seeds out of several draws: those that agree are enough."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist

from sfumato import Capped, CappedREFCMFS, Hard
from sfumato.solve import short_fits
from sfumato.solve.caps import FIRST_FITS
from sfumato.solve.robust import RobustSeeds
from tests.catalogue import make_engine
from tests.test_robust import contaminated, every_kind


@pytest.fixture
def fits(monkeypatch):
    """Seeds of the short fits that are made."""
    made, greedy_seeds = [], short_fits.greedy_seeds

    def spy(*given):
        made.append(greedy_seeds(*given))
        return made[-1]

    monkeypatch.setattr(short_fits, "greedy_seeds", spy)
    return made


def proposals(X, n_clusters, calls, loss=None):
    """Proposed centers, call after call, and the initializer."""
    engine = make_engine("native", X, loss or Capped(), Hard())
    initializer, rng = RobustSeeds(), np.random.RandomState(0)
    return [initializer.centers(engine, n_clusters, rng) for _ in range(calls)], initializer


@every_kind
def test_seeds_that_agree_are_not_sought_again(kind, fits):
    found, initializer = proposals(contaminated(kind).data, 6, calls=8)
    assert not initializer.random
    assert len(fits) <= 6
    for centers in found[1:]:
        assert (cdist(found[0], centers).min(axis=1) < 0.5).all()
    assert_array_equal(found[-1], found[-2])


def test_seeds_that_differ_are_sought_on(fits):
    X = np.random.default_rng(0).uniform(size=(400, 5))
    found, initializer = proposals(X, 12, calls=8, loss=Capped(1.0))
    assert initializer.random
    assert len(fits) == FIRST_FITS + 7
    assert len({centers.tobytes() for centers in found}) > 1


def test_starts_that_would_be_the_same_are_left_out():
    X = contaminated(n_rows=1200).data
    one, many = (CappedREFCMFS(6, n_init=n, random_state=0).fit(X) for n in (1, 9))
    assert_array_equal(one.cluster_centers_, many.cluster_centers_)
    starts = []

    def spy(X, n_clusters, random_state):
        starts.append(0)
        return X[random_state.choice(len(X), n_clusters, replace=False)]

    CappedREFCMFS(6, init=spy, n_init=9, cap=5.0, fuzzifier=1.1, random_state=0).fit(X)
    assert len(starts) == 9
