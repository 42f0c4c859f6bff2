"""``TablePreparer``: a table of any columns becomes rows of numbers, and centers go back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.impute import KNNImputer
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sfumato._tables.decide import Rules, chosen_rows, decide, sample_size
from sfumato._tables.decisions import Decisions
from sfumato._tables.encoding import as_frame, column_transformer, values_of
from sfumato._typing import Floats
from sfumato.exceptions import Message, Option, ParameterError, shown

CHOICES = {
    "scale": ("auto", "robust", "standard", "none"),
    "skewed": ("level", "keep"),
    "absurd": ("missing", "keep"),
    "missing": ("similar", "median"),
    "decimal": (".", ","),
}
"""Values of parameters that are words."""
TYPICAL_ROWS, ROWS_EACH, FEWEST_EACH, TYPICAL_SAMPLE = 64, 10, 5, 5000
"""Typical rows from which missing values are filled, at most; rows that each stands for, at least
on average and at least; and rows from which they are found. Chosen by hand."""


class Feature(NamedTuple):
    """A column of the prepared rows.

    Attributes
    ----------
    column : str
        Column of the table.
    category : str or None
        Its category, of a column that is one-hot encoded.
    kind : {"number", "date", "boolean", "category"}
    """

    column: str
    category: str | None
    kind: str


class TablePreparer(TransformerMixin, BaseEstimator):
    """Rows of numbers from a table with text, dates, missing values and typos.

    What is done with each column is in ``decisions_``, and every decision can be overridden.

    - Numbers are divided by their spread among rows that are near to each other, an estimate of
      the spread within clusters, so that their units do not matter. Those whose spread grows with
      their level are replaced by logarithms or square roots; by inverse hyperbolic sines, if they
      are on both sides of zero. A table of nothing but numbers, all of them there, whose spreads
      differ by less than a factor of 4, is taken to have one unit, and stays as it is.
    - Text is one-hot encoded. Two different categories are as far apart as two near rows are in a
      column of numbers, the square root of 2 on average: a categorical column never weighs more
      than a number.
    - Dates become days. Yes and no become 0 and 1.
    - Text of which most values differ, and whole numbers that count the rows, identify rows, and
      are left out, as are constant columns and those of which most values are missing.
    - Values that cannot be read, such as "12O" in a column of numbers, are missing, and so are
      absurd numbers, such as 1e9 in a column of ages. Missing values are filled from the most
      similar of at most 64 typical rows, each a mean of 5 rows or more.

    Parameters
    ----------
    scale : {"auto", "robust", "standard", "none"}, default="auto"
        How numbers are scaled: "robust" by the spread among near rows, "standard" by the standard
        deviation. "auto" is "robust", or "none" for numbers of one unit.
    skewed : {"level", "keep"}, default="level"
        Whether numbers whose spread grows with their level, such as incomes and counts, are
        replaced by logarithms or square roots, if the scale is robust.
    absurd : {"missing", "keep"}, default="missing"
        What is done with numbers that are farther from the middle 90 % of all than 1.5 times the
        length of that range, if they are fewer than 1 %.
    missing : {"similar", "median"}, default="similar"
        Whether missing values are filled from the most similar typical row, a center of k-means,
        or by the median, or the shares of the categories.
    category_weight : float, default=1.0
        Factor of the columns of categories.
    max_categories : int, default=20
        Categories of a column that get a column, the most frequent ones. Others have zeros, and so
        have those in less than 1 % of the rows.
    decimal : {".", ","}, default="."
        Character before the decimals of numbers that are text.
    numbers, categories, dates, drop : sequence of str, default=()
        Columns that are numbers, categories or dates, whatever they look like, or are left out.

    Attributes
    ----------
    decisions_ : Decisions
        What was decided about each column, and why; ``decisions_.to_frame()`` is a table.
    scale_ : {"robust", "standard", "none"}
        The scale that was used.
    typical_rows_ : ndarray of shape (n_typical_rows, n_features_out)
        Prepared rows from which missing values are filled: means of rows, and none of them.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of its columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from sfumato import TablePreparer
    >>> cities = ["Rome", "Rome", "Bari", ""]
    >>> table = pd.DataFrame({"age": ["31", "n/a", "58", "64"], "city": cities})
    >>> preparer = TablePreparer(scale="none").fit(table)
    >>> preparer.get_feature_names_out().tolist()
    ['age', 'city_Rome', 'city_Bari']
    >>> preparer.decisions_.to_frame()[["column", "kind", "missing"]].values.tolist()
    [['age', 'number', 0.25], ['city', 'category', 0.25]]
    """

    def __init__(
        self,
        scale: str = "auto",
        *,
        skewed: str = "level",
        absurd: str = "missing",
        missing: str = "similar",
        category_weight: float = 1.0,
        max_categories: int = 20,
        decimal: str = ".",
        numbers: Iterable[str] = (),
        categories: Iterable[str] = (),
        dates: Iterable[str] = (),
        drop: Iterable[str] = (),
    ) -> None:
        self.scale = scale
        self.skewed = skewed
        self.absurd = absurd
        self.missing = missing
        self.category_weight = category_weight
        self.max_categories = max_categories
        self.decimal = decimal
        self.numbers = numbers
        self.categories = categories
        self.dates = dates
        self.drop = drop

    def fit(self, X: Any, y: Any = None) -> TablePreparer:
        """Decide what to do with each column.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            Table of pandas, polars or pyarrow, or an array. Of more than 50,000 rows, fewer if it
            is wide, a sample is used.
        y : None
            Ignored.

        Returns
        -------
        self : TablePreparer
        """
        frame = as_frame(X)
        rules = self._rules(list(frame.columns))
        sample = frame.iloc[chosen_rows(len(frame), sample_size(frame.shape[1]))]
        found, scale = decide(sample, rules)
        decisions = Decisions(found)
        if not decisions.used:
            raise ValueError(
                Message(
                    f"X with n_samples={len(frame)} has no column left to use: ",
                    "; ".join(map(str, decisions)),
                    ". Name columns in ",
                    Option("numbers"),
                    " or ",
                    Option("categories"),
                    " to use them all the same.",
                )
            )
        self.feature_names_in_ = np.array(list(frame.columns), dtype=object)
        self.set_fitted(decisions, scale, np.zeros((1, 0)))
        self.typical_rows_ = self._typical(self._read(sample.iloc[:TYPICAL_SAMPLE]))
        return self

    def set_fitted(self, decisions: Decisions, scale: str, typical_rows: Floats) -> None:
        """Set the fitted attributes, and what follows from them, without a fit.

        Parameters
        ----------
        decisions : Decisions
        scale : {"robust", "standard", "none"}
        typical_rows : ndarray of shape (n_typical_rows, n_features_out)
        """
        self.n_features_in_ = len(self.feature_names_in_)
        self.decisions_ = decisions
        self.scale_ = scale
        self.typical_rows_ = typical_rows
        self._columns = column_transformer(decisions.used)

    def _rules(self, columns: list[str]) -> Rules:
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                given = getattr(self, name)
                words = ", ".join(map(repr, allowed))
                raise ParameterError(f"{name}={shown(given)} is not one of {words}.", name, given)
        for name, least in (("category_weight", 0.0), ("max_categories", 1)):
            given = getattr(self, name)
            if not given >= least or not np.isfinite(given):
                raise ParameterError(f"{name}={shown(given)} is not {least} or more.", name, given)
        forced: dict[str, str] = {}
        kinds = {"numbers": "number", "categories": "category", "dates": "date", "drop": "left out"}
        for name, kind in kinds.items():
            for column in getattr(self, name):
                if column not in columns or column in forced:
                    wrong = "named twice" if column in forced else "no column of X"
                    raise ParameterError(
                        f"{name} has {shown(column)}, which is {wrong}; name columns of X, each "
                        "once.",
                        name,
                        getattr(self, name),
                    )
                forced[column] = kind
        return Rules(
            self.scale,
            self.skewed,
            self.absurd,
            float(self.category_weight),
            int(self.max_categories),
            self.decimal,
            forced,
        )

    def transform(self, X: Any) -> Floats:
        """Rows of numbers.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            Table with the columns that are used, by name, in any order; others are left out.

        Returns
        -------
        rows : ndarray of shape (n_samples, n_features_out)
        """
        check_is_fitted(self, "decisions_")
        frame = as_frame(X)
        if not hasattr(X, "columns") and frame.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {frame.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        rows = self._read(frame)
        gone = np.isnan(rows).any(axis=1)
        if gone.any():
            imputer = KNNImputer(n_neighbors=1, keep_empty_features=True).fit(self.typical_rows_)
            rows[gone] = imputer.transform(rows[gone])
        return rows

    def _read(self, frame: Any) -> Floats:
        """Prepared rows, NaN where values are missing."""
        import pandas as pd

        used = self.decisions_.used
        for each in used:
            if each.column not in frame.columns:
                raise ValueError(
                    f"X has no column {shown(each.column)}, which the preparer was fitted to; it "
                    f"needs the columns {shown([d.column for d in used])[1:-1]}, in any order."
                )
        values = [values_of(each, frame[each.column], self.decimal) for each in used]
        read = pd.DataFrame(dict(enumerate(values)), index=frame.index)
        rows: Floats = np.asarray(self._columns.transform(read), dtype=np.float64)
        start = sum(not each.is_category for each in used)
        for place, each in enumerate(used):
            if each.is_category:
                stop = start + len(each.levels)
                rows[read[place].isna().to_numpy(), start:stop] = np.nan
                start = stop
        return rows

    def _typical(self, rows: Floats) -> Floats:
        """Centers of complete rows; medians, and shares of categories, if these are few."""
        is_category = np.array([each.kind == "category" for each in self.features_])
        some = np.where(np.isnan(rows).all(axis=0), 0.0, rows)
        middle = np.where(is_category, np.nanmean(some, axis=0), np.nanmedian(some, axis=0))
        whole = rows[~np.isnan(rows).any(axis=1)]
        count = min(TYPICAL_ROWS, len(whole) // ROWS_EACH)
        if self.missing == "median" or count < 1:
            return middle[None]
        # Rows that are equal make fewer clusters, about which k-means would warn.
        count = min(count, len(np.unique(whole, axis=0)))
        found = KMeans(count, n_init=1, random_state=0).fit(whole)
        # A center of few rows would show them to whoever has the model.
        kept = np.bincount(found.labels_, minlength=count) >= FEWEST_EACH
        # Shares of 0 and 1 may come out as -1e-17 and 1 + 1e-16.
        low = np.where(is_category, 0.0, -np.inf)
        high = np.where(is_category, np.nanmax(some, axis=0), np.inf)
        centers: Floats = np.clip(found.cluster_centers_[kept], low, high)
        return centers if len(centers) else middle[None]

    @property
    def features_(self) -> tuple[Feature, ...]:
        """Columns of the prepared rows: numbers, dates and booleans first, then categories."""
        check_is_fitted(self, "decisions_")
        used = self.decisions_.used
        plain = [Feature(d.column, None, d.kind) for d in used if not d.is_category]
        coded = [Feature(d.column, level, d.kind) for d in used for level in d.levels]
        return (*plain, *coded)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of the prepared rows.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        names : ndarray of str objects
            Those of the table, and those of a category with the category: ``city_Rome``.
        """
        names = [f.column if f.category is None else f"{f.column}_{f.category}" for f in
                 self.features_]  # fmt: skip
        return np.array(names, dtype=object)

    def to_units(self, rows: Any) -> Floats:
        """Prepared rows, such as centers, with each column in the units of the table.

        Parameters
        ----------
        rows : array-like of shape (n_rows, n_features_out)

        Returns
        -------
        values : ndarray of shape (n_rows, n_features_out)
            Numbers, days since 1970-01-01, and shares of yes and of categories.
        """
        check_is_fitted(self, "decisions_")
        found = np.array(rows, dtype=np.float64)
        used = self.decisions_.used
        for place, each in enumerate(d for d in used if not d.is_category):
            found[:, place] = each.in_units(found[:, place] * each.scale + each.center)
        weights = [d.weight for d in used for _ in d.levels]
        start = found.shape[1] - len(weights)
        found[:, start:] /= np.where(np.array(weights) > 0, weights, 1.0)
        return found

    def inverse_transform(self, X: Any) -> Any:
        """Table of prepared rows, such as centers.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features_out)

        Returns
        -------
        table : pandas.DataFrame
            A column for each one that is used: numbers in their units, dates, the share of yes,
            and the most frequent category.
        """
        import pandas as pd

        values = self.to_units(X)
        table: dict[str, Any] = {}
        features = self.features_
        for each in self.decisions_.used:
            places = [i for i, feature in enumerate(features) if feature.column == each.column]
            column = values[:, places[0]]
            if each.kind == "category":
                commonest = np.argmax(values[:, places], axis=1)
                column = np.array(each.levels, dtype=object)[commonest]
            elif each.kind == "date":
                column = pd.to_datetime(np.round(column), unit="D")
            table[each.column] = column
        return pd.DataFrame(table)

    @property
    def changes_nothing_(self) -> bool:
        """Whether the prepared rows are the numbers of the table as they are."""
        check_is_fitted(self, "decisions_")
        return all(
            d.kind == "number"
            and not d.missing
            and not d.power
            and (d.center, d.scale) == (0.0, 1.0)
            for d in self.decisions_
        )
