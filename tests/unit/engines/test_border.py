"""The compiled core refuses arguments that would make a pass read or write out of bounds.

Every case is a call that works, with one argument replaced.
"""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import sfumato
from sfumato._native import core

N_ROWS, N_FEATURES, N_CLUSTERS = 7, 3, 4
STUB = ast.parse((Path(sfumato.__file__).parent / "_core.pyi").read_text(encoding="utf-8"))
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def ints(*shape):
    return np.zeros(shape, dtype=np.int32)


def csr(dtype=np.float64, **replaced):
    """Rows with one entry each, in columns 0, 1, 2, 0, ..."""
    given = {
        "data": np.arange(N_ROWS, dtype=dtype),
        "indices": (np.arange(N_ROWS) % N_FEATURES).astype(np.int32),
        "indptr": np.arange(N_ROWS + 1),
        "n_features": N_FEATURES,
    }
    return getattr(core, f"RowsFloat{np.dtype(dtype).itemsize * 8}").csr(**given | replaced)


def dense(dtype=np.float64, **replaced):
    given = {"array": np.ones((N_ROWS, N_FEATURES), dtype), "origin": np.zeros(N_FEATURES)}
    return getattr(core, f"RowsFloat{np.dtype(dtype).itemsize * 8}").dense(**given | replaced)


def working_calls(dtype):
    """Arguments of every pass that it accepts."""
    shared = {"rows": dense(dtype), "centers": np.ones((N_CLUSTERS, N_FEATURES)), "n_threads": 1}
    per_row, doubles = np.ones(N_ROWS, dtype), np.ones(N_CLUSTERS)
    per_pair = np.ones((N_ROWS, N_CLUSTERS), dtype)
    loss, weights = {"loss": core.L21()}, {"weights": np.ones(N_ROWS)}
    rule = {"membership": core.Power(2, 1.5)}
    sums = {"pull": np.ones((N_CLUSTERS, N_FEATURES)), "weight": doubles, "kink_force": doubles}
    entries = {"indices": ints(2 * N_ROWS), "memberships": np.ones(2 * N_ROWS, dtype)}
    labels = {"labels": ints(N_ROWS), "distances": per_row, "counts": ints(N_ROWS)}
    offsets = {"offsets": np.arange(0, 2 * N_ROWS + 1, 2)}
    costs = {"costs": per_row, "totals": doubles, "losses": per_pair}
    return {
        "sweep": shared | loss | weights | rule | sums,
        "assign": shared | loss | weights | rule | labels | offsets | entries,
        "distances": shared | {"out": per_pair},
        "scaled_distances": shared | {"units": doubles, "out": per_row},
        "rarities": shared
        | {"scales": doubles, "weights": doubles, "power": 7.0, "out": np.ones(N_ROWS)},
        "mean_shift": shared
        | weights
        | {"mass": 2.0, "means": np.ones((N_CLUSTERS, N_FEATURES)), "radii": doubles},
        "update_costs": shared | loss | {"costs": per_row},
        "candidate_costs": shared | loss | weights | costs,
    }


def array_cases():
    """Every array of every pass."""
    return [
        (name, key)
        for name, given in working_calls(np.float64).items()
        for key, value in given.items()
        if isinstance(value, np.ndarray)
    ]


every_array = pytest.mark.parametrize(("name", "key"), array_cases())
# Names alone: a mark lives until the process ends, and nanobind reports objects that do as leaked.
every_pass = pytest.mark.parametrize("name", [*working_calls(np.float64)])


def call(name, dtype, **replaced):
    return getattr(core, name)(**working_calls(dtype)[name] | replaced)


@every_dtype
@every_pass
def test_the_call_works(name, dtype):
    call(name, dtype)
    call(name, dtype, rows=csr(dtype))


@every_dtype
@every_array
@pytest.mark.parametrize("change", [-1, 1])
def test_shapes(name, key, change, dtype):
    given = working_calls(dtype)[name][key]
    for axis in range(given.ndim):
        if (key, axis) == ("centers", 0):
            continue  # Their number is free; what is written must match it.
        shape = list(given.shape)
        shape[axis] += change
        with pytest.raises(ValueError, match=r"shape|\[-1\]"):
            call(name, dtype, **{key: np.ones(shape, given.dtype)})


