"""Bad data: the error says what was given, what is wrong and what to do, and leaves no trace."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from sfumato import REFCMFS, RSFKM, FuzzyClustering, FuzzyCMeans, KMedoids, SimREFCMFS
from tests.failing import X, fails, frame, rows

# Values.


@pytest.mark.parametrize(
    ("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
@pytest.mark.parametrize(
    "container",
    [np.asarray, np.asfortranarray, np.float32, list, pd.DataFrame, sp.csr_array, sp.csc_array],
)
def test_not_finite(value: float, name: str, container: Callable[..., Any]) -> None:
    bad = rows(at=([7, 7, 20], [1, 2, 0]), value=value)
    words = f"contains {name}", "first at row 7, column 1", "drop", "fill"
    fails(REFCMFS(3), container(bad), *words)


def test_not_finite_in_a_later_block() -> None:
    big = np.zeros((300_000, 2))
    big[299_998, 1] = np.nan
    fails(REFCMFS(3), big, "NaN, first at row 299998, column 1")


def test_missing_values_of_frames() -> None:
    missing = frame().astype("Float64")
    missing.iloc[4, 2] = pd.NA
    fails(REFCMFS(3), missing, "NaN, first at row 4, column 'c'; drop such rows, or fill them in")
    fails(REFCMFS(3), frame().assign(b=np.inf), "infinity (inf), first at row 0, column 'b'")
    polars = pl.DataFrame({"a": [1.0, None, 3.0], "b": [1.0, 2.0, 3.0]})
    fails(REFCMFS(2), polars, "NaN, first at row 1, column 'a'")
    empty = frame().astype(object)
    empty.iloc[2, 0] = None
    fails(REFCMFS(2), empty, "NaN, first at row 2, column 'a'")


def test_tables_of_pyarrow_name_their_columns() -> None:
    table = pa.table({"a": [1.0, None, 3.0], "b": [1.0, 2.0, 3.0]})
    fails(REFCMFS(2), table, "NaN, first at row 1, column 'a'")
    fails(REFCMFS(2), pa.table({"a": ["x", "y"], "b": [1, 2]}), "'x' at row 0, column 'a'")


def test_what_has_no_rows_yet_says_what_to_call() -> None:
    with pytest.raises(TypeError, match=re.escape("give X.collect()")):
        REFCMFS(2).fit(pl.DataFrame({"a": [1.0, 2.0, 3.0]}).lazy())


class Tensor:
    """Stands for torch's, which refuses with a RuntimeError if it requires a gradient."""

    shape = (60, 3)

    def __len__(self) -> int:
        return 60

    def __array__(self, *args: object, **options: object) -> None:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


def test_a_tensor_that_requires_a_gradient_says_what_to_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Tensor, "__module__", "torch")
    with pytest.raises(ValueError, match=r"requires grad.*Give X.detach\(\)"):
        REFCMFS(3).fit(Tensor())


def test_tensors_that_are_no_arrays_say_what_to_call() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(X)
    assert REFCMFS(3, random_state=0).fit(tensor.half()).cluster_centers_.dtype == np.float64
    assert REFCMFS(3, random_state=0).fit(tensor.float()).cluster_centers_.dtype == np.float32
    for odd, call in (
        (tensor.clone().requires_grad_(), "X.detach().cpu().float().numpy()"),
        (tensor.to(torch.bfloat16), "X.detach().cpu().float().numpy()"),
        (tensor.to_sparse(), "X.detach().to_dense().cpu().float().numpy()"),
    ):
        with pytest.raises((TypeError, ValueError), match=re.escape(call)):
            REFCMFS(3).fit(odd)
        REFCMFS(3).fit(eval(call, {"X": odd}))


def test_not_finite_at_predict() -> None:
    model = REFCMFS(3, random_state=0).fit(X)
    for method in (model.predict, model.predict_proba, model.transform, model.score):
        with pytest.raises(ValueError, match="NaN, first at row 3, column 0"):
            method(rows(at=(3, 0), value=np.nan))
    named = REFCMFS(3, random_state=0).fit(frame())
    with pytest.raises(ValueError, match="NaN, first at row 0, column 'b'"):
        named.predict(frame().assign(b=np.nan))
    with (
        pytest.warns(UserWarning, match="valid feature names"),
        pytest.raises(ValueError, match="NaN, first at row 3, column 'a'"),
    ):
        named.predict(rows(at=(3, 0), value=np.nan))
    with pytest.raises(ValueError, match="NaN, first at row 0, column 'c'"):
        named.partial_fit(frame().assign(c=np.nan))


