"""Seeds: drawn in proportion to loss and weight, distinct, and the best of their candidates."""

from typing import ClassVar

import numpy as np
import pytest

from sfumato import REFCMFS, RSFKM, FuzzyClustering, Hard, Squared
from sfumato import _sampling as sampling
from sfumato._init.base import GivenCenters, Initializer, KMeansPlusPlus, RandomRows, draw
from sfumato._init.robust import RobustSeeds
from tests.catalogue import (
    N_CLUSTERS,
    USER_STORAGES,
    blobs,
    each,
    every_dtype,
    every_engine,
    every_loss,
    make_engine,
    row_weights,
    sparse_blobs,
)

EVERY_RANDOM = [KMeansPlusPlus(), RandomRows()]
every_initializer = each("initializer", EVERY_RANDOM, ids=lambda part: type(part).__name__)


class Dice:
    """Random numbers that are not: the given ones, for any size."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def uniform(self, size):
        return self.values[:size]


def seeds_of(initializer, engine, seed=0, n_clusters=N_CLUSTERS):
    return initializer.centers(engine, n_clusters, np.random.RandomState(seed))


def draw_in_turn(weights, count, rng):
    """Draws over rows in the order in which they came."""
    return draw(weights, np.arange(len(weights)), count, rng)


def losses_to(loss, X, centers):
    """Losses of all rows to all centers, by brute force."""
    return loss.value(((X[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2))


# Draws.


def test_draws_go_by_the_inverse_of_the_cumulative_weight():
    middles = (np.arange(1000) + 0.5) / 1000
    drawn = draw_in_turn(np.array([1.0, 0.0, 3.0, 0.0, 4.0]), 1000, Dice(middles))
    np.testing.assert_array_equal(np.bincount(drawn), [125, 0, 375, 0, 500])
    np.testing.assert_array_equal(drawn, np.sort(drawn))


def test_draws_go_through_the_rows_in_the_given_order():
    weights, order = np.array([1.0, 2.0, 5.0]), np.array([2, 0, 1])
    drawn = draw(weights, order, 4, Dice([0.0, 0.62, 0.63, 0.99]))
    np.testing.assert_array_equal(drawn, [2, 2, 0, 1])


@pytest.mark.parametrize("weights", [[0, 0, 1, 0], [0, 2, 0, 3, 0, 0], [0.1, 0.2, 0.7, 0]])
def test_rows_of_weight_zero_are_never_drawn(weights):
    weights = np.array(weights, dtype=float)
    extremes = [0.0, 5e-324, 0.5, np.nextafter(1, 0)]
    drawn = draw_in_turn(weights, len(extremes), Dice(extremes))
    assert (weights[drawn] > 0).all()


@each("together", (1, 7, 1000), ids=str)
def test_draws_do_not_depend_on_how_many_weights_are_added_at_a_time(together, monkeypatch):
    """Sums of whole numbers are exact, so that the rows must be the same ones."""
    rng = np.random.default_rng(0)
    weights, costs = rng.integers(0, 5, size=(2, 50)).astype(float)
    order = rng.permutation(50)
    expected = draw(weights, order, 40, np.random.RandomState(0), costs)
    monkeypatch.setattr(sampling, "SUMMED_ROWS", together)
    found = draw(weights, order, 40, np.random.RandomState(0), costs)
    np.testing.assert_array_equal(found, expected)


def test_a_weight_of_three_draws_like_three_copies():
    weights = np.array([1.0, 3.0, 2.0])
    values = np.random.default_rng(0).random(500)
    copies = np.repeat(np.arange(3), weights.astype(int))
    as_copies = copies[draw_in_turn(np.ones(6), 500, Dice(values))]
    np.testing.assert_array_equal(draw_in_turn(weights, 500, Dice(values)), as_copies)


# Seeds.


@every_engine
@every_initializer
@every_loss
def test_seeds_are_distinct_rows(engine_name, initializer, loss):
    X = np.repeat(blobs(12), 5, axis=0)
    engine = make_engine(engine_name, X, loss, Hard())
    for seed in range(5):
        centers = seeds_of(initializer, engine, seed, n_clusters=12)
        assert centers.dtype == np.float64
        np.testing.assert_array_equal(np.unique(centers, axis=0), np.unique(X, axis=0))


@every_engine
@every_initializer
def test_rows_of_weight_zero_are_never_seeds(engine_name, initializer):
    X = blobs()
    X[::2] += 100
    weights = np.tile([0.0, 1.0], 30)
    engine = make_engine(engine_name, X, Squared(), Hard(), weights)
    for seed in range(20):
        assert (seeds_of(initializer, engine, seed) < 50).all()


@every_engine
@every_initializer
@every_loss
def test_a_weight_of_three_seeds_like_three_copies(engine_name, initializer, loss):
    X = blobs(40)
    weights = np.random.default_rng(1).integers(1, 4, size=40)
    weighted = make_engine(engine_name, X, loss, Hard(), weights)
    repeated = make_engine(engine_name, np.repeat(X, weights, axis=0), loss, Hard())
    for seed in range(5):
        np.testing.assert_array_equal(
            seeds_of(initializer, weighted, seed), seeds_of(initializer, repeated, seed)
        )


@every_engine
@every_initializer
def test_the_order_of_the_rows_does_not_matter(engine_name, initializer):
    X, weights = blobs(), row_weights(60)
    shuffled = np.random.default_rng(2).permutation(60)
    engine = make_engine(engine_name, X, Squared(), Hard(), weights)
    other = make_engine(engine_name, X[shuffled], Squared(), Hard(), weights[shuffled])
    for seed in range(5):
        np.testing.assert_array_equal(
            seeds_of(initializer, other, seed), seeds_of(initializer, engine, seed)
        )


@every_engine
@every_loss
def test_seeding_is_greedy_by_the_loss(engine_name, loss):
    """The same draws, with all costs and candidate_costs by brute force, give the same seeds."""
    X, weights = blobs(), row_weights(60)
    order = np.argsort(((X - np.average(X, axis=0, weights=weights)) ** 2).sum(axis=1))
    rng = np.random.RandomState(3)
    seeds = X[draw(weights, order, 1, rng)]
    while len(seeds) < N_CLUSTERS:
        costs = losses_to(loss, X, seeds).min(axis=1)
        candidates = X[draw(costs * weights, order, 2 + int(np.log(N_CLUSTERS)), rng)]
        totals = [
            weights @ np.minimum(costs, losses_to(loss, X, candidate[None])[:, 0])
            for candidate in candidates
        ]
        seeds = np.vstack([seeds, candidates[np.argmin(totals)]])
    engine = make_engine(engine_name, X, loss, Hard(), weights)
    np.testing.assert_array_equal(seeds_of(KMeansPlusPlus(), engine, seed=3), seeds)


@every_engine
@every_loss
@every_dtype
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_costs_and_candidate_costs_against_brute_force(engine_name, loss, dtype, sparse):
    X = sparse_blobs().astype(dtype)
    weights = row_weights(60)
    stored = USER_STORAGES["csr32" if sparse else "C"](X)
    engine = make_engine(engine_name, stored, loss, Hard(), weights)
    exact = X.astype(np.float64)
    costs = np.full(60, np.inf, dtype=dtype)
    engine.update_costs(costs, exact[:2])
    rtol = 1e-12 if dtype == np.float64 else 1e-5
    expected = losses_to(loss, exact, exact[:2]).min(axis=1)
    np.testing.assert_allclose(costs, expected, rtol=rtol, atol=rtol)
    assert costs[0] == costs[1] == 0
    candidates = exact[10:17]
    totals = weights @ np.minimum(expected[:, None], losses_to(loss, exact, candidates))
    np.testing.assert_allclose(engine.candidate_costs(costs, candidates), totals, rtol=rtol)


@every_engine
def test_lower_never_raises_a_cost(engine_name):
    X = blobs()
    engine = make_engine(engine_name, X, Squared(), Hard())
    costs = np.full(60, 1e-3)
    engine.update_costs(costs, X[:1])
    np.testing.assert_array_equal(costs, np.where(np.arange(60) == 0, 0, 1e-3))


@every_initializer
@each("storage", USER_STORAGES, ids=str)
def test_storage_does_not_matter(initializer, storage):
    X = sparse_blobs()
    plain = make_engine("reference", X, Squared(), Hard())
    stored = make_engine("reference", USER_STORAGES[storage](X), Squared(), Hard())
    np.testing.assert_array_equal(seeds_of(initializer, stored), seeds_of(initializer, plain))


@every_initializer
def test_random_initializers_say_so(initializer):
    engine = make_engine("reference", blobs(), Squared(), Hard())
    assert initializer.random
    assert not np.array_equal(seeds_of(initializer, engine, 0), seeds_of(initializer, engine, 1))
    np.testing.assert_array_equal(
        seeds_of(initializer, engine, 0), seeds_of(initializer, engine, 0)
    )


def test_given_centers_are_not_random():
    given = GivenCenters(blobs(N_CLUSTERS))
    assert not given.random
    np.testing.assert_array_equal(seeds_of(given, None), blobs(N_CLUSTERS))


def test_seeding_finds_separated_clusters():
    """One seed in each of ten far clusters, where rows drawn evenly nearly always miss one."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(10), 30)
    X = 1000 * rng.normal(size=(10, 4))[truth] + rng.normal(size=(300, 4))
    engine = make_engine("reference", X, Squared(), Hard())
    for seed in range(10):
        seeds = seeds_of(KMeansPlusPlus(), engine, seed, n_clusters=10)
        nearest = losses_to(Squared(), seeds, X).argmin(axis=1)
        assert sorted(truth[nearest]) == list(range(10))


