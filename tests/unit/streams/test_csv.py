"""Streams of CSV files."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from sfumato.streams import StreamError, stream
from tests.unit.streams import made


def write(path: Path, text: str) -> Path:
    path.write_text(text, newline="")
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.csv"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["1,2", "3,word"], ["line 3, column 'b': 'word' is no number"]),
        (["1,2", "x,4", "y,5"], ["line 3, column 'a': 'x'"]),
        (["1,2", "", "", "3,4", "", "5,true"], ["line 7, column 'b': 'true'"]),
        (["1,2", "3,4,5"], ["line 3: 3 fields where there should be 2", "'5'", "'3,4,5'"]),
        (["1,2", "", "3"], ["line 4: 1 fields where there should be 2", "column 'b' is missing"]),
        (["1,2", "3,1_000"], ["line 3, column 'b': '1_000'"]),
        (["1,2", '"3,5",4'], ["line 3, column 'a': '3,5'"]),
    ],
)
def test_a_bad_line_is_named_as_an_editor_counts(
    path: Path, lines: list[str], words: list[str], newline: str
) -> None:
    found = stream(write(path, newline.join(["a,b", *lines, ""])))
    with pytest.raises(StreamError) as caught:
        made.read(found)
    assert str(path) in str(caught.value)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(("line", "ending"), [("1,x", "csv"), ("1,2,3", "csv.gz")])
@pytest.mark.slow
def test_a_bad_line_is_found_after_millions(line: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows.{ending}"
    text = "a,b\n" + "1,2\n" * 2_999_998 + line + "\n" + "1,2\n"
    if ending == "csv":
        write(path, text)
    else:
        with gzip.open(path, "wt", compresslevel=1) as file:
            file.write(text)
    sizes = (len(chunk.rows) for chunk in stream(path, chunk_rows=100_000).chunks())
    with pytest.raises(StreamError, match=r"line 3000000[,:]"):
        sum(sizes)


def test_missing_numbers_are_nan(path: Path) -> None:
    write(path, "a,b\n,1\nNA,2\nnan,3\nNaN,4\n-inf,+5e1\n .5,6 \n")
    expected = [[np.nan, 1], [np.nan, 2], [np.nan, 3], [np.nan, 4], [-np.inf, 50], [0.5, 6]]
    np.testing.assert_array_equal(made.read(stream(path)), expected)


def test_a_number_that_is_missing_is_described_by_its_line(path: Path) -> None:
    found = stream(write(path, "a,b\n1,1\n\n2,\n3,3\n"), chunk_rows=2)
    chunk = next(found.chunks())
    assert np.isnan(chunk.rows[1, 1])
    assert found.describe(chunk.location, 1, 1) == f"{path}, line 4, column 'b'"
    assert found.describe(chunk.location, 1) == f"{path}, line 4"


def test_columns_of_text_are_named_with_their_first_entry(path: Path) -> None:
    write(path, 'id,city,x,"free, text"\n1,,2,"a\nb"\n2,Oslo,3,c\n')
    with pytest.raises(StreamError, match=r"'city' \('Oslo' in line 4\), 'free, text'") as caught:
        stream(path)
    assert "exclude=['city', 'free, text']" in str(caught.value)
    chosen = stream(path, columns=["x", "id"])
    np.testing.assert_array_equal(made.read(chosen), [[2, 1], [3, 2]])


def test_lines_are_counted_right_where_entries_have_several(path: Path) -> None:
    write(path, 'x,note\n1,"one\ntwo\nthree"\n2,\nbad,\n')
    with pytest.raises(StreamError, match="line 6, column 'x': 'bad'"):
        made.read(stream(path, columns=["x"]))


def test_a_word_in_a_column_that_is_not_used_does_not_matter(path: Path) -> None:
    write(path, "a,b\n1,2\n3,word\n")
    np.testing.assert_array_equal(made.read(stream(path, columns=["a"])), [[1], [3]])


def test_a_first_line_of_numbers_is_refused(path: Path) -> None:
    write(path, "1,2\n3,4\n")
    with pytest.raises(StreamError, match=r"begins with a line of numbers.*header=False"):
        stream(path)
    found = stream(path, header=False)
    assert found.names == ("x0", "x1")
    np.testing.assert_array_equal(made.read(found), [[1, 2], [3, 4]])
    numbered = stream(write(path, "0,1\n3,4\n"))
    assert numbered.names == ("0", "1")


def test_errors_without_a_header_name_numbered_columns(path: Path) -> None:
    found = stream(write(path, "1,2\n3,x\n"), header=False)
    with pytest.raises(StreamError, match="line 2, column 'x1': 'x'"):
        made.read(found)


def test_a_first_column_without_a_name_is_refused(path: Path) -> None:
    write(path, ",a\n0,5\n1,6\n")
    with pytest.raises(StreamError, match="first column without a name"):
        stream(path)
    np.testing.assert_array_equal(made.read(stream(path, columns=["a"])), [[5], [6]])


def test_columns_of_the_same_name_are_refused(path: Path) -> None:
    write(path, "a,a,b\n1,2,3\n")
    with pytest.raises(StreamError, match="several columns 'a'"):
        stream(path)
    np.testing.assert_array_equal(made.read(stream(path, columns=["b"])), [[3]])


def test_other_separators(path: Path) -> None:
    write(path, "a;b\n1;2\n")
    assert stream(path, columns=["a"], separator=";").names == ("a",)
    np.testing.assert_array_equal(made.read(stream(path, separator=";")), [[1, 2]])
    with pytest.raises(ValueError, match="separator='ab' is not one character"):
        stream(path, separator="ab")


@pytest.mark.parametrize("separator", [";", "\t", "|", " "])
@pytest.mark.parametrize("header", [True, False])
def test_the_right_separator_is_named(path: Path, separator: str, header: bool) -> None:
    rows = ["1.5,-2,3e1", "4,5,6"]
    write(path, "\n".join(["a,b,c", *rows][not header :]).replace(",", separator) + "\n")
    with pytest.raises(StreamError) as caught:
        stream(path, header=header)
    assert str(caught.value).endswith(f"; give separator={separator!r}.")
    found = stream(path, header=header, separator=separator)
    np.testing.assert_array_equal(made.read(found), [[1.5, -2, 30], [4, 5, 6]])


@pytest.mark.parametrize(
    "text",
    ["a;b,c\n1,2\n", "only names;b\n", "first name\nAnna Lee\nJohn Smith\n", "a;b\n1;2;3\n4;5\n"],
)
def test_a_separator_is_named_only_if_it_makes_a_table_of_numbers(path: Path, text: str) -> None:
    try:
        made.read(stream(write(path, text)))
    except StreamError as error:
        assert "columns separated by" not in str(error)  # noqa: PT017 - or no error at all


@pytest.mark.parametrize(("separator", "row"), [(";", '1,5;"-2,5e1"'), (",", '"1,5","-2,5e1"')])
def test_decimal_commas(path: Path, separator: str, row: str) -> None:
    write(path, f"a{separator}b\n{row}\n{row}\n")
    with pytest.raises(StreamError, match=r"'1,5' in line 2.*; give decimal=',' for numbers"):
        stream(path, separator=separator)
    found = stream(path, separator=separator, decimal=",")
    np.testing.assert_array_equal(made.read(found), [[1.5, -25]] * 2)
    write(path, f"a{separator}b\n{row}\n1.5{separator}2\n")
    with pytest.raises(StreamError, match=r"line 3, column 'a': '1\.5' is no number"):
        made.read(stream(path, separator=separator, decimal=","))


def test_decimal_commas_and_another_separator_are_named_together(path: Path) -> None:
    write(path, "a;b\n1,5;2\n3;4,25\n")
    with pytest.raises(StreamError, match=r"; give separator=';' decimal=','\.$"):
        stream(path)


@pytest.mark.parametrize(
    "date",
    ["2024-02-29", "29.02.2024", "2/29/24", "2024-02-29T12:30:00Z", "2024/2/9 8:05", "8:30"],
)
def test_dates_are_recognized(path: Path, date: str) -> None:
    write(path, f"when,x\n{date},1\n")
    with pytest.raises(StreamError, match=r"convert dates to numbers, or .*exclude=\['when'\]"):
        stream(path)
    write(path, f"when,x\n1,1\n{date},1\n")
    with pytest.raises(StreamError, match=r"line 3, column 'when'.*convert dates to numbers, or"):
        made.read(stream(path))


def test_tabs_by_the_ending(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.tsv", "a\tb\n1\t2\n")
    np.testing.assert_array_equal(made.read(stream(path)), [[1, 2]])
    write(path, "a,b\n1,2\n")
    with pytest.raises(StreamError, match=r"by ',', not by '\\t'; give separator=','"):
        stream(path)
    with pytest.raises(StreamError, match=r"let its name end in \.csv, and give `separator`"):
        stream(write(tmp_path / "rows.txt", "a\tb\n1\t2\n"))


def test_excluded_columns(path: Path) -> None:
    write(path, "a,b,name\n1,2,x\n")
    found = stream(path, exclude=["name"])
    assert found.names == ("a", "b")
    np.testing.assert_array_equal(made.read(found), [[1, 2]])
    with pytest.raises(StreamError, match="no column 'nme'; did you mean 'name'"):
        stream(path, exclude=["nme"])
    with pytest.raises(StreamError, match="'a' is asked for both in `columns` and as `exclude`"):
        stream(path, columns=["a"], exclude=["a"])


def test_a_mark_at_the_beginning_is_no_part_of_the_name(path: Path) -> None:
    found = stream(write(path, "\ufeffa,b\n1,2\n"))
    assert found.names == ("a", "b")
    np.testing.assert_array_equal(made.read(found), [[1, 2]])


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_an_empty_file_is_refused(path: Path, text: str) -> None:
    with pytest.raises(StreamError, match=r"rows\.csv is empty"):
        stream(write(path, text))


@pytest.mark.parametrize("text", ["a,b\n", "a,b", "a,b\n\n"])
def test_a_file_of_names_has_no_rows(path: Path, text: str) -> None:
    found = stream(write(path, text))
    assert list(found.chunks()) == []
    assert found.n_rows == 0


def test_a_file_without_a_last_line_break(path: Path) -> None:
    np.testing.assert_array_equal(made.read(stream(write(path, "a,b\n1,2\n3,4"))), [[1, 2], [3, 4]])


def test_lines_longer_than_a_block(path: Path) -> None:
    n = 2_000  # 5 MB for the line of names
    write(path, ",".join(f"{i:02500}x" for i in range(n)) + "\n" + ("1.25," * n)[:-1] + "\n")
    found = stream(path)
    assert found.n_features == n
    assert made.read(found).sum() == 1.25 * n


@pytest.mark.parametrize("size", [10, 1000])
def test_a_compressed_file_that_is_cut_short_is_named(size: int, tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(2000, 2))
    path = made.save_csv_gz(rows, tmp_path)
    os.truncate(path, size)
    with pytest.raises(StreamError, match=r"rows\.csv\.gz cannot be read"):
        made.read(stream(path))


def test_files_with_other_columns_are_both_named(tmp_path: Path) -> None:
    first = write(tmp_path / "1.csv", "a,b\n1,2\n")
    second = write(tmp_path / "2.csv", "b,c\n1,2\n")
    with pytest.raises(StreamError, match=r"2\.csv has 'c'; only .*1\.csv has 'a'"):
        stream([first, second])
    write(second, "b,a\n1,2\n")
    np.testing.assert_array_equal(made.read(stream([first, second])), [[1, 2], [2, 1]])