def test_weight_zero_does_not_excuse_nan() -> None:
    weights = np.ones(len(X))
    weights[7] = 0
    fails(REFCMFS(3), rows(at=(7, 1), value=np.nan), "NaN, first at row 7", sample_weight=weights)


@pytest.mark.parametrize(
    ("container", "cell", "column"),
    [
        (lambda: frame(color="red"), "'red'", "'color'"),
        (lambda: frame(color="red")[["a", "color", "b"]], "'red'", "'color'"),
        (lambda: frame(day=pd.Timestamp("2024-01-01")), "2024", "'day'"),
        (lambda: frame(kind=pd.Categorical(["u", "v"] * 20)), "'u'", "'kind'"),
        (lambda: pl.DataFrame({"a": [1.0, 2.0], "color": ["red", "blue"]}), "'red'", "'color'"),
        (lambda: np.array([[1, "x"], [2, "y"]], dtype=object), "'x'", "column 1"),
        (lambda: [[1.0, "x"], [2.0, "y"]], "'x'", "column 1"),
        (lambda: np.array([["u", "v"], ["w", "x"]]), "'u'", "column 0"),
        (lambda: np.array([["2024-01-01"], ["2024-01-02"]], dtype="M8[D]"), "2024", "column 0"),
        (lambda: pd.DataFrame({"day": pd.to_datetime(["2024-01-01"] * 3)}), "2024", "'day'"),
        (lambda: pd.DataFrame({"wait": pd.to_timedelta(["2h"] * 3)}), "seconds", "'wait'"),
        (lambda: pl.DataFrame({"a": [1.0], "day": [date(2024, 1, 2)]}), "2024", "'day'"),
    ],
)
def test_text(container: Callable[[], Any], cell: str, column: str) -> None:
    words = cell, "row 0", column, "not a number", "drop", "encode"
    fails(REFCMFS(2), container(), *words, error=(ValueError, TypeError))


def test_the_first_text_is_named() -> None:
    words = np.array(["1.5", "2", "three", "4"] * 10)
    fails(REFCMFS(2), frame(size=words), "'three' at row 2, column 'size'")


@pytest.mark.parametrize(
    ("column", "advice"),
    [
        (pd.Timestamp("2024-01-01"), "as a number, e.g. days since the first date"),
        ("1,5", "decimal comma, read the file with decimal=','"),
        ("red", "OneHotEncoder"),
    ],
)
def test_what_to_do_depends_on_the_value(column: Any, advice: str) -> None:
    fails(REFCMFS(2), frame(new=column), "column 'new'", advice, error=(ValueError, TypeError))


@pytest.mark.parametrize("path", ["big.npy", Path("folder") / "big.parquet"], ids=str)
def test_a_path_is_not_rows(path: str | Path) -> None:
    words = f"the path {str(path)!r}", f"sfumato.stream({str(path)!r})"
    fails(REFCMFS(2), path, *words, error=TypeError)
    model = REFCMFS(3, random_state=0).fit(X)
    for method in (model.predict, model.transform, model.score, model.partial_fit, KMedoids(2).fit):
        with pytest.raises(TypeError, match=re.escape(words[1])):
            method(path)


def test_a_cell_of_a_wrong_type() -> None:
    bad = X.astype(object)
    bad[3, 1] = {"a": 1}
    fails(REFCMFS(2), bad, "{'a': 1} at row 3, column 1", "not a number", error=TypeError)