# A user's own.


class Recorded(Initializer):
    """Random rows, with a record of what was called."""

    calls: ClassVar[list[str]] = []

    def __init__(self, shift=0.0):
        self.shift = shift

    def prepare(self, engine, n_clusters, rng):
        self.calls.append("prepare")
        return super().prepare(engine, n_clusters, rng)

    def centers(self, engine, n_clusters, rng):
        self.calls.append("centers")
        return RandomRows().centers(engine, n_clusters, rng) + self.shift


@pytest.mark.parametrize(
    ("model", "pilots"),
    [
        (REFCMFS(fuzzifier=1.5), 0),
        (REFCMFS(fuzzifier="auto"), 0),
        (RSFKM(gamma=1.0), 0),
        (RSFKM(gamma="auto"), 3),
    ],
    ids=repr,
)
def test_an_estimator_takes_a_users_initializer(model, pilots):
    """It is prepared once; a pilot fit has three starts, where gamma is "auto"."""
    Recorded.calls = []
    model.set_params(n_clusters=N_CLUSTERS, init=Recorded(), n_init=2, random_state=0)
    found = model.fit(blobs())
    assert Recorded.calls == ["prepare"] + (pilots + 2) * ["centers"]
    expected = model.set_params(init="random").fit(blobs())
    np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)


