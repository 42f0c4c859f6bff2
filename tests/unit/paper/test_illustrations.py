"""What the figures of memberships and convergence rest on: fitted once, and kept."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from sfumato.paper import illustrations
from sfumato.paper.illustrations import ACCELERATED, PLAIN, ROWS, descending, illustrate


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def fitted(folder):
    return illustrate("digits", folder)


def no_fit(data):
    raise AssertionError(f"{data} is fitted again")


def test_hard_dense_and_sparse_memberships(fitted):
    for name, count in (("K-Means", 1), ("FCM", 10), ("REFCMFS", 5)):
        shown = fitted.memberships[name]
        assert shown.shape == (ROWS, 10)
        assert_allclose(shown.sum(axis=1), 1, rtol=1e-5)
        assert_array_equal((shown > 0).sum(axis=1), count)
        assert (np.diff(shown, axis=1) <= 0).all()
        assert (np.diff(shown[:, 0]) <= 0).all()


def test_both_loops_descend_from_the_same_start_to_the_same_end(fitted):
    plain, accelerated = fitted.curves[PLAIN], fitted.curves[ACCELERATED]
    assert_allclose(plain[0], accelerated[0])
    for curve in (plain, accelerated):
        assert (np.diff(curve[:, 0]) >= 1).all()
        assert (np.diff(curve[:, 1]) <= 1e-12 * curve[0, 1]).all()
    assert_array_equal(plain[:, 0], np.arange(1, len(plain) + 1))
    assert accelerated[-1, 1] == pytest.approx(plain[-1, 1], rel=1e-3)
    assert len(accelerated) < len(plain)


def test_what_is_kept_is_read_back_and_not_fitted_again(fitted, folder, monkeypatch):
    monkeypatch.setattr(illustrations, "_fit", no_fit)
    back = illustrate("digits", folder)
    for kind in ("memberships", "curves"):
        first, second = getattr(fitted, kind), getattr(back, kind)
        assert list(first) == list(second)
        for name, array in first.items():
            assert_array_equal(array, second[name])
    assert [path.name for path in (folder / "illustrations").iterdir()] == ["digits.npz"]


@pytest.mark.parametrize("change", ["cut off", "another version", "no file"])
def test_what_is_of_no_use_is_replaced(change, fitted, tmp_path, monkeypatch):
    monkeypatch.setattr(illustrations, "_fit", lambda data: fitted)
    illustrate("digits", tmp_path)
    file = tmp_path / "illustrations" / "digits.npz"
    if change == "cut off":
        file.write_bytes(file.read_bytes()[:1000])
    elif change == "another version":
        monkeypatch.setattr(illustrations, "version", lambda name: "0.0.0")
    else:
        file.unlink()
    calls = []
    monkeypatch.setattr(illustrations, "_fit", lambda data: calls.append(data) or fitted)
    illustrate("digits", tmp_path)
    illustrate("digits", tmp_path)
    assert calls == ["digits"]


def test_few_rows_are_all_shown_and_many_are_thinned_evenly():
    few = np.array([[0.2, 0.8], [0.5, 0.5], [1.0, 0.0]])
    expected = [[1.0, 0.0], [0.8, 0.2], [0.5, 0.5]]
    assert_allclose(descending(few), expected)
    assert_allclose(descending(sp.csr_array(few)), expected)
    largest = np.linspace(0.5, 1.0, 2 * ROWS - 1)
    shown = descending(np.column_stack([largest, 1 - largest]))
    assert_allclose(shown[:, 0], largest[::-2], rtol=1e-6)
