"""Errors and warnings of the library on the command line, and what was found."""

import warnings
from pathlib import Path

import pytest
from sklearn.exceptions import ConvergenceWarning

from sfumato.cli.report import as_option, found, translate_errors, with_options
from sfumato.exceptions import Option, ParameterError, StreamError, UserError

ANOTHER = "checkpoint='a' is of another fit: {}. Give the same data and parameters."


@pytest.mark.parametrize(
    ("difference", "memory", "hinted"),
    [
        ("n_clusters was 3 and is 4", None, False),
        ("chunks was '2 of up to 10 rows' and is '4 of up to 5 rows'", None, True),
        ("chunks was '2 of up to 10 rows' and is '4 of up to 5 rows'", 10**9, False),
    ],
)
def test_the_hint_at_memory_is_for_other_chunks(difference, memory, hinted):
    with pytest.raises(UserError) as caught, translate_errors(Path("rows.csv"), memory):
        raise ParameterError(ANOTHER.format(difference), "checkpoint", "a")
    assert str(caught.value).startswith("--checkpoint 'a' is of another fit")
    assert ("depend on --memory" in str(caught.value)) is hinted


def test_warnings_are_printed_once_in_a_line_and_kept(capsys):
    class OwnWarning(UserWarning):
        pass

    with translate_errors(Path("rows.csv")) as warned:
        for _ in range(2):
            warnings.warn(
                "two centers\nin one place; lower `n_clusters`.", OwnWarning, stacklevel=1
            )
        warnings.warn("stopped at max_iter=3", ConvergenceWarning, stacklevel=1)
    assert warned == [
        {"category": "OwnWarning", "message": "two centers in one place; lower `n_clusters`."},
        {"category": "ConvergenceWarning", "message": "stopped at max_iter=3"},
    ]
    assert capsys.readouterr().err == (
        "sfumato: warning: two centers in one place; lower --n-clusters.\n"
        "sfumato: warning: stopped at --max-iter 3.\n"
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


def test_words_of_the_user_stay_in_errors_about_parameters():
    text = "checkpoint='tol=1/x' is of another fit: max_iter=3; use n_active <= 2, or `tol`"
    assert with_options(text, "tol=1/x") == (
        "--checkpoint 'tol=1/x' is of another fit: --max-iter 3; use --n-active <= 2, or --tol"
    )


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
        "/data/tol/a.csv is no file",
        "The checkpoint runs/tol=1/cap=2/fit.ckpt cannot be written",
        "tol=1/rows.csv: a word",
        "column 'tol=3' is no number",
        "tolerance=3 and max_iters=4",
    ],
)
def test_paths_and_quoted_words_are_not_rewritten(text):
    assert with_options(text) == text
    assert with_options(f"{text}; max_iter=3 is wrong") == f"{text}; --max-iter 3 is wrong"
