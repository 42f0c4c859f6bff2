"""Fitted estimators as ONNX graphs, which other runtimes and languages can run.

All numbers within a graph are float64, whatever its input. Distances are sums of squared
differences, center by center, as in the compiled engine: exact where a row is close to a center.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from sfumato._engines.outputs import OUTLIER
from sfumato._engines.tails import FREEDOM, TAIL_POWER, Tails
from sfumato._typing import Floats
from sfumato.estimators._base import BaseFuzzyClustering
from sfumato.exceptions import shown
from sfumato.losses import L21, Capped, Loss, Squared
from sfumato.memberships import Hard, Membership, Power, Simplex

OPSET = 18
"""Version of the operators; onnxruntime 1.14 of 2023 and later know it."""
IR_VERSION = 8
"""Version of the file format that belongs to these operators."""
OUTPUTS = ("label", "memberships", "distances", "outlier_score")


def to_onnx(model: Any, *, dtype: Any = None) -> Any:
    """Convert a fitted estimator to an ONNX model.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted estimator of a loss and a membership rule of this library, such as
        :class:`CappedREFCMFS`; or a pipeline that ends in one, after any number of fitted
        ``StandardScaler``.
    dtype : {"float32", "float64"} or None, default=None
        Type of the input ``X`` and of all outputs but the labels; None takes that of the data of
        the fit.

    Returns
    -------
    onnx_model : onnx.ModelProto
        With an input ``X`` of shape (n_samples, n_features), and four outputs: ``label``, int64,
        as from ``predict``; ``memberships`` and ``distances`` of shape (n_samples, n_clusters), as
        from ``predict_proba`` and ``transform``; and ``outlier_score``, as from
        ``score_outliers``: rows above 1 are outliers.

    Raises
    ------
    TypeError
        If the model, or a part of it, has no counterpart in ONNX.
    ImportError
        If the package onnx is not installed: ``pip install "sfumato[onnx]"``.

    Notes
    -----
    Outputs differ from those of the estimator by rounding, 1e-9 relative for float64 and 1e-4 for
    float32. Labels are equal, unless two centers are at the same distance up to rounding.

    Examples
    --------
    >>> import sfumato
    >>> model = sfumato.REFCMFS(2, random_state=0).fit([[0.0], [1.0], [8.0], [9.0]])
    >>> [output.name for output in sfumato.to_onnx(model).graph.output]
    ['label', 'memberships', 'distances', 'outlier_score']
    """
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            'onnx is not installed, which to_onnx needs; run: pip install "sfumato[onnx]"'
        ) from error
    scalers, final = _steps(model)
    for step in (*scalers, final):
        check_is_fitted(step)
    kind = np.dtype(final.cluster_centers_.dtype if dtype is None else dtype)
    if kind not in (np.float32, np.float64):
        raise TypeError(f"dtype={shown(dtype)} is not known; use 'float32' or 'float64'.")
    graph = _Graph(onnx)
    rows = graph.add("Cast", "X", to=onnx.TensorProto.DOUBLE)
    for scaler in scalers:
        rows = _scaled(graph, rows, scaler)
    _outputs(graph, rows, final, onnx.helper.np_dtype_to_tensor_dtype(kind))
    made = graph.model(_n_features(scalers, final), kind, len(final.cluster_centers_))
    onnx.checker.check_model(made)
    return made


def _steps(model: Any) -> tuple[list[StandardScaler], Any]:
    """Scalers and the estimator of a model; raises TypeError for others."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    *before, final = [step for step in steps if step not in (None, "passthrough")] or [model]
    for step in before:
        if type(step) is not StandardScaler:
            raise TypeError(
                f"{shown(step)} cannot be converted; only StandardScaler may precede the "
                "clustering. Convert it with skl2onnx, and merge the two models."
            )
    if not isinstance(final, BaseFuzzyClustering):
        raise TypeError(
            f"model={shown(final)} cannot be converted; give an estimator of a loss and a "
            "membership rule, such as CappedREFCMFS, or a pipeline that ends in one."
        )
    return before, final


def _n_features(scalers: Sequence[StandardScaler], final: Any) -> int:
    return int((scalers[0] if scalers else final).n_features_in_)


