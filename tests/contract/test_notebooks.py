"""What notebooks show: short, with links to the documentation, and without computing anything."""

import pickle

import numpy as np
import pytest
from sklearn.utils import estimator_html_repr

import sfumato
from sfumato.estimators import _documentation

X = np.random.default_rng(0).normal(size=(60, 2)) + 9 * (np.arange(60) % 2)[:, None]
ESTIMATORS = [getattr(sfumato.estimators, name) for name in sfumato.estimators.__all__]


class UnreadStream:
    """Chunks that may be read until they are closed."""

    def __init__(self):
        self.closed = False

    def __call__(self):
        assert not self.closed, "a representation has read the data"
        return iter(np.array_split(X, 3))


@pytest.fixture
def lazy():
    """A model of a stream whose data cannot be read any more."""
    source = UnreadStream()
    model = sfumato.CappedREFCMFS("auto", random_state=0).fit(sfumato.stream(source))
    source.closed = True
    return model


def test_representations_read_nothing(lazy):
    for value in (
        lazy,
        lazy.labels_,
        lazy.memberships_,
        lazy.outlier_scores_,
        lazy.outliers_,
        lazy.selection_,
        lazy.outcome_,
        lazy.history_,
    ):
        assert 0 < len(repr(value)) < 200
    assert "CappedREFCMFS" in lazy._repr_html_()
    assert "CappedREFCMFS" in estimator_html_repr(lazy)
    assert "<svg" in lazy.selection_._repr_html_()


def test_reading_would_fail(lazy):
    with pytest.raises(AssertionError, match="has read the data"):
        lazy.labels_.compute()


def test_a_history_is_a_tuple_in_one_line():
    model = sfumato.REFCMFS(2, random_state=0).fit(X)
    assert isinstance(model.history_, tuple)
    assert repr(model.history_).startswith(f"History({len(model.history_)} records, objective ")
    copied = pickle.loads(pickle.dumps(model.history_))
    assert copied == model.history_
    assert repr(copied) == repr(model.history_)
    assert repr(model.partial_fit(X).history_) == "History(no records)"


def test_an_outcome_counts_its_warnings():
    with pytest.warns(sfumato.exceptions.FewRowsWarning):
        model = sfumato.REFCMFS(3, random_state=0).fit([[0.0], [0.0], [1.0]])
    count = len(model.outcome_.warnings)
    assert f"warnings={count}" in repr(model.outcome_)
    assert "\n" not in repr(model.outcome_)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_the_html_links_to_the_documentation(cls, monkeypatch):
    monkeypatch.setattr(_documentation, "documentation", lambda: "https://docs.example.org/")
    link = f"https://docs.example.org/api/generated/sfumato.{cls.__name__}.html"
    assert link in cls(2)._repr_html_()


def test_without_an_address_there_is_no_link(monkeypatch):
    monkeypatch.setattr(_documentation, "documentation", lambda: "")
    html = sfumato.REFCMFS(2)._repr_html_()
    assert "api/generated" not in html
    assert "modules/generated" not in html


def test_the_address_is_that_of_the_package(monkeypatch):
    class Metadata:
        def get_all(self, name):
            assert name == "Project-URL"
            return ["Source, https://example.org", "Documentation, https://docs.example.org"]

    _documentation.documentation.cache_clear()
    monkeypatch.setattr(_documentation, "metadata", lambda name: Metadata())
    assert _documentation.documentation() == "https://docs.example.org"
    _documentation.documentation.cache_clear()