@every_dtype
@every_array
def test_types_and_layouts(name, key, dtype):
    given = working_calls(dtype)[name][key]
    other = np.int16 if given.dtype.kind == "i" else "f4" if given.dtype == np.float64 else "f8"
    wrong = [given.astype(other), given[None], given.tolist(), np.repeat(given, 2, axis=0)[::2]]
    if given.ndim == 2:
        wrong.append(np.asfortranarray(given))
    for array in wrong:
        with pytest.raises(TypeError, match="incompatible function arguments"):
            call(name, dtype, **{key: array})


@every_array
def test_arrays_that_are_written_are_writable(name, key):
    given = working_calls(np.float64)[name][key].copy()
    given.flags.writeable = False
    only_read = {"centers", "weights", "units", "scales", "offsets"} | (
        {"costs"} if name == "candidate_costs" else set()
    )
    if key in only_read:
        call(name, np.float64, **{key: given})
    else:
        with pytest.raises(TypeError, match="incompatible function arguments"):
            call(name, np.float64, **{key: given})


@every_pass
def test_rows_of_the_other_precision(name):
    if name not in ("sweep", "rarities", "mean_shift"):  # They write doubles for rows of either.
        with pytest.raises(TypeError, match="incompatible function arguments"):
            call(name, np.float64, rows=dense(np.float32))


@every_pass
@pytest.mark.parametrize("n_threads", [0, -1])
def test_threads(name, n_threads):
    with pytest.raises(ValueError, match=f"n_threads={n_threads}"):
        call(name, np.float64, n_threads=n_threads)


@pytest.mark.parametrize("name", ["sweep", "assign"])
def test_memberships_need_centers_enough(name):
    for rule in (core.Power(N_CLUSTERS + 1, 2.0), core.Simplex(n_active=N_CLUSTERS + 1)):
        with pytest.raises(ValueError, match=f"n_active={N_CLUSTERS + 1}"):
            call(name, np.float64, membership=rule)
    with pytest.raises(ValueError, match="n_centers=0"):
        call(name, np.float64, centers=np.empty((0, N_FEATURES)))


def test_offsets_and_entries():
    for offsets, text in [
        (np.arange(1, 2 * N_ROWS + 2, 2), r"offsets\[0\]=1"),
        (np.array([0, 4, 2, 6, 8, 10, 12, 14]), "decreases at 2"),
        (np.array([0, 1, 4, 6, 8, 10, 12, 14]), "more or less room"),
        (np.array([0, 3, 4, 6, 8, 10, 12, 14]), "more or less room"),
    ]:
        with pytest.raises(ValueError, match=text):
            call("assign", np.float64, offsets=offsets)
    for missing in ("indices", "memberships"):
        with pytest.raises(ValueError, match="both"):
            call("assign", np.float64, **{missing: None})


@every_dtype
@pytest.mark.parametrize(
    ("replaced", "text"),
    [
        ({"indices": np.array([0, 1, 2, 0, 1, 2, 3])}, "row 6 has the column 3"),
        ({"indices": np.array([0, 1, 2, 0, 1, 2, 2**32])}, "row 6 has the column 4294967296"),
        ({"indices": np.array([0, -1, 2, 0, 1, 2, 0], np.int32)}, "row 1 has the column -1"),
        ({"indptr": np.array([0, 2, 2, 3, 4, 5, 6, 7]), "indices": ints(7)}, "row 0 .* column 0"),
        ({"indices": ints(N_ROWS - 1)}, r"indices has the shape \(6,\); expected \(7,\)"),
        ({"indices": np.zeros(N_ROWS, np.int16)}, "indices is of type int16"),
        ({"indptr": np.arange(N_ROWS + 1, dtype=np.uint32)}, "indptr is of type uint32"),
        ({"indptr": np.arange(1, N_ROWS + 2)}, r"indptr\[0\]=1"),
        ({"indptr": np.array([0, 3, 2, 3, 4, 5, 6, 7])}, "indptr decreases at 2"),
        ({"indptr": np.arange(N_ROWS)}, r"indptr\[-1\]=6"),
        ({"indptr": np.empty(0, np.int64)}, r"len\(indptr\)=0"),
        ({"n_features": -1}, "n_features=-1"),
        ({"n_features": 2**31}, "n_features=2147483648"),
        ({"data": np.ones(N_ROWS, np.float16)}, "data is of type float16"),
        ({"data": np.ones(N_ROWS, complex)}, "data is of type complex128"),
    ],
)
def test_csr(replaced, text, dtype):
    with pytest.raises(ValueError, match=text):
        csr(dtype, **replaced)