class _Graph:
    """Nodes and constants of a graph, by names that are made here."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(
        self, operator: str, *inputs: str | NDArray[Any] | float, out: str = "", **given: Any
    ) -> str:
        """Add a node, and return the name of its output; numbers become constants."""
        name = out or f"v{len(self.nodes)}"
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        self.nodes.append(self.onnx.helper.make_node(operator, names, [name], **given))
        return name

    def constant(self, value: NDArray[Any] | float) -> str:
        """Add a constant."""
        name = f"c{len(self.constants)}"
        array = np.asarray(value)
        array = array.astype(np.float64) if array.dtype.kind == "f" else array
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def total(self, values: str) -> str:
        """Sum of each row."""
        return self.add("ReduceSum", values, np.array([1]), keepdims=1)

    def columns(self, values: str, begin: int, end: int) -> str:
        """Some columns of an array."""
        bounds = (np.array([begin]), np.array([end]), np.array([1]))
        return self.add("Slice", values, *bounds)

    def model(self, n_features: int, dtype: np.dtype[Any], n_clusters: int) -> Any:
        """The complete model."""
        helper, types = self.onnx.helper, self.onnx.TensorProto
        real = helper.np_dtype_to_tensor_dtype(dtype)
        shapes = {"memberships": ["n", n_clusters], "distances": ["n", n_clusters]}
        outputs = [
            helper.make_tensor_value_info(
                name, types.INT64 if name == "label" else real, shapes.get(name, ["n"])
            )
            for name in OUTPUTS
        ]
        given = helper.make_tensor_value_info("X", real, ["n", n_features])
        graph = helper.make_graph(self.nodes, "sfumato", [given], outputs, self.constants)
        return helper.make_model(
            graph,
            ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid("", OPSET)],
            producer_name="sfumato",
            producer_version=version("sfumato"),
        )


def _scaled(graph: _Graph, rows: str, scaler: StandardScaler) -> str:
    if scaler.mean_ is not None and scaler.with_mean:
        rows = graph.add("Sub", rows, np.asarray(scaler.mean_, dtype=np.float64))
    if scaler.scale_ is not None:
        rows = graph.add("Div", rows, np.asarray(scaler.scale_, dtype=np.float64))
    return rows


def _outputs(graph: _Graph, rows: str, model: Any, kind: int) -> None:
    """Add everything that follows from the rows."""
    squares = _squared_distances(graph, rows, model.cluster_centers_.astype(np.float64))
    distances = graph.add("Sqrt", squares)
    ratios = _ratios_to_radii(graph, distances, model.cluster_radii_)
    outlying = graph.add("Greater", ratios, float(OUTLIER))
    memberships = _memberships(
        graph, squares, model.loss_, model.membership_, len(model._centers())
    )
    if model.loss_.bounded:  # Outliers have no memberships.
        column = graph.add("Unsqueeze", outlying, np.array([1]))
        memberships = graph.add("Where", column, 0.0, memberships)
    labels = "label" if not model.mark_outliers else ""
    labels = graph.add("ArgMin", squares, axis=1, keepdims=0, out=labels)
    if model.mark_outliers:
        graph.add("Where", outlying, np.array(-1, dtype=np.int64), labels, out="label")
    scores = ratios if model._tails_ is None else _scores(graph, squares, outlying, model._tails_)
    graph.add("Cast", memberships, to=kind, out="memberships")
    graph.add("Cast", distances, to=kind, out="distances")
    found = graph.add("Cast", scores, to=kind)
    type_of = graph.onnx.helper.tensor_dtype_to_np_dtype(kind).type
    border = graph.add("Cast", float(np.nextafter(type_of(OUTLIER), type_of(np.inf))), to=kind)
    above = graph.add("Max", found, border)
    graph.add("Where", outlying, above, found, out="outlier_score")


def _squared_distances(graph: _Graph, rows: str, centers: Floats) -> str:
    """Squared distances, by a loop over the centers, so that no array has three axes."""
    helper = graph.onnx.helper
    double = graph.onnx.TensorProto.DOUBLE
    body = helper.make_graph(
        [
            helper.make_node("Sub", [rows, "center"], ["difference"]),
            helper.make_node("Mul", ["difference", "difference"], ["squares"]),
            helper.make_node("ReduceSum", ["squares", "axis"], ["sum"], keepdims=0),
        ],
        "squared_distances",
        [helper.make_tensor_value_info("center", double, [centers.shape[1]])],
        [helper.make_tensor_value_info("sum", double, ["n"])],
        [graph.onnx.numpy_helper.from_array(np.array([1]), "axis")],
    )
    found = graph.add("Scan", centers, body=body, num_scan_inputs=1)
    return graph.add("Transpose", found, perm=[1, 0])


def _scores(graph: _Graph, squares: str, outlying: str, tails: Tails) -> str:
    """As ``Scores`` of the engines."""
    scaled = graph.add("Div", squares, tails.scales**2 * FREEDOM)
    scaled = graph.add("Min", graph.add("Add", scaled, 1.0), float(np.finfo(np.float64).max))
    nearest = graph.add("ReduceMin", scaled, np.array([1]), keepdims=1)
    powers = graph.add("Pow", graph.add("Div", nearest, scaled), TAIL_POWER / 2)
    total = graph.total(graph.add("Mul", powers, tails.weights))
    total = graph.add("Max", total, float(np.finfo(np.float64).tiny))
    root = graph.add("Pow", total, -1 / TAIL_POWER)
    rarity = graph.add("Mul", graph.add("Sqrt", nearest), root)
    rarity = graph.add("Squeeze", rarity, np.array([1]))
    inside = graph.add("Sub", 1.0, graph.add("Div", 1.0, rarity))
    return graph.add("Where", outlying, rarity, inside)


def _ratios_to_radii(graph: _Graph, distances: str, radii: Floats) -> str:
    """Smallest ratio of a distance and the radius of its cluster, of those that have one."""
    known = np.flatnonzero(~np.isnan(radii))
    if not len(known):
        raise TypeError("no cluster has a radius, so that the model has no outlier scores.")
    near = graph.add("Gather", distances, known.astype(np.int64), axis=1)
    ratios = graph.add("Div", near, radii[known].astype(np.float64))
    return graph.add("ReduceMin", ratios, np.array([1]), keepdims=0)


def _losses(graph: _Graph, squares: str, loss: Loss) -> str:
    if type(loss) is Squared:
        return squares
    distances = graph.add("Sqrt", squares)
    if type(loss) is L21:
        return distances
    if type(loss) is Capped:
        return graph.add("Min", distances, float(loss.cap))
    raise TypeError(f"loss={shown(loss)} is of a class that cannot be converted.")


def _memberships(graph: _Graph, squares: str, loss: Loss, rule: Membership, n_clusters: int) -> str:
    """Dense memberships: those of the nearest centers, zero elsewhere."""
    count = rule.n_nearest(n_clusters)
    values, places = f"nearest{count}", f"places{count}"
    node = graph.onnx.helper.make_node(
        "TopK", [squares, graph.constant(np.array([count]))], [values, places], largest=0, sorted=1
    )
    graph.nodes.append(node)
    losses = _losses(graph, values, loss)
    if type(rule) is Hard:
        shares = graph.add("Where", graph.add("IsNaN", losses), losses, 1.0)
    elif type(rule) is Power:
        shares = _power(graph, losses, float(rule.fuzzifier))
    elif type(rule) is Simplex:
        shares = _simplex(graph, losses, rule, count)
    else:
        raise TypeError(f"membership={shown(rule)} is of a class that cannot be converted.")
    shape = graph.add("Shape", squares)
    zero = graph.onnx.numpy_helper.from_array(np.zeros(1))
    empty = graph.add("ConstantOfShape", shape, value=zero)
    return graph.add("ScatterElements", empty, places, shares, axis=1)


def _power(graph: _Graph, losses: str, fuzzifier: float) -> str:
    """As ``Power.solve``: ratios to the smallest loss lie in 0 to 1."""
    smallest = graph.columns(losses, 0, 1)
    exact = graph.add("Cast", graph.add("Equal", losses, 0.0), to=graph.onnx.TensorProto.DOUBLE)
    ratios = graph.add(
        "Where", graph.add("Greater", smallest, 0.0), graph.add("Div", smallest, losses), exact
    )
    shares = graph.add("Pow", ratios, 1 / (fuzzifier - 1))
    return graph.add("Div", shares, graph.total(shares))


def _simplex(graph: _Graph, losses: str, rule: Simplex, count: int) -> str:
    """As ``project`` of the membership rules."""
    most = count if rule.n_active is None else int(rule.n_active)
    doubled = _doubled_gamma(graph, losses, rule, count)
    rank = np.arange(1.0, count + 1)
    excess = graph.add("Sub", losses, graph.columns(losses, 0, 1))
    sums = graph.add("CumSum", excess, np.array(1, dtype=np.int64))
    threshold = graph.add("Div", graph.add("Add", doubled, sums), rank)
    below = graph.add("Less", excess, threshold)
    positive = graph.add("Or", below, graph.add("Equal", excess, 0.0))
    positive = graph.add("And", positive, rank <= most)
    ones = graph.add("Cast", positive, to=graph.onnx.TensorProto.DOUBLE)
    number = graph.total(ones)
    last = graph.add("Sub", graph.add("Cast", number, to=graph.onnx.TensorProto.INT64), np.array(1))
    level = graph.add("GatherElements", threshold, last, axis=1)
    # Shares need not be divided by twice gamma, since they are scaled to sum to one.
    soft = graph.add("Where", positive, graph.add("Sub", level, excess), 0.0)
    total = graph.total(soft)
    usable = graph.add("And", graph.add("Greater", doubled, 0.0), graph.add("Greater", total, 0.0))
    shares = graph.add("Div", soft, graph.add("Where", usable, total, 1.0))
    return graph.add("Where", usable, shares, graph.add("Div", ones, number))


def _doubled_gamma(graph: _Graph, losses: str, rule: Simplex, count: int) -> str:
    """Twice gamma of each row, as a column; see ``row_gamma`` of the membership rules."""
    if rule.gamma is not None:
        column = graph.columns(losses, 0, 1)
        zero = graph.add("Sub", column, column)
        return graph.add("Add", zero, 2 * float(rule.gamma))
    active = int(rule.n_active or count)
    near = graph.total(graph.columns(losses, 0, active))
    last = active if count > active else active - 1
    weighted = graph.add("Mul", graph.columns(losses, last, last + 1), float(active))
    gap = graph.add("Sub", weighted, near)
    return gap if count > active else graph.add("Mul", gap, 2.0)
