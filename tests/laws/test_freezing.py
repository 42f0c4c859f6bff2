"""Centers do not freeze on rows: a start on data points reaches what other starts reach."""

import numpy as np
import pytest

from sfumato import L21, REFCMFS, Capped, Hard, Power
from tests.catalogue import N_CLUSTERS, each, every_engine, every_setting, make_engine, settle

PERTURBATIONS = [1e-15, 1e-12, 1e-9, 1e-6]
RULES = [Hard(), Power(2, 1.1), Power(3, 1.5)]
every_rule = each("rule", RULES)


def clusters(n_rows=30, n_features=4, seed=0):
    """Separated clusters, rows in the order of the clusters."""
    rng = np.random.default_rng(seed)
    middles = 10 * rng.normal(size=(N_CLUSTERS, n_features))
    return np.repeat(middles, n_rows, axis=0) + rng.normal(size=(N_CLUSTERS * n_rows, n_features))


def duplicated():
    """Every row three times."""
    return np.repeat(clusters(10), 3, axis=0)


def with_constant_columns():
    """Columns in which all rows agree, one of them far from zero."""
    X = clusters()
    return np.hstack([X, np.zeros((len(X), 2)), np.full((len(X), 1), 1e3)])


def one_hot(seed=0):
    """Eight categories, in each of which the rows of a cluster mostly have the same value."""
    rng = np.random.default_rng(seed)
    values = np.repeat(np.arange(N_CLUSTERS), 30)[:, None] * np.ones(8, dtype=int)
    changed = rng.random(values.shape) < 0.2
    values[changed] = rng.integers(N_CLUSTERS, size=changed.sum())
    return np.eye(N_CLUSTERS)[values].reshape(len(values), -1)


DATA = {
    "clusters": clusters,
    "duplicated": duplicated,
    "constant columns": with_constant_columns,
    "one-hot": one_hot,
}
every_data = each("data", DATA, ids=str)


def one_row_per_cluster(X):
    return X[:: len(X) // N_CLUSTERS].astype(np.float64)


def reached(engine, start):
    return settle(engine, start, tol=1e-9).objective


@every_setting
@every_data
@every_rule
def test_starts_on_rows_reach_what_others_reach(setting, data, rule):
    engine_name, dtype = setting
    X = DATA[data]().astype(dtype)
    engine = make_engine(engine_name, X, L21(), rule)
    seeds = one_row_per_cluster(X)
    on_rows = reached(engine, seeds)
    means = np.array([part.mean(axis=0) for part in np.split(X, N_CLUSTERS)], dtype=np.float64)
    assert on_rows == pytest.approx(reached(engine, means), rel=1e-4)
    rng = np.random.default_rng(0)
    perturbed = [
        reached(engine, seeds + size * rng.normal(size=seeds.shape)) for size in (1e-3, 0.1)
    ]
    np.testing.assert_allclose(perturbed, on_rows, rtol=1e-4)
    assert on_rows < 0.95 * engine.sweep(seeds).objective


@every_engine
@every_data
@every_rule
@pytest.mark.parametrize("size", PERTURBATIONS)
def test_starts_very_near_rows_leave_them_too(engine_name, data, rule, size):
    """From 1e-9 away the first steps are tiny, and must not be taken for convergence."""
    X = DATA[data]()
    engine = make_engine(engine_name, X, L21(), rule)
    seeds = one_row_per_cluster(X)
    near = seeds + size * np.random.default_rng(0).normal(size=seeds.shape)
    assert reached(engine, near) == pytest.approx(reached(engine, seeds), rel=1e-4)


@every_engine
@every_data
def test_a_generous_cap_does_not_freeze_either(engine_name, data):
    X = DATA[data]()
    seeds = one_row_per_cluster(X)
    capped, plain = (
        make_engine(engine_name, X, loss, Power(2, 1.1)) for loss in (Capped(1e3), L21())
    )
    assert reached(capped, seeds) == pytest.approx(reached(plain, seeds), rel=1e-9)


@every_data
def test_fits_from_seeds_on_rows_come_near_the_best(data):
    """Seeding puts every center on a row; three starts find what the middles lead to."""
    X = DATA[data]()
    means = np.array([part.mean(axis=0) for part in np.split(X, N_CLUSTERS)])
    best = REFCMFS(N_CLUSTERS, n_active=2, fuzzifier=1.1, init=means).fit(X)
    for init in ("k-means++", "random"):
        model = REFCMFS(N_CLUSTERS, n_active=2, fuzzifier=1.1, init=init, n_init=10)
        model.set_params(random_state=0).fit(X)
        assert model.objective_ <= 1.005 * best.objective_


def test_a_start_rounded_to_eight_digits():
    X = clusters()
    exact, rounded = (
        REFCMFS(N_CLUSTERS, n_active=2, fuzzifier=1.1, init=start).fit(X)
        for start in (X[::30], np.round(X[::30], 8))
    )
    assert rounded.objective_ == pytest.approx(exact.objective_, rel=1e-6)
