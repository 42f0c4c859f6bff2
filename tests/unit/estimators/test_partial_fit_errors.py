"""``partial_fit``: batches that are refused, interruptions, warnings, metadata."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.exceptions import ConvergenceWarning

from sfumato import REFCMFS, stream
from tests.contract.estimators import fitted_state
from tests.unit.estimators.test_partial_fit import some


def broken(where: tuple[int, int]) -> np.ndarray:
    X = some(100)
    X[where] = np.nan
    return X


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (some(100)[:, :2], {}, "2 features, but REFCMFS is expecting 3"),
        (broken((70, 1)), {}, "NaN, first at row 70, column 1"),
        (stream(broken((70, 1)), chunk_rows=30), {}, "NaN, first at .*row 70.*column 1"),
        (stream(some(100)[:, :2], chunk_rows=30), {}, "2 features"),
        (stream(some(100), chunk_rows=30), {"sample_weight": np.ones(99)}, "99.*100"),
        (some(100), {"sample_weight": np.zeros(100)}, "zero everywhere"),
        (stream(some(100), chunk_rows=30), {"sample_weight": np.zeros(100)}, "zero everywhere"),
        (np.empty((0, 3)), {}, "0 sample"),
        (some(100) * 1e200, {}, "overflow"),
    ],
)
@pytest.mark.parametrize("before", ["nothing", "fit", "batch"])
def test_a_refused_batch_leaves_the_estimator_as_it_was(
    X: Any, options: dict[str, Any], message: str, before: str
) -> None:
    model = REFCMFS(4, random_state=0)
    if before != "nothing":
        (model.fit if before == "fit" else model.partial_fit)(some(100, 1))
    elif "features" in message:
        return
    state = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, **options)
    assert vars(model).keys() == state.keys()
    assert all(vars(model)[name] is value for name, value in state.items())


@pytest.mark.parametrize("decay", [1.0, -0.1, "much", True, np.nan])
@pytest.mark.parametrize("before", ["nothing", "fit", "batch"])
def test_decay_is_checked(decay: Any, before: str) -> None:
    model = REFCMFS(4, random_state=0)
    if before != "nothing":
        (model.fit if before == "fit" else model.partial_fit)(some(100, 1))
    model.set_params(decay=decay)
    state = dict(vars(model))
    for method in (model.partial_fit, model.fit):
        with pytest.raises(ValueError, match=rf"decay={decay!r} must be a number in \[0, 1\)"):
            method(some(100))
        assert vars(model) == state


@pytest.mark.parametrize("X", [some(3), np.ones((50, 3)), stream(some(50), chunk_rows=3)])
def test_a_first_batch_that_is_too_small(X: Any) -> None:
    model = REFCMFS(4)
    with pytest.raises(
        ValueError,
        match=r"first batch needs at least n_clusters=4 different rows.*"
        "larger first batch",
    ):
        model.partial_fit(X)
    assert not fitted_state(model)


def test_dask_collections_are_refused_with_advice() -> None:
    array = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match=r"call fit.*partitions"):
        REFCMFS(4).partial_fit(array.from_array(some(100), chunks=(50, 3)))


def test_names_must_agree() -> None:
    model = REFCMFS(4, random_state=0).partial_fit(pd.DataFrame(some(50), columns=list("abc")))
    other = pd.DataFrame(some(50), columns=list("abd"))
    for given in (other, stream(other, chunk_rows=20)):
        with pytest.raises(ValueError, match=r"[Ff]eature"):
            model.partial_fit(given)


def test_an_interrupted_batch_leaves_the_estimator_as_it_was(monkeypatch: Any) -> None:
    model = REFCMFS(4, random_state=0).partial_fit(some(100))
    state = dict(vars(model))

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(type(model), "_describe", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(stream(some(100, 1), chunk_rows=50))
    assert all(vars(model)[name] is value for name, value in state.items())


def test_the_warning_about_the_first_batch_points_at_the_caller() -> None:
    with pytest.warns(ConvergenceWarning) as caught:
        REFCMFS(4, fuzzifier=1.5, random_state=0, max_iter=2).partial_fit(some(100))
    assert caught[0].filename == __file__


def test_metadata_can_be_routed() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        model = REFCMFS(4).set_partial_fit_request(sample_weight=True)
    assert model.get_metadata_routing().partial_fit.requests == {"sample_weight": True}