@pytest.mark.parametrize(
    "container",
    [
        np.asarray,
        np.complex64,
        np.ndarray.tolist,
        sp.csr_array,
        sp.csc_array,
        pd.DataFrame,
    ],
)
def test_complex_numbers(container: Callable[..., Any]) -> None:
    fails(REFCMFS(2), container(X * 1j), "Complex data not supported", "X.real", "X.imag")


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, pd.DataFrame])
@pytest.mark.parametrize(
    ("dtype", "scale", "advice"),
    [
        (np.float64, 1e155, "rescale"),
        (np.float64, 1e300, "rescale"),
        (np.float32, 1e20, "pass float64"),
        (np.float32, 1e37, "pass float64"),
    ],
)
def test_overflow(container: Callable[..., Any], dtype: type, scale: float, advice: str) -> None:
    bad = (X * scale).astype(dtype)
    words = f"overflow {np.dtype(dtype).name}", "rescale", advice
    fails(REFCMFS(2), container(bad), *words)


def test_overflow_of_the_extent_itself() -> None:
    huge = np.array([[-1.7e308], [1.7e308], [1.7e308], [0.0]])
    fails(REFCMFS(2), huge, "overflow float64", "rescale", "X / 2e+308")


@pytest.mark.parametrize(
    ("dtype", "scale", "advice"), [(np.float64, 1e-160, "X / "), (np.float32, 1e-20, "float64")]
)
def test_underflow(dtype: type, scale: float, advice: str) -> None:
    bad = (X * scale).astype(dtype)
    fails(REFCMFS(2), bad, f"underflow {np.dtype(dtype).name}", "rescale", advice)


@pytest.mark.parametrize(
    ("dtype", "scale"),
    [(np.float64, 1e150), (np.float64, 1e-140), (np.float32, 1e17), (np.float32, 1e-14)],
)
@pytest.mark.parametrize("loss", ["squared", "l21"])
def test_within_the_limits_all_is_well(dtype: type, scale: float, loss: str) -> None:
    start = X[:3] + 0.1
    model = FuzzyClustering(3, loss=loss, init=start * scale).fit((X * scale).astype(dtype))
    plain = FuzzyClustering(3, loss=loss, init=start).fit(X.astype(dtype))
    found = model.cluster_centers_.astype(float) / scale
    np.testing.assert_allclose(found, plain.cluster_centers_, rtol=1e-3)
    assert np.isfinite(model.memberships_.data).all()
    assert np.isfinite(model.objective_)


def test_far_rows_at_predict() -> None:
    model = REFCMFS(3, random_state=0).fit(X)
    for method in (model.predict, model.predict_proba, model.transform, model.score):
        with pytest.raises(ValueError, match="overflow float64"):
            method(np.full((1, 3), 1e200))
        with pytest.raises(ValueError, match=r"overflow float32.*float64"):
            method(np.full((1, 3), 1e30, dtype=np.float32))
    # Whereas rows that lie close together are nothing special here.
    assert_array_equal(model.predict([[0, 0, 0], [1e-200, 0, 0]]), model.predict([[0, 0, 0]] * 2))


def test_a_far_row_of_no_weight_is_no_excuse() -> None:
    weights = np.ones(len(X))
    weights[0] = 0
    bad = rows(at=0, value=1e200)
    fails(REFCMFS(3), bad, "overflow", sample_weight=weights)


# Shapes.


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (np.zeros((0, 3)), ["0 sample(s)", "minimum of 1"]),
        (np.zeros((3, 0)), ["0 feature(s)", "minimum of 1"]),
        (sp.csr_array((0, 3)), ["0 sample(s)"]),
        ([], ["Reshape"]),
        (X[:, 0], ["Expected 2D array, got 1D array", "reshape(-1, 1)"]),
        (X[:, :, None], ["dim 3"]),
        (3.0, ["Expected 2D array, got scalar"]),
        ([[1.0, 2.0], [3.0]], ["inhomogeneous"]),
    ],
    ids=str,
)
def test_shapes(given: Any, words: list[str]) -> None:
    fails(REFCMFS(1), given, *words)


def test_too_few_rows() -> None:
    fails(REFCMFS(6), X[:5], "n_samples=5", "fewer than n_clusters=6", "use `n_clusters` <= 5")