def test_an_initializer_is_a_parameter_like_others():
    model = FuzzyClustering(N_CLUSTERS, init=Recorded(), random_state=0)
    model.set_params(init__shift=0.5)
    assert model.get_params()["init__shift"] == 0.5
    before = dict(vars(model.init))
    model.fit(blobs())
    assert vars(model.init) == before, "a fit works on a copy"


def test_an_instance_of_ours_is_its_name():
    X = blobs(200)
    by_name, by_instance = (
        FuzzyClustering(N_CLUSTERS, loss="capped", init=init, random_state=0).fit(X)
        for init in ("robust", RobustSeeds())
    )
    np.testing.assert_array_equal(by_name.cluster_centers_, by_instance.cluster_centers_)


@each("membership", ("hard", "power"), ids=str)
@pytest.mark.parametrize(
    ("made", "words"),
    [(np.zeros((2, 3)), r"of shape \(2, 3\)"), (np.full((5, 3), np.nan), "not finite")],
    ids=["shape", "nan"],
)
def test_wrong_centers_are_named(made, words, membership):
    class Wrong(Initializer):
        def centers(self, engine, n_clusters, rng):
            return made

    model = FuzzyClustering(5, init=Wrong(), membership=membership)
    with pytest.raises(ValueError, match=rf"Wrong.centers .*{words}.*\(5, 3\)"):
        model.fit(blobs(n_features=3))


def test_an_initializer_without_centers_cannot_be_made():
    with pytest.raises(TypeError, match="centers"):
        Initializer()
