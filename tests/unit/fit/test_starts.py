"""Starts, coarse to fine: compared on a sample, improved on larger ones, ended on all rows."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from sfumato import L21, REFCMFS, Capped, CappedREFCMFS, FuzzyCMeans, Hard, Power, SimREFCMFS
from sfumato._engines.native import NativeEngine
from sfumato._fit import starts
from sfumato._fit.starts import level_sizes
from sfumato._solvers.restarts import HALVING, SHORT_HALVING, Plan
from sfumato.datasets import make_blobs_with_outliers
from sfumato.exceptions import CollapseWarning
from tests.catalogue import blobs, csr, make_engine, needs_callbacks, row_weights
from tests.contract.estimators import every_estimator
from tests.interrupted import Sweeps, assert_same, counted_sweeps
from tests.unit.fit.test_checkpoint import check_law


@pytest.fixture
def small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples of 30 and 60 of 120 rows, or up to half of more."""
    for name, value in {"FIRST_ROWS": 30, "FIRST_ROWS_PER_CLUSTER": 4, "GROWTH": 2}.items():
        monkeypatch.setattr(starts, name, value)
    monkeypatch.setattr(starts, "LARGEST_SHARE", 2)


def sizes(n_rows: int, n_clusters: int = 8, plan: Plan = HALVING) -> tuple[int, ...]:
    class Rows:
        data = None

    rows = Rows()
    rows.n_rows = n_rows  # type: ignore[attr-defined]
    return level_sizes(plan, rows, n_clusters)  # type: ignore[arg-type]


def test_sizes_of_samples() -> None:
    assert sizes(7_999) == ()
    assert sizes(8_000) == sizes(127_999) == (4_000,)
    assert sizes(128_000) == (4_000, 16_000)
    assert sizes(10**8) == (4_000, 16_000, 64_000, 256_000, 1_024_000, 4_096_000)
    assert sizes(10_000, 100) == ()
    assert sizes(30_000, 100) == (10_000,)
    assert sizes(30_000, plan=SHORT_HALVING) == (4_000,)


@pytest.mark.parametrize("n_rows", [128_000, 10**6, 10**7, 123_456_789])
def test_all_samples_take_a_sixth_of_the_memory_at_most(n_rows: int) -> None:
    assert sum(sizes(n_rows)) <= n_rows / 6


def test_who_is_compared_on_samples() -> None:
    assert Plan.of("auto", random=True).sampled
    assert Plan.of("auto", random=False, refined=True).sampled, "searches that agree"
    assert not Plan.of("auto", random=False).sampled, "given centers are a start on all rows"
    assert not Plan.of(3, random=True).sampled, "a number is so many full starts"


def test_samples_are_nested_and_respect_weights() -> None:
    X, weights = blobs(120, 3, 4), np.tile([0.0, 1.0, 5.0], 40)
    engine = make_engine("native", X, L21(), Power(2, 1.5), weights)
    small, large = engine.nested_coresets((30, 60), np.random.RandomState(0))
    assert (small.n_rows, large.n_rows) == (30, 60)
    rows = [{row.tobytes() for row in e.data.dense(slice(None))} for e in (small, large)]
    assert rows[0] <= rows[1] <= {row.tobytes() for row in X[weights > 0]}
    heavy = {row.tobytes() for row in X[weights == 5]}
    is_heavy = np.array([row.tobytes() in heavy for row in large.data.dense(slice(None))])
    share = large.data.weights[is_heavy].sum() / large.data.weights.sum()
    assert share == pytest.approx(5 / 6, abs=0.1)
    assert_allclose(large.data.weights.mean(), 1)