@pytest.mark.parametrize("key", ["data", "indices", "indptr"])
def test_csr_layouts(key):
    for array in (np.zeros((8, 1)), np.zeros(16)[::2]):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            csr(**{key: array})


def mixture():
    """Arguments of the pass over a mixture, for dense rows in double precision only."""
    per_center, per_feature = np.ones(N_CLUSTERS), np.ones(N_FEATURES)
    per_pair, per_row = np.ones((N_CLUSTERS, N_ROWS)), np.ones(N_ROWS)
    found = {"rows": dense(), "weights": per_row, "centers": np.ones((N_CLUSTERS, N_FEATURES))}
    found |= dict.fromkeys(("heights", "precisions"), per_center) | {"along": per_pair}
    found |= {"shape": np.inf, "power": 1.0, "uniform": 0.0, "cauchy": per_row}
    found |= dict.fromkeys(("middle", "units"), per_feature)
    found |= {"posteriors": np.ones((N_CLUSTERS + 2, N_ROWS)), "log_density": np.ones(N_ROWS)}
    found |= {"masses": np.ones(N_CLUSTERS + 2)}
    found |= {name: np.ones(N_CLUSTERS) for name in ("contrasts", "pulls", "squares")}
    sums = {"pulled": np.ones((N_CLUSTERS, N_FEATURES)), "cauchy_sums": np.ones((3, N_FEATURES))}
    return found | sums


def test_the_pass_over_a_mixture_works():
    given = mixture()
    core.expect_mixture(**given)
    np.testing.assert_allclose(given["posteriors"].sum(axis=0), 1)
    core.expect_mixture(**given | {"along": None})


@pytest.mark.parametrize("key", [k for k, v in mixture().items() if isinstance(v, np.ndarray)])
@pytest.mark.parametrize("change", [-1, 1])
def test_arrays_of_a_mixture(key, change):
    given = mixture()[key]
    for axis in range(given.ndim):
        shape = list(given.shape)
        shape[axis] += change
        with pytest.raises(ValueError, match="shape"):
            core.expect_mixture(**mixture() | {key: np.ones(shape)})
    for array in (given.astype("f4"), given[None], np.repeat(given, 2, axis=0)[::2]):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            core.expect_mixture(**mixture() | {key: array})


def test_rows_and_numbers_of_a_mixture():
    for wrong, text in [
        ({"rows": csr()}, "dense"),
        ({"shape": 0.0}, "shape="),
        ({"shape": np.nan}, "shape="),
        ({"power": 0.0}, "power="),
    ]:
        with pytest.raises(ValueError, match=text):
            core.expect_mixture(**mixture() | wrong)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        core.expect_mixture(**mixture() | {"rows": dense(np.float32)})


def unaligned():
    """Doubles that begin one byte after a multiple of eight."""
    bytes_ = np.zeros(8 * N_ROWS * N_FEATURES + 16, np.uint8)
    start = -bytes_.ctypes.data % 8 + 1
    return bytes_[start : start + 8 * N_ROWS * N_FEATURES].view("f8").reshape(N_ROWS, N_FEATURES)


def test_dense():
    for replaced, text in [
        ({"origin": np.zeros(N_FEATURES + 1)}, r"origin has the shape \(4,\)"),
        ({"array": np.ones((N_ROWS, N_FEATURES), np.float16)}, "array is of type float16"),
        ({"array": unaligned()}, "array is not aligned"),
    ]:
        with pytest.raises(ValueError, match=text):
            dense(**replaced)
    for array in (np.ones(N_ROWS), np.ones((N_ROWS, N_FEATURES, 1)), [[1.0, 2.0, 3.0]]):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            dense(array=array)


@every_dtype
def test_transpose(dtype):
    columns, out = [np.ones(N_ROWS, dtype)] * N_FEATURES, np.zeros((N_ROWS, N_FEATURES), dtype)
    core.transpose(columns, out)
    assert out.all()
    for wrong in (columns[1:], [*columns, columns[0]], [columns[0][1:], *columns[1:]]):
        with pytest.raises(ValueError, match="has the shape"):
            core.transpose(wrong, out)
    for wrong in ([columns[0].astype(int), *columns[1:]], [np.ones((N_ROWS, 1), dtype)] * 3):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            core.transpose(wrong, out)


