"""What sets clusters apart, in numbers: ``describe``, one pass whose sums add up.

Deviations of the rows are summed up around the centers of their clusters, so that no digits are
lost to a common offset; those of sparse rows around zero, which keeps them sparse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from sfumato._data import Chunk, Data, row_blocks
from sfumato._engines import find_runner, is_chunked
from sfumato._engines.base import evaluate
from sfumato._engines.chunked import ChunkedEngine
from sfumato._engines.outputs import Labels, Memberships
from sfumato._engines.passes import EngineSpec
from sfumato._tables.preparer import TablePreparer
from sfumato._typing import Floats
from sfumato.estimators._predictions import Predictions
from sfumato.exceptions import ParameterError, ParameterTypeError, shown

SURE = 2 / 3
"""Membership from which on a row is counted as sure: twice as much as in all other clusters
together. Measured with CappedREFCMFS: 99 % of such rows have the right label on iris and wine (93
and 98 % of all rows that are no outliers), 86 % on digits (79 %). With 0.9, a third of the rows of
five clusters that are far apart would not be sure."""


@dataclass(frozen=True, repr=False)
class Description:
    """Clusters in numbers: how large they are, and what sets each of them apart.

    Rows that are outliers belong to no cluster here: they count in ``share`` alone.

    Attributes
    ----------
    clusters : pandas.DataFrame
        One row per cluster. ``size``: its rows, or their total weight. ``share``: of all rows,
        outliers included. ``radius``: beyond it, a row is an outlier. ``mean_membership``: of its
        rows in it. ``shared``: share of its rows whose largest membership is below 2/3, so that
        they belong to other clusters too.
    features : pandas.DataFrame
        One row per cluster and feature, in the order of their ranks. ``center``: of the cluster.
        ``mean``, ``rest``: of the rows of the cluster, and of the rows of all other clusters.
        ``difference``: of these two, in standard deviations of the feature over the rows of all
        clusters. ``rank``: place of the feature by the size of the difference, 1 for the largest.
        ``category`` is that of a column that was one-hot encoded, whose ``mean`` is its share of
        the rows, and None for numbers.
    overlap : csr_array of shape (n_clusters, n_clusters)
        Mean membership of the rows of a cluster (row) in each of the clusters (column).
    n_rows, n_outliers : float
        Rows in all, and outliers among them; total weights, if rows have weights.

    Examples
    --------
    >>> import sfumato
    >>> X = [[0.0, 5.0], [1.0, 6.0], [8.0, 5.0], [9.0, 6.0]]
    >>> model = sfumato.REFCMFS(2, random_state=0).fit(X)
    >>> sfumato.describe(model, X)
    Description(n_clusters=2, n_features=2, n_rows=4, n_outliers=0)
    """

    clusters: Any
    features: Any
    overlap: Any
    n_rows: float
    n_outliers: float

    def top(self, n_features: int = 5) -> Any:
        """Return the rows of ``features`` with the largest differences, some for each cluster."""
        return self.features[self.features["rank"] <= n_features]

    def __repr__(self) -> str:
        n_features = len(self.features) // max(1, len(self.clusters))
        return (
            f"Description(n_clusters={len(self.clusters)}, n_features={n_features}, "
            f"n_rows={self.n_rows:g}, n_outliers={self.n_outliers:g})"
        )


def describe(
    model: Any,
    X: Any,
    feature_names: Sequence[str] | None = None,
    *,
    sample_weight: Any = None,
    preparer: TablePreparer | None = None,
) -> Description:
    """Size of each cluster, and what sets it apart: centers, and differences from the rest.

    It takes a time linear in the rows, and reads them chunk by chunk. Any rows can be described,
    those of the fit or new ones.

    Parameters
    ----------
    model : estimator
        A fitted estimator with memberships, such as :class:`CappedREFCMFS`, or a pipeline of a
        :class:`TablePreparer` and one.
    X : array-like, sparse matrix, frame, stream or dask collection
        Rows, of shape (n_samples, n_features); for a pipeline, the table.
    feature_names : sequence of str, optional
        Names of the features; by default those of the data of the fit, or x0, x1, ...
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows: 3 is like 3 copies.
    preparer : TablePreparer, optional
        The one that has prepared the rows of X. Centers and means are then in the units of the
        table: dates are days since 1970-01-01, and those of a category its share of the rows.

    Returns
    -------
    description : Description
        Two pandas frames, ``clusters`` and ``features``, and how clusters overlap.

    Raises
    ------
    ImportError
        If pandas is not installed.

    See Also
    --------
    select_n_clusters : How many clusters there are.

    Examples
    --------
    >>> import sfumato
    >>> X = [[0.0, 5.0], [1.0, 6.0], [8.0, 5.0], [9.0, 6.0]]
    >>> model = sfumato.REFCMFS(2, random_state=0).fit(X)
    >>> found = sfumato.describe(model, X, feature_names=["income", "age"])
    >>> found.clusters["size"].tolist()
    [2, 2]
    >>> found.features.query("rank == 1")["feature"].tolist()
    ['income', 'income']
    """
    _require_pandas()
    if isinstance(model, Pipeline) and len(model) == 2 and isinstance(model[0], TablePreparer):
        model, preparer, X = model[1], model[0], model[0].transform(X)
    if not isinstance(model, Predictions):
        raise ParameterTypeError(
            f"model={shown(model)} has no memberships; give a fitted estimator of sfumato that "
            "has, such as CappedREFCMFS.",
            "model",
            model,
        )
    engine = model._engine_for(X, sample_weight, inspect=True)
    centers = model.cluster_centers_.astype(np.float64)
    if preparer is not None and len(preparer.features_) != centers.shape[1]:
        raise ParameterError(
            f"preparer makes {len(preparer.features_)} features, and the model has "
            f"{centers.shape[1]}; give the one that prepared the rows of the fit.",
            "preparer",
            preparer,
        )
    columns: list[tuple[str, str | None]]
    if preparer is None or feature_names is not None:
        columns = [(name, None) for name in _names(model, X, feature_names, centers.shape[1])]
    else:
        columns = [(each.column, each.category) for each in preparer.features_]
    totals = _totals(engine, centers, model.cluster_radii_)
    units = (lambda rows: rows) if preparer is None else preparer.to_units
    return _description(totals, centers, model.cluster_radii_, columns, units)


def _require_pandas() -> None:
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        raise ImportError(
            'pandas is not installed, which describe needs; run: pip install "sfumato[io]"'
        ) from error


def _names(model: Any, X: Any, given: Sequence[str] | None, n_features: int) -> list[str]:
    """Names of the features: those given, of the fit, or of the data."""
    if given is not None:
        names = [str(name) for name in given]
        if len(names) != n_features:
            raise ParameterError(
                f"feature_names has {len(names)} names, and the model {n_features} features; give "
                "a name for each.",
                "feature_names",
                given,
            )
        return names
    known = getattr(model, "feature_names_in_", None)
    if known is None and is_chunked(X):
        known = find_runner(X, None).names
    return [f"x{i}" for i in range(n_features)] if known is None else [str(n) for n in known]


@dataclass(frozen=True)
class Totals:
    """Sums over rows; weights count as numbers of rows.

    Attributes
    ----------
    counts, shared : ndarray of shape (n_clusters,)
        Rows of each cluster, and those of them that are not sure.
    sums, squares : ndarray of shape (n_clusters, n_features)
        Sums of deviations and of their squares, from the centers; of sparse rows, from zero.
    overlap : csr_array of shape (n_clusters, n_clusters)
        Sums of the memberships of the rows of each cluster.
    rows, outliers : float
    sparse : bool
        Whether deviations are from zero.
    whole : bool
        Whether no row has a weight.
    """

    counts: Floats
    shared: Floats
    sums: Floats
    squares: Floats
    overlap: Any
    rows: float
    outliers: float
    sparse: bool
    whole: bool

    def __add__(self, other: Totals) -> Totals:
        both = {"sparse", "whole"}
        added = {
            each.name: getattr(self, each.name) + getattr(other, each.name)
            for each in fields(self)
            if each.name not in both
        }
        whole = self.whole and other.whole
        return Totals(**added, sparse=self.sparse, whole=whole)


@dataclass(frozen=True)
class TotalRows:
    """Pass that sums up the rows of each cluster."""

    spec: EngineSpec
    centers: Floats
    radii: Floats

    description: ClassVar[str] = "describing the clusters"

    def __call__(self, chunk: Chunk) -> Totals:
        parts = [
            self._block(chunk._replace(rows=chunk.rows[block], weights=_part(chunk.weights, block)))
            for block in row_blocks(chunk.rows.shape[0], chunk.rows.shape[1])
        ]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    def _block(self, chunk: Chunk) -> Totals:
        wanted = [Labels(self.centers, self.radii), Memberships(self.centers)]
        engine = self.spec.on(chunk)
        labels, memberships = evaluate(wanted, engine)
        weights = engine.data.weights_or_ones()
        inside = np.flatnonzero(labels >= 0)
        labels, members = labels[inside], memberships[inside].astype(np.float64)
        shape = len(self.centers), len(inside)
        places = labels, np.arange(len(inside))
        gather = sp.csr_array((weights[inside], places), shape=shape)
        unsure = (members.max(axis=1).toarray().ravel() < SURE).astype(np.float64)
        if engine.data.is_sparse:
            rows = sp.csr_array(engine.data.rows[inside], dtype=np.float64)
            sums, squares = (gather @ rows).toarray(), (gather @ rows.power(2)).toarray()
        else:
            rows = engine.data.dense(inside) - self.centers[labels]
            sums, squares = gather @ rows, gather @ rows**2
        return Totals(
            np.asarray(gather.sum(axis=1), dtype=np.float64),
            gather @ unsure,
            sums,
            squares,
            sp.csr_array(gather @ members),
            float(weights.sum()),
            float(weights.sum() - weights[inside].sum()),
            engine.data.is_sparse,
            chunk.weights is None,
        )


def _part(weights: Floats | None, block: slice) -> Floats | None:
    return None if weights is None else weights[block]


def _totals(engine: Any, centers: Floats, radii: Floats) -> Totals:
    """Sums over all rows of an engine."""
    if isinstance(engine, ChunkedEngine):
        found: Totals | None = engine.data.runner.reduce(TotalRows(engine.spec, centers, radii))
        if found is None:
            raise ValueError("X holds no rows; give at least one.")
        return found
    data: Data = engine.data
    spec = EngineSpec(type(engine), engine.problem, data.dtype, data.origin, engine.n_threads)
    return TotalRows(spec, centers, radii)(Chunk(data.rows, data.weights))


def _description(
    totals: Totals,
    centers: Floats,
    radii: Floats,
    columns: Sequence[tuple[str, str | None]],
    units: Callable[[Floats], Floats],
) -> Description:
    """Frames of the sums, for features of some names and categories, with values in units."""
    import pandas as pd

    counts = totals.counts
    some = np.where(counts > 0, counts, np.nan)
    overlap = sp.csr_array(sp.diags_array(1 / np.where(counts > 0, counts, 1)) @ totals.overlap)
    kind = np.int64 if totals.whole else np.float64
    clusters = pd.DataFrame(
        {
            "size": counts.astype(kind),
            "share": counts / totals.rows,
            "radius": np.asarray(radii, dtype=np.float64),
            "mean_membership": np.where(counts > 0, overlap.diagonal(), np.nan),
            "shared": totals.shared / some,
        },
        index=pd.RangeIndex(len(counts), name="cluster"),
    )
    means, rest, differences = _differences(totals, centers)
    centers, means, rest = units(centers), units(means), units(rest)
    names, categories = np.array(columns, dtype=object).reshape(-1, 2).T
    order = np.argsort(-np.abs(differences), axis=1, kind="stable")  # NaN comes last.
    cluster = np.repeat(np.arange(len(counts)), len(names))
    place = cluster, order.ravel()
    table = {
        "cluster": cluster,
        "feature": names[order.ravel()],
        "category": categories[order.ravel()],
        "center": centers[place],
        "mean": means[place],
        "rest": rest[place],
        "difference": differences[place],
        "rank": np.tile(np.arange(1, len(names) + 1), len(counts)),
    }
    return Description(clusters, pd.DataFrame(table), overlap, totals.rows, totals.outliers)


def _differences(totals: Totals, centers: Floats) -> tuple[Floats, Floats, Floats]:
    """Means of the clusters, means of the rest, and differences in standard deviations.

    NaN where a cluster, or the rest, has no rows; a feature without spread has no differences.
    """
    counts = totals.counts[:, None]
    some = np.where(counts > 0, counts, np.nan)
    offsets = totals.sums / some
    means = offsets + (0.0 if totals.sparse else centers)
    total = counts.sum()
    if not total > 0:
        nothing = np.full_like(means, np.nan)
        return nothing, nothing, nothing
    filled = np.where(counts > 0, means, 0.0)
    middle = (counts * filled).sum(axis=0) / total
    within = np.maximum(totals.squares - np.nan_to_num(offsets * totals.sums), 0.0).sum(axis=0)
    between = np.where(counts > 0, counts * (filled - middle) ** 2, 0.0).sum(axis=0)
    deviation = np.sqrt((within + between) / total)
    others = np.where(total > counts, total - counts, np.nan)
    # The mean of the rest lies on the other side of the middle.
    gaps = (means - middle) * (total / others)
    rounding = 8 * np.finfo(np.float64).eps * np.abs(filled).max(axis=0)
    flat = deviation <= rounding
    differences = np.where(flat, 0.0, gaps / np.where(flat, 1.0, deviation))
    differences = np.where(np.isnan(gaps), np.nan, differences)
    return means, means - gaps, differences