def test_far_rows_are_in_every_sample_with_a_small_weight() -> None:
    """They may be most of the objective: a sample without them would be of other data."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(5000, 3)), 1000 + rng.normal(size=(5, 3))])
    for loss, expected in ((L21(), 5), (Capped(4.0), 0)):
        engine = make_engine("native", X, loss, Power(2, 1.5))
        drawn = []
        for seed in range(20):
            (sample,) = engine.nested_coresets((200,), np.random.RandomState(seed))
            far = sample.data.dense(slice(None))[:, 0] > 500
            drawn.append(far.sum())
            weights = sample.data.weights_or_ones()
            assert weights[far].sum() < 0.02 * weights.sum()
        assert np.median(drawn) == expected


def test_sums_over_a_sample_are_unbiased() -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(3000, 2)), 100 * rng.standard_cauchy(size=(30, 2))])
    engine = make_engine("native", X, L21(), Hard())
    centers = np.array([[0.0, 0.0], [50.0, -20.0]])
    expected = engine.sweep(centers).objective / len(X)
    found = []
    for seed in range(60):
        (sample,) = engine.nested_coresets((300,), np.random.RandomState(seed))
        found.append(sample.sweep(centers).objective / sample.data.weights_or_ones().sum())
    assert np.mean(found) == pytest.approx(expected, rel=0.05)


@every_estimator
def test_a_fit_from_samples_ends_as_low_as_ten_starts(estimator: Any, small_samples: None) -> None:
    X = blobs(600, 3, 4)
    if estimator.n_clusters != 4:
        estimator = clone(estimator).set_params(n_clusters=4)
    sampled = clone(estimator).set_params(random_state=0, n_init="auto").fit(X)
    full = clone(estimator).set_params(random_state=0, n_init=10).fit(X)
    assert adjusted_rand_score(sampled.labels_, full.labels_) > 0.99
    if np.isinf(full.cap_):
        assert sampled.objective_ <= 1.0002 * full.objective_


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", ["dense", "float32", "csr"])
def test_interrupted_fits_from_samples_end_with_the_same_bits(
    kind: str,
    weighted: bool,
    small_samples: None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    sweeps: Sweeps = counted_sweeps(monkeypatch)
    X = blobs(120, 3, 4)
    rows = {"dense": X, "float32": X.astype(np.float32), "csr": csr(X)}[kind]
    weights = row_weights(120) if weighted else None
    estimator = REFCMFS(4, fuzzifier=1.4, random_state=0)
    check_law(sweeps, tmp_path, estimator, rows, weights, shares=(0.1, 0.3, 0.6, 0.9, 0.97))


def test_noise_is_resumed_although_starts_disagree(
    small_samples: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whether starts agree is stored: their centers of then are gone when a fit is resumed."""
    sweeps: Sweeps = counted_sweeps(monkeypatch)
    X = np.random.default_rng(0).normal(size=(120, 4))
    estimator = REFCMFS(6, fuzzifier=1.2, random_state=0)
    for first_rows in (30, 10**6):
        monkeypatch.setattr(starts, "FIRST_ROWS", first_rows)
        path = tmp_path / str(first_rows)
        path.mkdir()
        check_law(sweeps, path, estimator, X, shares=(0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9))


def test_the_history_is_that_of_the_descent_on_all_rows(small_samples: None) -> None:
    X = blobs(120, 3, 4)
    model = REFCMFS(4, fuzzifier=1.4, random_state=0).fit(X)
    again = REFCMFS(4, fuzzifier=1.4, init=model.cluster_centers_).fit(X)
    assert_allclose(model.history_[-1].objective, again.history_[0].objective, rtol=1e-12)
    assert model.history_[0].objective < 1.2 * model.history_[-1].objective
    assert (np.diff([record.objective for record in model.history_]) <= 0).all()


