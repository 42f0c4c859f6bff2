"""Models fitted to data in chunks: saved without it, compared like arrays, drawn the same way."""

from __future__ import annotations

import pickle
from collections import Counter
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from sfumato import REFCMFS, CappedREFCMFS, stream
from sfumato._engines import passes
from sfumato._engines.native import NativeEngine
from sfumato._engines.stream import compute_together
from sfumato._sampling import PrioritySample
from sfumato.cli.memory import container_memory
from tests.catalogue import blobs, needs_callbacks

X = blobs(300, 3, 4)


def fitted(rows: Any, **parameters: Any) -> REFCMFS:
    return REFCMFS(4, fuzzifier=1.3, random_state=0, **parameters).fit(rows)


@pytest.mark.parametrize("copied", [deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_says_how_to_compute_what_it_does_not_have(copied: Any) -> None:
    X = blobs()
    model = REFCMFS(4, random_state=0).fit(stream(X))
    again = copied(model)
    for name, advice in {
        "labels_": r"use predict\(X\)",
        "memberships_": r"use predict_membership\(X\)",
        "outlier_scores_": r"use score_outliers\(X\)",
        "outliers_": r"use score_outliers\(X\) > 1",
    }.items():
        assert hasattr(model, name)
        assert not hasattr(again, name)
        with pytest.raises(AttributeError, match=f"{name} is missing: .* {advice}"):
            getattr(again, name)
    assert_array_equal(again.predict(X), np.asarray(model.labels_))
    assert_array_equal(again.score_outliers(X) > 1, np.asarray(model.outliers_))


@pytest.mark.parametrize("name", ["labels_", "nothing"])
def test_other_missing_attributes_have_the_usual_message(name: str) -> None:
    with pytest.raises(AttributeError, match=f"'REFCMFS' object has no attribute '{name}'"):
        getattr(REFCMFS(), name)


def test_a_model_is_pickled_without_its_data() -> None:
    for rows in (stream([X[:100], X[100:]]), stream(np.tile(X, (50, 1)))):
        model = fitted(rows)
        saved = pickle.dumps(model)
        assert len(saved) < X.nbytes + 100_000
        again = pickle.loads(saved)
        assert not hasattr(again, "labels_")
        assert_array_equal(again.predict(X), model.predict(X))


def test_streamed_results_compare_like_arrays() -> None:
    labels = fitted(stream(X, chunk_rows=70)).labels_
    whole = labels.compute()
    assert_array_equal((labels == 2).compute(), whole == 2)
    assert_array_equal((labels != 2).compute(), whole != 2)
    assert_array_equal((labels > 1).compute(), whole > 1)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Engines made, assignments and range checks from now on."""
    counts: Counter[str] = Counter()

    def counting(owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def count(*args: Any, **options: Any) -> Any:
            counts[name] += 1
            return original(*args, **options)

        monkeypatch.setattr(owner, name, count)

    counting(NativeEngine, "__init__")
    counting(NativeEngine, "assign")
    counting(NativeEngine, "scaled_distances")
    counting(passes, "summarize_range")
    return counts


def test_results_of_a_stream_are_computed_together(counted: Counter[str]) -> None:
    rows = stream(X, chunk_rows=70)
    model = CappedREFCMFS(4, fuzzifier=1.3, random_state=0).fit(X)
    wanted = [
        model.predict(rows),
        model.predict_membership(rows),
        model.score_outliers(rows),
        model.score_outliers(rows) > 1,
    ]
    expected = [each.compute() for each in wanted]
    counted.clear()
    found = [(chunk.number, values) for chunk, values in compute_together(wanted[:3])]
    assert [number for number, _ in found] == list(range(5))
    # One engine for each chunk.
    assert counted == {"__init__": 5, "assign": 5, "scaled_distances": 5, "summarize_range": 5}
    labels, memberships, scores = zip(*(values for _, values in found), strict=True)
    assert_array_equal(np.concatenate(labels), expected[0])
    assert_array_equal(sp.vstack(memberships).toarray(), expected[1].toarray())
    assert_array_equal(np.concatenate(scores), expected[2])
    mixed = [values[::-1] for _, values in compute_together(wanted[::-1])]
    for values, (_, others) in zip(mixed, found, strict=True):
        assert_array_equal(values[0], others[0])
        assert_array_equal(values[3], others[2] > 1)


def test_models_do_not_share_what_differs() -> None:
    far = np.full((1, X.shape[1]), 1e3)
    rows = stream(np.vstack([X, far]), chunk_rows=70)
    models = [fitted(X), fitted(X[::2]), REFCMFS(4, n_active=2, random_state=1).fit(X)]
    wanted = [each for m in models for each in (m.predict_membership(rows), m.transform(rows))]
    wanted.append(models[0].predict(rows, mark_outliers=True))
    wanted.append(models[0].predict(rows))
    parts = zip(*(values for _, values in compute_together(wanted)), strict=True)
    for each, part in zip(wanted, parts, strict=True):
        whole = each.compute()
        if sp.issparse(whole):
            assert_array_equal(sp.vstack(part).toarray(), whole.toarray())
        else:
            assert_array_equal(np.concatenate(part), whole)
    assert (wanted[-2].compute() == -1).any(), "outliers are marked in one of the two alone"
    with pytest.raises(ValueError, match="different streams"):
        next(compute_together([wanted[0], models[0].predict(stream(X))]))


def test_a_generator_may_reuse_its_buffer() -> None:
    def chunks() -> Any:
        buffer = np.empty((1, 2))
        for number in range(5):
            buffer[:] = number
            yield buffer

    found = [chunk.rows[0, 0] for chunk in stream(chunks).chunks()]
    assert found == [0, 1, 2, 3, 4]


def test_trimmed_draws_add_to_the_same() -> None:
    rng = np.random.default_rng(0)
    draws = [
        PrioritySample.of(20, X[begin : begin + 30], np.ones(30), np.ones(30), rng)
        for begin in range(0, 300, 30)
    ]
    whole, trimmed = draws[0], PrioritySample.trimmed(draws)
    assert sum(len(each.priorities) for each in trimmed) == 21
    total = trimmed[0]
    for one, other in zip(draws[1:], trimmed[1:], strict=True):
        whole, total = whole + one, total + other
    for name in ("rows", "weights", "measures", "priorities"):
        assert_array_equal(getattr(total, name), getattr(whole, name))


@needs_callbacks
def test_a_fit_that_a_callback_stopped_goes_on(tmp_path: Path) -> None:
    class Stop:
        """Ends the fit after a few iterations."""

        def setup(self, estimator: Any, context: Any) -> None:
            self.count = 0

        def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
            pass

        def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
            self.count += 1
            return self.count >= 3

        def teardown(self, estimator: Any, context: Any) -> None:
            pass

    given = {"init": X[:4], "tol": 0.0, "max_iter": 20}
    expected = fitted(X, **given)
    path = tmp_path / "state.npz"
    stopped = REFCMFS(4, fuzzifier=1.3, random_state=0, checkpoint=path, **given)
    stopped.set_callbacks(Stop()).fit(X)
    assert stopped.n_iter_ < expected.n_iter_
    assert_array_equal(
        fitted(X, checkpoint=path, **given).cluster_centers_, expected.cluster_centers_
    )


def test_partial_fit_leaves_the_checkpoint_alone(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    REFCMFS(4, random_state=0, checkpoint=path).partial_fit(X).partial_fit(X[:50])
    assert not path.exists()


def test_the_limit_of_a_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit, used = tmp_path / "max", tmp_path / "current"
    monkeypatch.setattr("sfumato.cli.memory.CONTROL_GROUPS", ((str(limit), str(used)),))
    assert container_memory() > 1 << 50
    limit.write_text("max\n")
    used.write_text("5\n")
    assert container_memory() > 1 << 50
    limit.write_text("1005\n")
    assert container_memory() == 1000