def test_another_number_of_features_at_predict() -> None:
    model = REFCMFS(3, random_state=0).fit(X)
    for method in (model.predict, model.predict_proba, model.transform, model.score):
        with pytest.raises(ValueError, match=r"^X has 2 features, but REFCMFS is expecting 3"):
            method(X[:, :2])
    with pytest.raises(ValueError, match="expecting 3"):
        model.predict_membership(sp.csr_array(X[:, :2]))


@pytest.mark.parametrize(
    "estimator", [REFCMFS(), SimREFCMFS(), RSFKM(), FuzzyCMeans(), FuzzyClustering()]
)
@pytest.mark.parametrize(
    "method", ["predict", "predict_proba", "predict_membership", "transform", "score"]
)
def test_predict_before_fit(estimator: BaseEstimator, method: str) -> None:
    with pytest.raises(NotFittedError, match=f"{type(estimator).__name__}.*not fitted.*fit"):
        getattr(estimator, method)(X)
    with pytest.raises(NotFittedError):
        estimator.get_feature_names_out()


# Weights.


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (-np.arange(40.0), ["holds -1 at row 1", "finite weights >= 0", "0 to leave a row out"]),
        (np.zeros(40), ["zero everywhere", "at least one row"]),
        (np.r_[np.ones(5), np.nan, np.ones(34)], ["holds nan at row 5", "finite"]),
        (np.r_[np.ones(5), np.inf, np.ones(34)], ["holds inf at row 5", "finite"]),
        (np.ones(39), ["shape (39,)", "one weight per row", "(40,)"]),
        (np.ones((40, 1)), ["shape (40, 1)", "one weight per row"]),
        (["heavy"] * 40, ["sample_weight is not an array of numbers", "heavy"]),
        (np.full(40, 1j), ["sample_weight is not an array of numbers", "complex"]),
        ([None] * 40, ["sample_weight"]),
        (-1.0, ["holds -1 at row 0"]),
        (0, ["zero everywhere"]),
        (np.full(40, 1e308), ["up to 1e+308", "over- or underflow", "rescale"]),
        (np.full(40, 1e-310), ["underflow", "rescale"]),
    ],
    ids=lambda value: str(value)[:20],
)
def test_weights(weights: Any, words: list[str]) -> None:
    fails(REFCMFS(3), X, *words, sample_weight=weights)
    model = REFCMFS(3, random_state=0).fit(X)
    with pytest.raises(ValueError, match=re.escape(words[0])):
        model.score(X, sample_weight=weights)


# Nothing half-fitted.


def state(model: BaseEstimator) -> dict[str, Any]:
    return {name: value for name, value in vars(model).items() if name not in model.get_params()}


@pytest.mark.parametrize(
    "bad",
    [
        rows(at=(0, 0), value=np.nan),
        X[:2],
        pd.DataFrame({"other": ["text"] * 5}),
    ],
    ids=["nan", "few", "text"],
)
def test_a_failed_fit_leaves_the_earlier_one(bad: Any) -> None:
    model = REFCMFS(3, random_state=0).fit(frame())
    before, labels = state(model), model.predict(frame())
    with pytest.raises(ValueError, match=r"X|column|n_samples"):
        model.fit(bad)
    after = state(model)
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)
    assert_array_equal(model.predict(frame()), labels)


def test_a_failure_in_the_middle_leaves_the_earlier_fit() -> None:
    calls = []

    def init(X: Any, n_clusters: int, random_state: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return X[:n_clusters]

    model = REFCMFS(3, random_state=0, fuzzifier=1.5).fit(X)
    before = state(model)
    model.init = init
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :2])
    assert state(model) == before
    with pytest.raises(KeyboardInterrupt):
        calls.clear() or REFCMFS(3, fuzzifier=1.5, init=init).fit(X[:, :2])


def test_a_failure_at_the_very_end_leaves_the_earlier_fit() -> None:
    # The warning is an error here, and comes after everything was remembered.
    model = REFCMFS(3, random_state=0).fit(X)
    before = state(model)
    with pytest.raises(ConvergenceWarning):
        model.set_params(max_iter=1).fit(X[:, :2] + 9)
    assert state(model) == before
    unfitted = REFCMFS(3, max_iter=1)
    with pytest.raises(ConvergenceWarning):
        unfitted.fit(X)
    assert state(unfitted) == {}