class Names:
    """Callback that notes the names of the tasks."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def setup(self, estimator: Any, context: Any) -> None:
        pass

    def teardown(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        if context.task_name != "iteration":
            self.names.append(context.task_name)

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        pass


@needs_callbacks
def test_callbacks_see_all_levels(small_samples: None, monkeypatch: pytest.MonkeyPatch) -> None:
    names = Names()
    model = REFCMFS(4, fuzzifier=1.4, random_state=0).set_callbacks(names)
    model.fit(blobs(600, 3, 4))
    assert names.names[1:4] == ["start 0", "start 1", "sample of 60 rows"]
    assert names.names[-1] == "all rows", "two starts that agree are enough"
    names.names.clear()
    model.set_params(n_clusters=9).fit(np.random.default_rng(0).normal(size=(120, 4)))
    begun = sum(name.startswith("start") for name in names.names)
    assert HALVING.exchanged <= begun <= HALVING.exchanged + HALVING.improved, "noise tells nothing"
    names.names.clear()
    monkeypatch.setattr(starts, "UNRESOLVED", 0.0)
    model.fit(np.random.default_rng(0).normal(size=(120, 4)))
    assert sum(name.startswith("start") for name in names.names) >= HALVING.starts


@pytest.mark.parametrize("shift", [0.0, 0.5, 8.0])
def test_a_sample_tells_which_start_is_better_by_a_paired_test(shift: float) -> None:
    """Losses are distances to one center, 0 or ``shift``: their mean difference over its error."""
    X = np.random.default_rng(0).normal(size=(400, 1))
    engine = make_engine("native", X, L21(), Hard())
    context = SimpleNamespace(sizes=(400,), checkpoint=None)
    first, second = (
        SimpleNamespace(number=n, descent=SimpleNamespace(centers=np.array([[center]])))
        for n, center in enumerate((0.0, shift))
    )
    falls = np.abs(X[:, 0] - shift) - np.abs(X[:, 0])
    error = falls.std() / np.sqrt(400)
    expected = abs(falls.mean()) <= 2 * error
    assert starts._alike(context, engine, first, second) == expected
    assert expected == (shift == 0)
    on_all_rows = SimpleNamespace(sizes=(), checkpoint=None)
    assert not starts._alike(on_all_rows, engine, first, second)


def test_two_starts_that_agree_end_the_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """They pass over the data less often than ten starts do."""
    X, model = blobs(600, 3, 4), REFCMFS(4, fuzzifier=1.4, random_state=0)
    passes: list[int] = []
    sweep = NativeEngine.sweep

    def counted(engine: NativeEngine, centers: np.ndarray) -> Any:
        passes.append(engine.n_rows)
        return sweep(engine, centers)

    monkeypatch.setattr(NativeEngine, "sweep", counted)
    model.fit(X)
    agreed = len(passes)
    monkeypatch.setattr(starts, "_agree", lambda *_: False)
    model.fit(X)
    assert agreed < (len(passes) - agreed) / 2
    assert model.stability_ > 0.99


@pytest.mark.slow
@pytest.mark.parametrize(
    ("Model", "n_features"),
    # Not REFCMFS in a plane: two centers in a large cluster have a lower objective there.
    [(REFCMFS, 16), (CappedREFCMFS, 2), (CappedREFCMFS, 16), (FuzzyCMeans, 2), (FuzzyCMeans, 16)],
)
def test_a_cluster_of_half_a_percent_is_found_from_every_seed(Model: Any, n_features: int) -> None:
    """Ten standard deviations away from the nearest of eight others."""
    rng = np.random.default_rng(0)
    middles = 30 * np.eye(8, n_features) if n_features > 8 else 30 * rng.permutation(
        np.stack(np.meshgrid(np.arange(3), np.arange(3)), -1).reshape(-1, 2)
    )[:8]  # fmt: skip
    step = np.zeros(n_features)
    step[0] = 10.0
    middles = np.vstack([middles, middles[0] - step])
    truth = np.repeat(np.arange(9), [2487] * 8 + [100])
    X = (middles[truth] + rng.normal(size=(len(truth), n_features)))[:, :n_features]
    options = {"fuzzifier": "auto"} if Model is FuzzyCMeans else {}
    for seed in range(20):
        model = Model(9, random_state=seed, **options).fit(X)
        assert adjusted_rand_score(truth, model.labels_) > 0.99, seed


def test_threads_do_not_change_the_bits() -> None:
    """On more rows than the smallest sample has, of noise, so that all starts are run."""
    X = np.random.default_rng(0).normal(size=(40_000, 8))
    models = [REFCMFS(10, random_state=0, n_threads=n, max_iter=30) for n in (1, 3)]
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        assert_same(*(model.fit(X) for model in models))
    assert_array_equal(models[0].cluster_centers_, models[1].cluster_centers_)


@pytest.mark.parametrize("estimator", [FuzzyCMeans, SimREFCMFS])
def test_soft_clusters_are_no_worse_than_from_one_plain_start(estimator: type) -> None:
    """Hard clusters give far outliers a center, and seeds exchanged for them agree on it."""
    made = make_blobs_with_outliers(600, 3, n_clusters=3, contamination=0.05, random_state=1)
    single = min(estimator(3, random_state=s, n_init=1).fit(made.data).objective_ for s in range(3))
    for seed in range(10):
        model = estimator(3, random_state=seed).fit(made.data)
        assert model.objective_ <= 1.002 * single
        assert model.stability_ == 1


def test_starts_that_collapse_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """With r = 2 in many dimensions, all centers come together, and labels are chance."""
    X = np.random.default_rng(0).normal(size=(600, 40))
    begun, descent = [], starts.Context.descent

    def spy(self: Any, engine: Any, centers: Any, number: int, *others: Any) -> Any:
        begun.append(number)
        return descent(self, engine, centers, number, *others)

    monkeypatch.setattr(starts.Context, "descent", spy)
    with pytest.warns(CollapseWarning):
        FuzzyCMeans(8, random_state=0).fit(X)
    assert begun == [0, 1]
