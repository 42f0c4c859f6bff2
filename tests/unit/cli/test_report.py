"""Errors and warnings of the library on the command line, and what was found."""

import warnings
from pathlib import Path

import pytest
from sklearn.exceptions import ConvergenceWarning

from sfumato.cli.report import OPTIONS, as_option, found, translate_errors
from sfumato.exceptions import Given, Message, Option, ParameterError, StreamError, UserError


def test_warnings_are_printed_once_in_a_line_and_kept(capsys):
    class OwnWarning(UserWarning):
        pass

    with translate_errors(Path("rows.csv")) as warned:
        for _ in range(2):
            message = Message("two centers\nin one place; lower ", Option("n_clusters"), ".")
            warnings.warn(message, OwnWarning, stacklevel=1)
        warnings.warn(Message("at ", Given("max_iter", 3)), ConvergenceWarning, stacklevel=1)
        warnings.warn("max_iter=4", ConvergenceWarning, stacklevel=1)
    assert warned == [
        {"category": "OwnWarning", "message": "two centers in one place; lower `n_clusters`."},
        {"category": "ConvergenceWarning", "message": "at max_iter=3"},
        {"category": "ConvergenceWarning", "message": "max_iter=4"},
    ]
    assert capsys.readouterr().err == (
        "sfumato: warning: two centers in one place; lower --n-clusters.\n"
        "sfumato: warning: at --max-iter 3.\n"
        "sfumato: warning: max_iter=4.\n"
    )


@pytest.mark.parametrize(
    ("option", "text"),
    [
        (Option("columns"), "--columns"),
        (Option("separator", ";"), "--separator ';'"),
        (Option("separator", "\t"), "--separator '\\t'"),
        (Option("decimal", ","), "--decimal ','"),
        (Option("header", False), "--no-header"),
        (Option("ids"), "--id-column"),
        (Option("key"), "--key"),
        (Option("exclude", ["a", "b c"]), "--exclude a --exclude 'b c'"),
    ],
)
def test_keywords_are_written_as_options(option, text):
    assert as_option(option) == text


def test_only_options_of_an_error_are_translated():
    path = Path("columns=.csv")
    with pytest.raises(UserError) as caught, translate_errors(path):
        raise StreamError(f"{path}: 'tol=3' is no number; use ", Option("columns"), ".")
    assert str(caught.value) == "columns=.csv: 'tol=3' is no number; use --columns."


@pytest.mark.parametrize(
    ("sizes", "outliers", "sure", "text"),
    [
        ([9, 8, 7, 6, 5], 306, 0.97, "5 clusters, 306 outliers, sure of 97 % of the other rows"),
        ([9], 0, 1.0, "1 cluster, no outliers, sure of 100 % of the rows"),
        ([9, 9], 1, 0.996, "2 clusters, 1 outlier, sure of more than 99 % of the other rows"),
        ([9, 9], 0, 0.004, "2 clusters, no outliers, sure of less than 1 % of the rows"),
        ([9, 0, 9], 2, None, "2 of 3 clusters with rows, 2 outliers"),
    ],
)
def test_what_was_found(sizes, outliers, sure, text):
    assert found({"cluster_sizes": sizes, "outliers": outliers, "sure": sure}) == text


@pytest.mark.parametrize(
    "text",
    [
        "/data/tol/a.csv is no file.",
        "The checkpoint runs/tol=1/cap=2/fit.ckpt cannot be written.",
        "column 'tol=3' is no number.",
        "max_iter=3 and `tol` of somebody's own.",
        "tol",
    ],
)
@pytest.mark.parametrize("kind", [ValueError, ParameterError, StreamError, FileNotFoundError])
def test_no_word_of_a_sentence_is_replaced(text, kind):
    with pytest.raises(UserError) as caught, translate_errors(Path("rows.csv")):
        raise kind(text)
    assert str(caught.value).removeprefix("rows.csv: ") == text.removesuffix(".") + "."


@pytest.mark.parametrize(("name", "option"), OPTIONS.items())
def test_parameters_become_options(name, option):
    value = ["a"] if name == "exclude" else 3
    text = option if name == "header" else f"{option} {'a' if name == 'exclude' else 3}"
    message = Message(f"/data/{name}/{name}=3: ", Option(name, value), " or ", Option(name))
    with pytest.raises(UserError) as caught, translate_errors(Path("rows.csv")):
        raise ParameterError(message, name, value)
    assert str(caught.value) == f"/data/{name}/{name}=3: {text} or {option}."


def test_parameters_without_an_option_stay():
    with pytest.raises(UserError) as caught, translate_errors(Path("rows.csv")):
        raise ParameterError(Message(Given("decay", 2), " is too large; see ", Option("decay")))
    assert str(caught.value) == "decay=2 is too large; see `decay`."
