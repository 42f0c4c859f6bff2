"""Law: whether a file fits in memory changes neither what is accepted nor what is said of it."""

import io
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from pyarrow import parquet
from sklearn.metrics import adjusted_rand_score

from sfumato.cli import cluster, memory
from sfumato.cli import main as cli

N_ROWS = 600
ROWS = np.random.default_rng(0).normal(size=(N_ROWS, 3)) + 20 * np.eye(3)[np.arange(N_ROWS) % 3]
FRAME = pd.DataFrame(ROWS, columns=list("abc"))
NAMES = [["007", "NA", "", "x,y", 'say "hi"'][i % 5] for i in range(N_ROWS)]
FLAGS = [["true", "False", "TRUE"][i % 3] for i in range(N_ROWS)]


def with_value(value, row=400):
    frame = FRAME.astype(object)
    frame.loc[row, "b"] = value
    return frame


def csv(frame, **options):
    return ("rows.csv", frame.to_csv(index=False, **options).encode())


def lines(change):
    """The plain file as text, changed."""
    return ("rows.csv", change(csv(FRAME)[1].decode()).encode())


def stored(frame, **options):
    table = frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame, **options)
    return ("rows.parquet", table)


def array(values):
    return ("rows.npy", values)


def npy_bytes(values):
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=True)
    return buffer.getvalue()