@every_dtype
def test_two_smallest(dtype):
    table = np.random.default_rng(0).integers(4, size=(N_ROWS, 3)).astype(dtype)  # With ties.
    given = {
        "table": table,
        "column": np.empty(N_ROWS, np.int64),
        "smallest": np.empty(N_ROWS, dtype),
        "second": np.empty(N_ROWS, dtype),
    }
    core.two_smallest(**given)
    ordered = np.sort(table, axis=1)
    np.testing.assert_array_equal(given["column"], table.argmin(axis=1))
    np.testing.assert_array_equal(given["smallest"], ordered[:, 0])
    np.testing.assert_array_equal(given["second"], ordered[:, 1])
    core.two_smallest(**given | {"table": np.ascontiguousarray(table[:, :1])})
    assert np.isinf(given["second"]).all()
    for key in ("column", "smallest", "second"):
        with pytest.raises(ValueError, match=f"{key} has the shape"):
            core.two_smallest(**given | {key: given[key][1:]})
    with pytest.raises(ValueError, match="n_columns"):
        core.two_smallest(**given | {"table": table[:, :0].copy()})


@pytest.mark.parametrize("name", ["log2", "exp2", "power"])
def test_numerics(name):
    exponent = {"exponent": 2.0} if name == "power" else {}
    with pytest.raises(ValueError, match=r"out has the shape \(2,\); expected \(3,\)"):
        getattr(core, name)(x=np.ones(3), out=np.ones(2), **exponent)


@pytest.mark.parametrize(
    ("kind", "parameters", "text"),
    [
        ("Capped", {"cap": -1.0}, "cap"),
        ("Capped", {"cap": np.nan}, "cap"),
        ("Power", {"n_active": 0, "fuzzifier": 2.0}, "n_active=0"),
        ("Power", {"n_active": 1, "fuzzifier": 1.0}, "fuzzifier"),
        ("Power", {"n_active": 1, "fuzzifier": np.nan}, "fuzzifier"),
        ("Simplex", {"gamma": -1.0}, "gamma"),
        ("Simplex", {"gamma": np.nan}, "gamma"),
        ("Simplex", {"n_active": 0}, "n_active=0"),
        ("Simplex", {}, "either gamma or n_active"),
        ("Simplex", {"gamma": 1.0, "n_active": 2}, "either gamma or n_active"),
    ],
)
def test_parts(kind, parameters, text):
    with pytest.raises(ValueError, match=text):
        getattr(core, kind)(**parameters)


def test_rows_keep_their_arrays_alive():
    rows, out = dense(array=np.full((N_ROWS, N_FEATURES), 3.0)), np.empty((N_ROWS, 1))
    np.full((N_ROWS, N_FEATURES), 7.0)  # Would be given the memory, if it were free.
    core.distances(rows, np.full((1, N_FEATURES), 3.0), 1, out)
    np.testing.assert_array_equal(out, 0)


# The stub that mypy reads.


def described(function):
    """Names of the parameters of a compiled function, by each signature in its docstring."""
    lines = function.__doc__.splitlines()
    signatures = [line for line in lines if line.startswith(f"{function.__name__}(")]
    return {tuple(re.findall(r"[(, ](\w+): ", signature)) for signature in signatures}


def test_the_stub_has_what_the_core_has():
    public = {name for name in dir(core) if not name.startswith("_")}
    assert {node.name for node in STUB.body if hasattr(node, "name")} == public


def test_the_stub_has_the_parameters_of_the_core():
    functions = [node for node in STUB.body if isinstance(node, ast.FunctionDef)]
    methods = [
        (getattr(core, node.name), method)
        for node in STUB.body
        if isinstance(node, ast.ClassDef)
        for method in node.body
        if isinstance(method, ast.FunctionDef)
    ]
    assert len(functions) > 10
    assert len(methods) > 8
    for owner, node in [(core, function) for function in functions] + methods:
        names = tuple(argument.arg for argument in node.args.args if argument.arg != "self")
        assert described(getattr(owner, node.name)) == {names}, node.name
