"""Data that needs no search: clusters that are alike, and no row far from them."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from sfumato import CappedREFCMFS
from sfumato._init import robust
from sfumato._init.clean import clean_cap, clean_fits
from sfumato.losses import Capped
from sfumato.memberships import Hard
from tests.catalogue import make_engine

K, ROWS = 4, 300


def blobs(n_features=5, seed=0):
    rng = np.random.default_rng(seed)
    middles = 12 * np.eye(K, n_features)
    target = np.arange(K * ROWS) % K
    return middles[target] + rng.normal(size=(len(target), n_features)), target


def with_a_far_row(X):
    X[7] += 30
    return X


def with_rows_anywhere(X):
    X[::10] = np.random.default_rng(1).uniform(-40, 40, X[::10].shape)
    return X


def with_a_tight_clump(X):
    X[::K] = 0.1 * np.random.default_rng(1).normal(size=X[::K].shape)
    return X


def with_a_wide_cluster(X):
    X[::K] = X[::K].mean(axis=0) + 2 * (X[::K] - X[::K].mean(axis=0))
    return X


def with_a_small_cluster(X):
    return np.delete(X, np.s_[: K * 220 : K], axis=0)


UNCLEAN = (
    with_a_far_row,
    with_rows_anywhere,
    with_a_tight_clump,
    with_a_wide_cluster,
    with_a_small_cluster,
)


def engine_on(X, weights=None):
    return make_engine("native", X, Capped(10.0), Hard(), weights)


def fits(X, weights=None):
    return clean_fits(engine_on(X, weights), K, np.random.RandomState(0))


class TestCleanFits:
    def test_alike_clusters_are_found_twice(self):
        X, target = blobs()
        for fit in fits(X):
            assert adjusted_rand_score(target, fit.labels) == 1

    @pytest.mark.parametrize("spoil", UNCLEAN)
    def test_anything_else_is_left_to_a_search(self, spoil):
        assert fits(blobs()[0])
        assert not fits(spoil(blobs()[0]))

    def test_few_rows_do_not_tell(self):
        assert not fits(blobs()[0][: 15 * K])

    def test_a_row_of_no_weight_does_not_count(self):
        X, _ = blobs()
        weights = np.ones(len(X))
        weights[7] = 0
        assert fits(with_a_far_row(X), weights)


class TestCap:
    def test_it_holds_all_rows(self):
        X, _ = blobs()
        centers = fits(X)[0].centers
        engine = engine_on(X)
        cap = clean_cap(engine, engine, centers)
        farthest = engine.distances(centers).min(axis=1).max()
        assert 0.9 * farthest < cap < 1.5 * farthest

    def test_a_far_row_beyond_the_sample_is_seen(self):
        X, _ = blobs()
        centers = fits(X)[0].centers
        far = engine_on(with_a_far_row(X.copy()))
        assert clean_cap(far, engine_on(X[100:]), centers) is None


class TestFit:
    @pytest.mark.parametrize("seed", range(3))
    def test_no_search_is_made(self, seed, monkeypatch):
        X, target = blobs()
        found = CappedREFCMFS(K, random_state=seed).fit(X)
        searched = []
        monkeypatch.setattr(robust, "clean_fits", lambda *a: searched.append(a) or [])
        other = CappedREFCMFS(K, random_state=seed).fit(X)
        assert searched
        for model in (found, other):
            assert adjusted_rand_score(target, model.labels_) == 1
        assert found.cap_ == pytest.approx(other.cap_, rel=0.05)
        assert found.fuzzifier_ == other.fuzzifier_
        assert found.stability_ >= 0.98

    def test_a_search_would_have_been_made(self, monkeypatch):
        """The test above is worth nothing unless a search can be seen."""
        calls = []
        real = robust.search
        monkeypatch.setattr(robust, "search", lambda *a: calls.append(a) or real(*a))
        CappedREFCMFS(K, random_state=0).fit(blobs()[0])
        assert not calls
        CappedREFCMFS(K, random_state=0).fit(with_a_far_row(blobs()[0]))
        assert calls
