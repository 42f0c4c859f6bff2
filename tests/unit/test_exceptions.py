"""Errors of the library."""

import copy
import pickle

import pytest

from sfumato import REFCMFS
from sfumato._inspection import NotFiniteError
from sfumato.exceptions import (
    Given,
    Message,
    Option,
    ParameterError,
    ParameterTypeError,
    StreamError,
    did_you_mean,
    message_of,
)


@pytest.mark.parametrize("kind", [ParameterError, ParameterTypeError])
def test_parameter_errors_survive_pickle(kind):
    error = pickle.loads(pickle.dumps(kind("tol=2 is too large.", "tol", 2)))
    assert type(error) is kind
    assert (str(error), error.name, error.value) == ("tol=2 is too large.", "tol", 2)


def test_messages_know_their_parameters():
    inner = Message(Given("tol", "y" * 500), " or ", Option("cap"))
    message = Message("tol: ", inner, ".")
    assert message == f"tol: tol='{'y' * 74}...' or `cap`."
    assert message.parts == ("tol: ", *inner.parts, ".")
    assert message.written(lambda option: option.name.upper()) == "tol: TOL or CAP."
    for again in (pickle.loads(pickle.dumps(message)), copy.deepcopy(message)):
        assert (again, again.parts) == (message, message.parts)
        assert [type(part) for part in again.parts] == [type(part) for part in message.parts]
    assert message_of(ValueError(message)) is message
    assert message_of(ValueError("tol=3")).parts == ("tol=3",)
    assert message_of(ValueError()).parts == ("",)


def test_an_option_of_the_value_none_has_a_value():
    assert str(Given("n_clusters", None)) == "n_clusters=None"
    assert str(Option("n_clusters")) == "`n_clusters`"


@pytest.mark.parametrize("kind", [ParameterError, StreamError])
def test_errors_keep_their_parameters_in_a_pickle(kind):
    message = Message("a.csv: give ", Option("separator", ";"), ".")
    again = message_of(pickle.loads(pickle.dumps(kind(message))))
    assert (again, again.parts) == ("a.csv: give separator=';'.", message.parts)


def test_errors_of_data_survive_pickle():
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
