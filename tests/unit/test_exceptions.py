"""Errors of the library."""

import pickle

import pytest

from sfumato import REFCMFS
from sfumato._inspection import NotFiniteError
from sfumato.exceptions import (
    Option,
    ParameterError,
    ParameterTypeError,
    StreamError,
    did_you_mean,
)


@pytest.mark.parametrize("kind", [ParameterError, ParameterTypeError])
def test_parameter_errors_survive_pickle(kind):
    error = pickle.loads(pickle.dumps(kind("tol=2 is too large.", "tol", 2)))
    assert type(error) is kind
    assert (str(error), error.name, error.value) == ("tol=2 is too large.", "tol", 2)


def test_errors_of_data_survive_pickle():
    error = StreamError("a.csv: give ", Option("separator", ";"), ".")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.parts) == ("a.csv: give separator=';'.", error.parts)
    found = pickle.loads(pickle.dumps(NotFiniteError(float("inf"), "row 3")))
    assert (found.value, found.where) == (float("inf"), "row 3")
    assert "infinity (inf), first at row 3;" in str(found)


@pytest.mark.parametrize(
    ("parameters", "kind"),
    [
        ({"n_clusters": 0}, ValueError),
        ({"n_clusters": 2.5}, TypeError),
        ({"n_clusters": 4}, ValueError),
        ({"n_active": 4}, ValueError),
        ({"n_active": "few"}, TypeError),
        ({"fuzzifier": 1}, ValueError),
        ({"n_init": 0}, ValueError),
        ({"max_iter": 0}, ValueError),
        ({"n_threads": 0}, ValueError),
        ({"tol": 2.0}, ValueError),
        ({"checkpoint": "no/such/folder/file"}, ValueError),
    ],
    ids=str,
)
def test_errors_of_parameters_name_them(parameters, kind):
    model = REFCMFS(**{"n_clusters": 3} | parameters)
    with pytest.raises(ParameterError) as caught:
        model.fit([[0.0], [1.0], [5.0]])
    assert isinstance(caught.value, kind)
    [(name, value)] = parameters.items()
    assert (caught.value.name, caught.value.value) == (name, value)


def test_did_you_mean():
    assert did_you_mean("l2", ["squared", "l21"]) == "did you mean 'l21'?"
    assert did_you_mean("KMEANS", ["random", "K-Means"]) == "did you mean 'K-Means'?"
    assert did_you_mean("xyz", ["squared"]) == did_you_mean("a", []) == ""
