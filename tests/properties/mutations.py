"""Model files that were damaged, or made to deceive, at random.

Half of them are damaged bytes. The others are well-formed archives with right checksums, whose
members were changed: values of the JSON, headers and bytes of arrays, names, order, compression.
"""

from __future__ import annotations

import copy
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

import numpy as np

VALUES: list[Any] = [
    None, True, False, 0, 1, 2, 3, -1, 10**9, 2**63, 10**30, 0.0, -1.5, 1e308, "", "a", "nan",
    "inf", "auto", "0.npy", "1.npy", "99.npy", "model.json", "../../etc/passwd", "/etc/passwd",
    "os.system", "REFCMFS", "KMedoids", "Capped", "Power", "Simplex", "Hard", "__class__", [], {},
    [[]], [1, 2], {"real": "inf"}, {"real": "nan"}, {"real": 0.5}, {"array": "0.npy"},
    {"path": "x"}, {"part": {"class": "Capped", "parameters": {}}}, {"py/object": "os.system"},
    {"seed": {"keys": "0.npy", "position": 9, "has_gauss": 0, "gauss": 0.0}},
    {"class": "os.system"}, "nested" * 200,
]  # fmt: skip
NAMES = ["..", "../evil.npy", "/abs.npy", "a\\b", "0.npy", "1.NPY", "model.json", "", "C:x", "é"]
HEADERS = [
    "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
    "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999999999,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 999999999999999999), }",
    "{'descr': '<f2', 'fortran_order': False, 'shape': (4,), }",
    "{'descr': '<U999999', 'fortran_order': False, 'shape': (1,), }",
    "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }",
    "__import__('os').system('true')",
    "(" * 500,
]


def mutated(originals: list[bytes], rng: np.random.Generator) -> bytes:
    """A damaged or deceiving version of one of the files."""
    original = originals[rng.integers(len(originals))]
    if rng.random() < 0.5:
        return _damaged(original, originals, rng)
    members = _members(original)
    for _ in range(rng.integers(1, 4)):
        change: Callable[..., None] = CHANGES[rng.integers(len(CHANGES))]
        change(members, rng)
    return _packed(members, zipfile.ZIP_DEFLATED if rng.random() < 0.03 else zipfile.ZIP_STORED)


def _damaged(content: bytes, others: list[bytes], rng: np.random.Generator) -> bytes:
    """Bytes that were flipped, cut, inserted, repeated or mixed with another file."""
    found = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        begin, end = sorted(rng.integers(0, len(found) + 1, size=2))
        way = rng.integers(7)
        if way == 0:
            del found[begin:]
        elif way == 1 and found:
            found[rng.integers(len(found))] ^= 1 << rng.integers(8)
        elif way == 2:
            found[begin : begin + 8] = rng.bytes(8)
        elif way == 3:
            del found[begin : min(end, begin + 64)]
        elif way == 4:
            found[begin:begin] = found[begin : min(end, begin + 64)]
        elif way == 5:
            found[begin:] = others[rng.integers(len(others))][begin:]
        else:
            found[-rng.integers(1, 120) :] = rng.bytes(4)  # The directory, at the end.
    return bytes(found)


def _members(content: bytes) -> list[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist() if name != "SHA256SUMS"]


def _packed(members: list[tuple[str, bytes]], kind: int) -> bytes:
    """Archive with right checksums, compressed or not."""
    sums = "".join(f"{sha256(content).hexdigest()}  {name}\n" for name, content in members)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", kind) as archive:
        for name, content in [*members, ("SHA256SUMS", sums.encode("utf-8", "replace"))]:
            info = zipfile.ZipInfo(name or "x")
            info.compress_type = kind
            if archive.NameToInfo.get(info.filename) is None:  # A second one would warn.
                archive.writestr(info, content)
    return buffer.getvalue()


def json_of(content: bytes) -> bytes:
    """The header of a file."""
    return _members(content)[0][1]


def with_json(content: bytes, header: bytes) -> bytes:
    """The file with another header, and right checksums."""
    (name, _), *others = _members(content)
    return _packed([(name, header), *others], zipfile.ZIP_STORED)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container within a JSON value, with its keys."""
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    for key in list(keys):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def _change_json(members: list[tuple[str, bytes]], rng: np.random.Generator) -> None:
    """Replace, remove, rename or move a value of the header."""
    if members[0][0] != "model.json":
        return
    try:
        header = json.loads(members[0][1])
    except (ValueError, RecursionError):
        return
    places = list(_places(header)) if isinstance(header, dict) else []
    if places:
        holder, key = places[rng.integers(len(places))]
        way = rng.integers(5)
        if way <= 1:
            holder[key] = copy.deepcopy(VALUES[rng.integers(len(VALUES))])
        elif way == 2:
            del holder[key]
        elif way == 3 and isinstance(holder, dict):
            holder[str(VALUES[rng.integers(len(VALUES))])[:50]] = holder.pop(key)
        else:
            other, there = places[rng.integers(len(places))]
            holder[key] = copy.deepcopy(other[there])
    text = json.dumps(header).encode()
    if rng.random() < 0.02:
        text = b"[" * 100_000
    members[0] = "model.json", text


def _change_array(members: list[tuple[str, bytes]], rng: np.random.Generator) -> None:
    """Change the header of an array, its bytes, or its length."""
    number = rng.integers(len(members))
    name, content = members[number]
    if not content.startswith(b"\x93NUMPY"):
        return
    start = 10 + int.from_bytes(content[8:10], "little")
    way = rng.integers(5)
    try:
        found = np.load(io.BytesIO(content))
    except Exception:  # It was changed before; NumPy raises many kinds of errors.
        way = 4
    if way == 0:
        header = (HEADERS[rng.integers(len(HEADERS))] + "\n").encode()
        content = content[:8] + len(header).to_bytes(2, "little") + header + content[start:]
    elif way == 1:
        values = [np.nan, np.inf, -np.inf, 0, -1, 1e300, 2**31 - 1]
        with np.errstate(all="ignore"):
            if found.size and found.dtype.kind in "fi":
                value = values[rng.integers(len(values))]
                usable = found.dtype.kind == "f" or abs(value) < 2**31
                found.flat[rng.integers(found.size)] = value if usable else -1
        content = _npy(found)
    elif way == 2:
        shapes = [found[:-1], found[..., None], found.ravel(), found.T, found[:0]]
        content = _npy(
            np.ascontiguousarray(shapes[rng.integers(len(shapes))]) if found.ndim else found
        )
    elif way == 3:
        dtypes = ["f4", "f8", "i4", "i8", "u1", "?"]
        with np.errstate(all="ignore"):
            if found.dtype.kind in "fiub":
                found = np.nan_to_num(found).astype(dtypes[rng.integers(len(dtypes))])
        content = _npy(found)
    else:
        content = content[: rng.integers(len(content) + 1)]
    members[number] = name, content


def _npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def _change_members(members: list[tuple[str, bytes]], rng: np.random.Generator) -> None:
    """Rename, drop, exchange or add a member."""
    one, other = rng.integers(len(members), size=2)
    way = rng.integers(4)
    if way == 0:
        members[one] = NAMES[rng.integers(len(NAMES))], members[one][1]
    elif way == 1 and len(members) > 1:
        del members[one]
    elif way == 2:
        (a, x), (b, y) = members[one], members[other]
        members[one], members[other] = (a, y), (b, x)
    else:
        members.append((f"{len(members) - 1}.npy", members[one][1]))


CHANGES = [_change_json, _change_json, _change_json, _change_array, _change_array, _change_members]
