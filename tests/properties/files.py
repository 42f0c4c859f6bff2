"""Files to try: valid ones of every kind, and mutations of their bytes, numbers and headers."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from hypothesis import strategies as st
from pyarrow import parquet

N_ROWS = 60
ROWS = np.random.default_rng(0).normal(size=(N_ROWS, 3)) + 20 * np.eye(3)[np.arange(N_ROWS) % 3]

WORDS = (
    "", "nan", "NaN", "inf", "-inf", "NA", "null", "true", "False", "x", "1e309", "-1e400",
    "1e-400", "99999999999999999999999", "-9223372036854775809", "0x10", "1_000", " 1 ", "+1",
    "1,5", "1.5.2", '"', '""', '"1"', '"1\n2"', "é", "\x00", "\ufeff", "2020-01-31", "1e5", ".5",
    "5.", "-", "9" * 400, "x" * 2_000_000,
)  # fmt: skip
"""Fields of text files that are odd, or were once read in two ways."""
DTYPES = ("f8", ">f8", "f4", "f2", "i8", "u8", "i1", ">i4", "?", "c16", "S3", "U2", "f16", "M8[s]")
"""Types of arrays."""
INTEGERS = (-1, 0, 1, 2, 3, 59, 60, 61, 10**7, 2**31 - 1, 2**31, 2**32, 2**40, 2**63 - 1, -(2**63))
"""Indices, sizes and shapes to lie with."""


def text(separator: str = ",") -> bytes:
    lines = [separator.join("abc"), *(separator.join(f"{v:.6f}" for v in row) for row in ROWS)]
    return ("\n".join(lines) + "\n").encode()


def npy(values: Any = ROWS) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=True)
    return buffer.getvalue()


def npz(compressed: bool = False, **arrays: Any) -> bytes:
    buffer = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(buffer, **arrays)
    return buffer.getvalue()


def sparse_arrays(kind: str = "csr") -> dict[str, Any]:
    """Arrays of a file of ``scipy.sparse.save_npz``."""
    buffer = io.BytesIO()
    sp.save_npz(buffer, sp.csr_array(np.where(ROWS > 1, ROWS, 0)).asformat(kind))
    with np.load(io.BytesIO(buffer.getvalue())) as archive:
        return {name: archive[name] for name in archive.files}


def table(**options: Any) -> bytes:
    buffer = io.BytesIO()
    content = pa.table(dict(zip("abc", ROWS.T, strict=True)))
    parquet.write_table(content, buffer, row_group_size=25, **options)
    return buffer.getvalue()


def mutated_bytes(whole: bytes) -> st.SearchStrategy[bytes]:
    """Bytes with a few of them changed, cut out, doubled or cut off, often near the beginning."""
    places = st.integers(0, min(200, len(whole) - 1)) | st.integers(0, len(whole) - 1)
    near_end = st.integers(max(0, len(whole) - 300), len(whole) - 1)
    places = places | near_end
    flips = st.lists(st.tuples(places, st.integers(0, 255)), min_size=1, max_size=4)
    spans = st.tuples(places, st.integers(0, 64))
    return st.one_of(
        flips.map(lambda found: _flipped(whole, found)),
        places.map(lambda place: whole[:place]),
        spans.map(lambda span: whole[: span[0]] + whole[span[0] + span[1] :]),
        spans.map(lambda span: whole[: span[0] + span[1]] + whole[span[0] :]),
    )


def _flipped(whole: bytes, flips: list[tuple[int, int]]) -> bytes:
    changed = bytearray(whole)
    for place, value in flips:
        changed[place] = value
    return bytes(changed)


@st.composite
def texts(draw: Callable[[Any], Any], separator: str = ",") -> bytes:
    """A text file with odd fields, names and lines."""
    lines = [line.split(separator) for line in text(separator).decode().splitlines()]
    for _ in range(draw(st.integers(1, 3))):
        row = draw(st.sampled_from([0, 1, 2, 30, 59, 60]))
        column = draw(st.integers(0, len(lines[row]) - 1)) if lines[row] else 0
        action = draw(st.sampled_from(["set", "add", "drop", "column", "blank"]))
        word = draw(st.sampled_from(WORDS))
        if action == "set" and lines[row]:
            lines[row][column] = word
        elif action == "add":
            lines[row].append(word)
        elif action == "drop" and len(lines[row]) > 1:
            del lines[row][column]
        elif action == "column":
            for line in lines:
                line.append(word)
        elif action == "blank":
            lines.insert(row, [])
    ending = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    return (ending.join(separator.join(line) for line in lines)).encode()


@st.composite
def tables(draw: Callable[[Any], Any]) -> bytes:
    """A Parquet file of columns of odd names and types."""
    names = draw(
        st.lists(st.sampled_from(["a", "b", "", "label", "a b", "é"]), min_size=0, max_size=3)
    )
    n_rows = draw(st.sampled_from([0, 1, 2, N_ROWS, N_ROWS]))
    columns = [draw(_columns(n_rows)) for _ in names]
    buffer = io.BytesIO()
    parquet.write_table(pa.Table.from_arrays(columns, names=names), buffer, row_group_size=25)
    return buffer.getvalue()


def _columns(n_rows: int) -> st.SearchStrategy[Any]:
    numbers = ROWS[:n_rows, 0]
    whole = numbers.astype(np.int64)
    return st.sampled_from(
        [
            lambda: pa.array(numbers),
            lambda: pa.array(numbers.astype(np.float32)),
            lambda: pa.array(numbers.astype(np.float16)),
            lambda: pa.array(whole),
            lambda: pa.array(numbers > 5),
            lambda: pa.array(np.abs(whole).astype(np.uint64) + np.uint64(2**63)),
            lambda: pa.array([None] * n_rows, pa.float64()),
            lambda: pa.nulls(n_rows),
            lambda: pa.array([str(v) for v in whole]),
            lambda: pa.array([str(v) for v in whole]).dictionary_encode(),
            lambda: pa.array(whole).dictionary_encode(),
            lambda: pa.array(whole).cast(pa.timestamp("s")),
            lambda: pa.array([[float(v)] for v in whole], pa.list_(pa.float64())),
            lambda: pa.array([{"u": float(v)} for v in whole], pa.struct([("u", pa.float64())])),
            lambda: pa.array([str(v) for v in whole]).cast(pa.decimal128(30, 2)),
            lambda: pa.array([b"x"] * n_rows, pa.binary()),
        ]
    ).map(lambda make: make())


@st.composite
def arrays(draw: Callable[[Any], Any]) -> Any:
    """An array of an odd type, shape or order."""
    n_rows, n_columns = (
        draw(st.sampled_from([0, 1, N_ROWS, N_ROWS])),
        draw(st.sampled_from([0, 1, 3])),
    )
    values = ROWS[:n_rows, :n_columns]
    kind = draw(st.sampled_from([*DTYPES, "object", "fields", "nan", "huge"]))
    if kind == "object":
        values = values.astype(object)
    elif kind == "fields":
        values = np.zeros(n_rows, dtype=[("a", float), ("b", float)])
    elif kind in ("nan", "huge"):
        values = np.where(
            np.arange(n_rows)[:, None] == 7, {"nan": np.nan, "huge": 1e300}[kind], values
        )
    else:
        values = values.astype(np.int64).astype(kind)
    if draw(st.booleans()):
        values = np.asfortranarray(values)
    return draw(st.sampled_from([values, values, values.ravel(), values[None]]))


@st.composite
def headers(draw: Callable[[Any], Any]) -> bytes:
    """An .npy file whose header lies."""
    size = st.sampled_from(INTEGERS)
    shape = draw(st.lists(size, min_size=0, max_size=3).map(tuple) | st.just((60, 3)))
    dtype = draw(st.sampled_from([*DTYPES, "|O", "O", "V8", "<f7", "", "f8,f8", "i\x00", "(2,)f8"]))
    header = f"{{'descr': {dtype!r}, 'fortran_order': {draw(st.booleans())}, 'shape': {shape!r}, }}"
    header = draw(
        st.sampled_from([header, header, header[:-3], "{}", header.replace("'", '"'), "1+1"])
    )
    version = draw(st.sampled_from([b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x09\x09"]))
    width = 2 if version == b"\x01\x00" else 4
    length = draw(st.sampled_from([len(header) + 1, 2 ** (8 * width) - 1, 0, 10**4]))
    start = b"\x93NUMPY" + version + (length % 2 ** (8 * width)).to_bytes(width, "little")
    return start + header.encode() + b"\n" + ROWS.tobytes()


@st.composite
def archives(draw: Callable[[Any], Any]) -> bytes:
    """An .npz file: dense or sparse, with entries replaced, left out or lying."""
    st.sampled_from(["keep", "keep", "keep", "drop", "value", "type", "cut", "odd"])
    st.sampled_from(["i2", "u8", "f8", "f4", "?", "c16"])
    sparse = draw(st.booleans())
    kind = draw(st.sampled_from(["csr", "csc", "coo", "bsr", "dia"]))
    content = sparse_arrays(kind) if sparse else {"X": draw(arrays())}
    for name in [*content] if sparse else []:
        action = draw(
            st.sampled_from(["keep", "keep", "keep", "drop", "value", "type", "cut", "odd"])
        )
        values = content[name]
        if action == "drop":
            del content[name]
        elif action == "value" and values.dtype.kind in "iuf" and values.size:
            flat = values.ravel().astype(np.int64 if values.dtype.kind != "f" else float)
            flat[draw(st.integers(0, flat.size - 1))] = draw(st.sampled_from(INTEGERS))
            content[name] = flat.reshape(values.shape)
        elif action == "type" and values.dtype.kind in "iuf":
            content[name] = values.astype(
                draw(st.sampled_from(["i2", "u8", "f8", "f4", "?", "c16"]))
            )
        elif action == "cut":
            content[name] = values[: draw(st.integers(0, 5))] if values.ndim else values
        elif action == "odd":
            content[name] = draw(arrays())
    return npz(draw(st.booleans()), **content)


@st.composite
def claims(draw: Callable[[Any], Any]) -> bytes:
    """An .npz file whose entries are .npy files with lying headers."""
    buffer = io.BytesIO()
    method = draw(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("X.npy", draw(headers()))
    return buffer.getvalue()


FILES: dict[str, st.SearchStrategy[bytes]] = {
    "csv": mutated_bytes(text()) | texts(),
    "tsv": mutated_bytes(text("\t")) | texts("\t"),
    "parquet": mutated_bytes(table()) | mutated_bytes(table(compression="zstd")) | tables(),
    "npy": mutated_bytes(npy()) | arrays().map(npy) | headers(),
    "npz": st.one_of(
        mutated_bytes(npz(X=ROWS)),
        mutated_bytes(npz(True, X=ROWS)),
        mutated_bytes(npz(**sparse_arrays())),
        archives(),
        claims(),
    ),
}
"""Mutated files by the endings of their names."""