def archive(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return ("rows.npz", buffer.getvalue())


def sparse_archive(form="csr", shape=None, **changes):
    """A file of scipy.sparse.save_npz, with one entry of some of its arrays changed."""
    buffer = io.BytesIO()
    sp.save_npz(buffer, sp.csr_array(np.where(ROWS > 1, ROWS, 0)).asformat(form))
    arrays = dict(np.load(io.BytesIO(buffer.getvalue())))
    for name, value in changes.items():
        arrays[name] = arrays[name].astype(np.int64)
        arrays[name][5] = value
    if shape is not None:
        arrays["shape"] = np.array(shape)
    return archive(**arrays)


def lying_archive():
    """An array that is said to have 8 TB."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        whole = npy_bytes(ROWS)
        file.writestr("X.npy", whole.replace(b"(600, 3), }       ", b"(999999999999, 3)}"))
    return ("rows.npz", buffer.getvalue())


nan = ROWS.copy()
nan[321, 1] = np.nan
GOOD = {
    "csv": (csv(FRAME), []),
    "mark at the beginning": (("rows.csv", b"\xef\xbb\xbf" + csv(FRAME)[1]), ["--columns", "a,b"]),
    "quoted": (csv(FRAME, quoting=1), []),
    "semicolons": (csv(FRAME, sep=";"), ["--separator", ";"]),
    "tabs without names": (
        csv(FRAME, sep="\t", header=False),
        ["--no-header", "--separator", "\\t"],
    ),
    "tabs by the ending": (("rows.tsv", csv(FRAME, sep="\t")[1]), []),
    "decimal commas": (csv(FRAME, sep=";", decimal=","), ["--separator", ";", "--decimal", ","]),
    "quoted decimal commas": (csv(FRAME, decimal=","), ["--decimal", ","]),
    "carriage returns": (csv(FRAME, lineterminator="\r\n"), []),
    "blank lines": (lines(lambda text: text.replace("\n", "\n\n")), []),
    "no last line break": (lines(str.rstrip), []),
    "separators at the end": (lines(lambda t: t.replace("\n", ",\n").replace(",\n", "\n", 1)), []),
    "identifiers": (csv(FRAME.assign(name=NAMES)), ["--id-column", "name"]),
    "identifiers without names": (
        csv(FRAME.assign(name=NAMES), header=False),
        ["--no-header", "--id-column", "x3"],
    ),
    "row numbers left out": (
        csv(FRAME.reset_index().rename(columns={"index": ""})),
        ["--exclude", "Unnamed: 0"],
    ),
    "row numbers as identifiers": (
        csv(FRAME.reset_index().rename(columns={"index": ""})),
        ["--id-column", "Unnamed: 0"],
    ),
    "text ignored": (csv(FRAME.assign(t="word")), ["--non-numeric", "ignore"]),
    "mixed ignored": (csv(FRAME.assign(t=["5", "x"] * 300)), ["--non-numeric", "ignore"]),
    "booleans": (csv(FRAME.assign(flag=FLAGS)), []),
    "numbered columns": (csv(FRAME.set_axis([0, 1, 2], axis=1)), []),
    "bad rows in a column left out": (csv(with_value("word")), ["--exclude", "b"]),
    "parquet": (stored(FRAME), []),
    "float32": (stored(FRAME.astype("float32")), []),
    "nullable": (stored(FRAME.round().convert_dtypes()), []),
    "boolean parquet": (stored(FRAME.assign(flag=FRAME["a"] > 0)), []),
    "category of numbers": (stored(FRAME.assign(c=FRAME["c"].round().astype("category"))), []),
    "stored index": (stored(FRAME.set_index(FRAME.index[::-1])), []),
    "missing identifiers": (
        stored(pa.table({**FRAME, "k": pa.array([None, *range(1, N_ROWS)])})),
        ["--id-column", "k"],
    ),
    "dates as identifiers": (
        stored(FRAME.assign(d=pd.date_range("2020", periods=N_ROWS))),
        ["--id-column", "d"],
    ),
    "text ignored in parquet": (stored(FRAME.assign(t="word")), ["--non-numeric", "ignore"]),
    "npy": (array(ROWS), []),
    "fortran npy": (array(np.asfortranarray(ROWS)), ["--exclude", "x2"]),
    "int npy": (array(ROWS.astype(np.int16)), []),
    "foreign npy": (array(ROWS.astype(">f4")), []),
    "identifiers of npy": (array(ROWS), ["--id-column", "x0"]),
    "boolean npy": (array(np.hstack([ROWS, ROWS > 0])), []),
    "half precision": (array(ROWS.astype(np.float16)), []),
    "integers beyond 64 bits": (csv(FRAME.assign(d="99999999999999999999999")), ["--exclude", "d"]),
    "long fields": (csv(FRAME.assign(t="x" * 5000)), ["--non-numeric", "ignore"]),
    "npz": (archive(X=ROWS), []),
    "npz by name": (archive(X=ROWS, y=ROWS[:, 0]), ["--key", "X"]),
    "fortran npz": (archive(X=np.asfortranarray(ROWS)), []),
    "sparse npz": (sparse_archive(), []),
    "csc npz": (sparse_archive("csc"), []),
    "coo npz": (sparse_archive("coo"), []),
}
BAD = {
    "empty": (("rows.csv", b""), []),
    "only names": (("rows.csv", b"a,b\n"), []),
    "no names": (csv(FRAME, header=False), []),
    "unknown feature": (csv(FRAME, columns=["a"]), ["--columns", "b"]),
    "first column without a name": (csv(FRAME.reset_index().rename(columns={"index": ""})), []),
    "missing": (csv(with_value("")), []),
    "NA": (csv(with_value("NA")), []),
    "infinite": (csv(with_value("-inf")), []),
    "word": (csv(with_value("word")), []),
    "word in the first rows": (csv(with_value("word", 3)), []),
    "thousands": (csv(with_value("1_000")), []),
    "comma of decimals": (csv(with_value("1,5")), []),
    "boolean among numbers": (csv(with_value("true")), []),
    "text": (csv(FRAME.assign(t="word")), []),
    "text by name": (csv(FRAME.assign(t="word")), ["--columns", "a,t"]),
    "only text": (csv(FRAME[["a"]].assign(a="word")), ["--non-numeric", "ignore"]),
    "word after the first rows, ignored": (csv(with_value("w")), ["--non-numeric", "ignore"]),
    "unknown column": (csv(FRAME), ["--exclude", "bb"]),
    "same names": (csv(FRAME.set_axis(list("aab"), axis=1)), []),
    "too many fields": (lines(lambda text: text + "1,2,3,4\n"), []),
    "too few fields": (lines(lambda text: text + "1,2\n"), []),
    "semicolons, not said": (csv(FRAME, sep=";"), []),
    "tabs, not said": (csv(FRAME, sep="\t"), []),
    "spaces, not said": (csv(FRAME, sep=" ", header=False), ["--no-header"]),
    "commas in .tsv": (("rows.tsv", csv(FRAME)[1]), []),
    "semicolons and decimal commas": (csv(FRAME, sep=";", decimal=","), []),
    "decimal commas, not said": (csv(FRAME, decimal=","), []),
    "decimal commas not quoted": (("rows.csv", b"a,b\n1,5,2,5\n3,5,4,5\n"), []),
    "decimal point among commas": (
        csv(with_value("1;5").astype(str).replace({r"\.": ",", ";": "."}, regex=True)),
        ["--decimal", ","],
    ),
    "decimal points, not commas": (csv(FRAME, sep=";"), ["--separator", ";", "--decimal", ","]),
    "dates in text": (csv(FRAME.assign(d=pd.date_range("2020", periods=N_ROWS))), []),
    "date among numbers": (csv(with_value("2020-01-31")), []),
    "date among the first numbers": (csv(with_value("31.01.2020", 3)), []),
    "text file": (("rows.txt", csv(FRAME)[1]), []),
    "separator of parquet": (stored(FRAME), ["--separator", ";"]),
    "decimal of npy": (array(ROWS), ["--decimal", ","]),
    "not UTF-8": (("rows.csv", csv(FRAME)[1] + b"1,\xff,3\n"), []),
    "not UTF-8 identifiers": (("rows.csv", csv(FRAME)[1] + b"1,2,\xff\n"), ["--id-column", "c"]),
    "null in parquet": (stored(pa.Table.from_pandas(with_value(None))), []),
    "text in parquet": (stored(FRAME.assign(t="word")), []),
    "dates": (stored(FRAME.assign(d=pd.date_range("2020", periods=N_ROWS))), []),
    "no parquet": (("rows.parquet", b"PAR1"), []),
    "no rows in parquet": (stored(FRAME[:0]), []),
    "nan in npy": (array(nan), []),
    "nan in a chosen column": (array(nan), ["--exclude", "x0"]),
    "nan in a column left out": (array(nan), ["--columns", "x1,x2"]),
    "no rows in npy": (array(ROWS[:0]), []),
    "vector": (array(ROWS[0]), []),
    "complex": (array(ROWS + 1j), []),
    "no npy": (("rows.npy", b"NUMPY"), []),
    "unknown column of npy": (array(ROWS), ["--columns", "a"]),
    "too few rows": (array(ROWS[:2]), []),
    "huge": (array(ROWS * 1e200), []),
    "unknown kind": (("rows.xlsx", b"x"), []),
    "same names in parquet": (stored(pa.Table.from_arrays([*ROWS.T], list("aab"))), []),
    "same names in parquet, left out": (
        stored(pa.Table.from_arrays([*ROWS.T], list("aab"))),
        ["--exclude", "b"],
    ),
    "empty columns": (csv(FRAME.assign(d="")), []),
    "separators at all ends": (lines(lambda text: text.replace("\n", ",\n")), []),
    "columns of nulls": (stored(pa.table({**FRAME, "d": pa.nulls(N_ROWS)})), []),
    "number too large": (csv(with_value("1e309")), []),
    "objects": (("rows.npy", npy_bytes(ROWS.astype(object))), []),
    "fields": (array(np.zeros(5, dtype=[("a", float)])), []),
    "no columns in npy": (array(ROWS[:, :0]), []),
    "truncated npy": (("rows.npy", npy_bytes(ROWS)[:5000]), []),
    "empty npy": (("rows.npy", b""), []),
    "empty parquet": (("rows.parquet", b""), []),
    "empty npz": (("rows.npz", b""), []),
    "npy of many rows": (("rows.npy", npy_bytes(ROWS).replace(b"(600, 3)", b"(9e9, 3)")), []),
    "npy with a broken header": (("rows.npy", npy_bytes(ROWS).replace(b"'descr'", b"'descr+")), []),
    "truncated npz": (("rows.npz", archive(X=ROWS)[1][:5000]), []),
    "npz that lies": (lying_archive(), []),
    "npz of vectors": (archive(X=ROWS[0]), []),
    "npz of objects": (archive(X=ROWS.astype(object)), []),
    "npz without the name": (archive(X=ROWS, y=ROWS), []),
    **{
        f"sparse npz, {name} {value}": (sparse_archive(**{name: value}), [])
        for name in ("indices", "indptr")
        for value in (-1, 3, 10**7, 2**32, 2**33, 2**40)
    },
    "sparse npz smaller than its indices": (sparse_archive(shape=(N_ROWS, 2)), []),
    "sparse npz of huge shape": (sparse_archive("csc", shape=(2**40, 3)), []),
    "sparse npz of many columns": (sparse_archive(shape=(N_ROWS, 2**40)), []),
    "coo npz outside": (sparse_archive("coo", row=10**7), []),
}


PREPARED = [
    "missing",
    "NA",
    "infinite",
    "word",
    "word in the first rows",
    "thousands",
    "comma of decimals",
    "boolean among numbers",
    "text",
    "separators at all ends",
    "dates in text",
    "date among numbers",
    "date among the first numbers",
    "null in parquet",
    "text in parquet",
    "dates",
    "empty columns",
    "columns of nulls",
    "number too large",
]
"""Bad only with --non-numeric error: by default, values are made into numbers."""

UNCLEAR = ["text by name", "decimal point among commas"]
"""Good by default, in ways that results differ: one column of 3 clusters, and columns alike."""


def strict(words):
    """Options with which columns that hold no numbers are an error."""
    return words if "--non-numeric" in words else [*words, "--non-numeric", "error"]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name, content):
    if isinstance(content, bytes):
        Path(name).write_bytes(content)
    elif isinstance(content, pa.Table):
        parquet.write_table(content, name, row_group_size=250)
    else:
        np.save(name, content)


def run_both(name, words, monkeypatch):
    """The command in memory, and streamed in chunks of few rows."""
    command = ["cluster", name, "--n-clusters", "3", "--seed", "1", *words]
    in_memory = CliRunner().invoke(cli.program(), [*command, "--output", "whole"])
    monkeypatch.setattr(cluster, "_fits", lambda *_: False)
    monkeypatch.setattr(memory, "default_rows", lambda row_bytes: 256)
    streamed = CliRunner().invoke(cli.program(), [*command, "--output", "chunks"])
    for result in (in_memory, streamed):
        assert isinstance(result.exception, SystemExit | None), result.exception
    return in_memory, streamed


@pytest.mark.parametrize("kind", [*GOOD, *PREPARED])
def test_results_are_the_same(kind, monkeypatch):
    (name, content), words = {**GOOD, **{kind: BAD[kind] for kind in PREPARED}}[kind]
    write(name, content)
    whole, streamed = run_both(name, words, monkeypatch)
    assert (whole.exit_code, whole.stderr) == (0, ""), whole.stderr
    assert (streamed.exit_code, streamed.stderr) == (0, ""), streamed.stderr
    assert "Streamed" in streamed.stdout
    assert "Streamed" not in whole.stdout
    one, two = (
        pd.read_csv(f"{folder}/labels.csv", dtype={0: str}, na_filter=False)
        for folder in ("whole", "chunks")
    )
    pd.testing.assert_series_equal(one.iloc[:, 0], two.iloc[:, 0])
    assert adjusted_rand_score(one["label"], two["label"]) == 1.0
    for table in ("labels", "memberships", "centers"):
        header, other = (
            Path(folder, f"{table}.csv").read_text().split("\n")[0]
            for folder in ("whole", "chunks")
        )
        assert header == other
    given = [json.loads(Path(f, "summary.json").read_text())["input"] for f in ("whole", "chunks")]
    assert given[0] == given[1]


@pytest.mark.parametrize("kind", BAD)
def test_messages_are_the_same(kind, monkeypatch):
    (name, content), words = BAD[kind]
    write(name, content)
    whole, streamed = run_both(name, strict(words), monkeypatch)
    assert (whole.exit_code, whole.stdout) == (2, ""), whole.stdout
    assert (streamed.exit_code, streamed.stdout) == (2, "")
    assert streamed.stderr == whole.stderr
    assert whole.stderr.count("\n") == 1
    assert name in whole.stderr or "--n-clusters " in whole.stderr
    assert not re.search(r"\b[a-z_]+=", whole.stderr.replace("n_samples=", "")), "no keywords"


WORDS = {
    "semicolons, not said": ["--separator ';'"],
    "tabs, not said": ["--separator '\\t'"],
    "spaces, not said": ["--separator ' '"],
    "commas in .tsv": ["--separator ','"],
    "semicolons and decimal commas": ["--separator ';' --decimal ','"],
    "decimal commas, not said": ["'a' ('", "in line 2)", "give --decimal ','"],
    "decimal commas not quoted": ["line 2: 4 fields where there should be 2", "decimal commas"],
    "comma of decimals": ["line 402, column 'b': '1,5'", "write 1.5, or give --decimal ','"],
    "decimal point among commas": [
        "line 402, column 'b': '1.5'",
        "write 1,5, or give --decimal '.'",
    ],
    "decimal points, not commas": ["'a' ('", "give --decimal '.' for numbers with decimal points"],
    "word": ["line 402, column 'b': 'word' is no number", "--exclude b"],
    "word in the first rows": ["line 5, column 'b': 'word' is no number", "--exclude b"],
    "dates": ["'d' (timestamp", "convert dates to numbers", "--exclude d"],
    "dates in text": ["'d' ('2020-01-01' in line 2)", "convert dates to numbers", "--exclude d"],
    "date among numbers": ["line 402, column 'b': '2020-01-31'", "convert dates", "--exclude b"],
    "date among the first numbers": ["line 5, column 'b': '31.01.2020'", "--exclude b"],
    "no names": ["--no-header"],
    "missing": ["rows.csv, line 402, column 'b': a missing value (NaN)", "--exclude"],
    "infinite": ["rows.csv, line 402, column 'b': the value -inf", "--exclude"],
    "text by name": ["'t' ('word' in line 2)", "leave them out of --columns"],
    "text file": ["let its name end in .csv", "--separator"],
    "unknown column": ["no column 'bb'; did you mean 'b'?\n"],
}


@pytest.mark.parametrize("kind", WORDS)
def test_messages_say_where_what_and_what_to_do(kind):
    (name, content), words = BAD[kind]
    write(name, content)
    words = ["cluster", name, "--n-clusters", "3", *strict(words)]
    result = CliRunner().invoke(cli.program(), words)
    for word in WORDS[kind]:
        assert word in result.stderr


@pytest.mark.parametrize("kind", [k for k in BAD if k not in (*PREPARED, *UNCLEAR)])
def test_other_files_are_bad_whatever_is_done_with_text(kind, monkeypatch):
    (name, content), words = BAD[kind]
    write(name, content)
    whole, streamed = run_both(name, words, monkeypatch)
    assert (whole.exit_code, streamed.exit_code) == (2, 2)
    assert streamed.stderr == whole.stderr
    assert whole.stderr.count("\n") == 1


def test_identifiers_are_kept_as_they_are_written(monkeypatch):
    write(*csv(FRAME.assign(name=NAMES)))
    run_both("rows.csv", ["--id-column", "name"], monkeypatch)
    for folder in ("whole", "chunks"):
        labels = pd.read_csv(f"{folder}/labels.csv", dtype=str, na_filter=False)
        assert labels["name"].tolist() == NAMES
