"""What the report says about a model and some rows, before it is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato._description import Description, describe
from sfumato._modeled_rows import SAMPLE_ROWS, ModeledRows, Modeler, engine_of, reduced, sample_of
from sfumato._typing import Floats
from sfumato.estimators._explanation import OutlierExplanation
from sfumato.exceptions import ParameterError
from sfumato.reporting import _words as words
from sfumato.reporting._tally import Picked, Tally, TallyRows

MOST_REASONS, LEAST_SHARE = 3, 0.05
"""Features that are named for an outlier, at most, and their least share in its squared distance.
Chosen by hand."""
MOST_RANKED = 50
"""Features of a cluster that may be shown, by their ranks."""


@dataclass(frozen=True)
class Facts:
    """A model, and what was found about some rows with it.

    Attributes
    ----------
    model : estimator
    description : Description
        Its features are called by their numbers.
    tally : Tally
    sample : ModeledRows
    names : list of str
        Names of the features, to be shown.
    categories : list of str or None
        For columns that are categories of a feature, which.
    preparer : TablePreparer or None
        What made the rows of a table.
    ids : sequence or None
        Identifiers of all rows.
    show_rows : bool
        Whether values of single rows may be shown.
    image_shape : tuple of int or None
        Shape of a row that is an image.
    """

    model: Any
    description: Description
    tally: Tally
    sample: ModeledRows
    names: list[str]
    categories: list[str | None]
    ids: Any
    show_rows: bool
    image_shape: tuple[int, ...] | None
    preparer: Any = None

    @classmethod
    def of(
        cls,
        model: Any,
        X: Any,
        names: Sequence[Any] | None,
        ids: Any,
        show_rows: bool,
        image_shape: tuple[int, ...] | None,
        preparer: Any = None,
    ) -> Facts:
        """Facts of some rows: a description, a tally and a sample, of a pass over them each."""
        engine = engine_of(model, X)
        n_features = len(model.cluster_centers_[0])
        categories: list[str | None] = [None] * n_features
        if preparer is not None:
            names, categories = _prepared_names(preparer)
        elif names is None:
            names = _known_names(model, engine, n_features)
        _check(names, ids, image_shape, n_features)
        described = describe(model, X, [str(i) for i in range(n_features)])
        tally = reduced(engine, TallyRows(Modeler.of(model, engine)))
        sample = sample_of(model, X, SAMPLE_ROWS)
        shown = words.clean_names(names) if preparer is None else [words.clean(n) for n in names]
        options = ids, show_rows, image_shape, preparer
        return cls(model, described, tally, sample, shown, categories, *options)

    @property
    def sizes(self) -> NDArray[Any]:
        """Rows of each cluster."""
        return np.asarray(self.description.clusters["size"])

    @cached_property
    def ranked(self) -> list[list[Trait]]:
        """Features of each cluster, by the size of their differences; none without any."""
        frame = self.description.features
        lists: list[list[Trait]] = [[] for _ in self.sizes]
        places = np.asarray(frame["cluster"]), np.asarray(frame["feature"], dtype=np.intp)
        units = []
        for name in ("mean", "rest"):
            table = np.full((len(self.sizes), len(self.names)), np.nan)
            table[places] = frame[name]
            units.append(self.in_units(table))
        chosen = (frame["rank"] <= MOST_RANKED) & frame["difference"].abs().gt(0)
        for line in frame[chosen].itertuples():
            place = line.cluster, int(line.feature)
            mean, rest = float(units[0][place]), float(units[1][place])
            lists[line.cluster].append(Trait(place[1], mean, rest, float(line.difference)))
        return lists

    @cached_property
    def cluster_names(self) -> list[str]:
        """A name for each cluster from what sets it apart; empty if nothing does."""
        if self.image_shape is not None:
            return ["" for _ in self.sizes]
        return [words.listed(self._called(traits)) for traits in self.ranked]

    def _called(self, traits: list[Trait]) -> list[str]:
        """Parts of the name of a cluster; of the categories of a column, one that it has."""
        chosen: dict[str, Trait] = {}
        for each in traits:
            if abs(each.difference) >= words.NOTABLE:
                before = chosen.setdefault(self.names[each.column], each)
                if before.difference < 0 < each.difference:
                    chosen[self.names[each.column]] = each
        return [
            words.trait(name, self.categories[t.column], t.difference, self.kind(t.column))
            for name, t in list(chosen.items())[: words.NAMED_FEATURES]
        ]

    def in_units(self, rows: Floats) -> Floats:
        """Rows of features in the units of the table that they were made of."""
        return rows if self.preparer is None else np.asarray(self.preparer.to_units(rows))

    def kind(self, column: int) -> str:
        """What a feature is: a number, a date, yes and no, or a category."""
        return "number" if self.kinds is None else self.kinds[column]

    @cached_property
    def kinds(self) -> list[str] | None:
        """What the features are, of a table that was prepared."""
        return None if self.preparer is None else [f.kind for f in self.preparer.features_]

    @property
    def extent(self) -> str:
        """How many features there are, or columns of a table."""
        if self.preparer is None:
            return words.count(len(self.names), "feature")
        return words.count(len(self.preparer.decisions_.used), "column")

    def feature(self, column: int) -> str:
        """Name of a feature, with its category."""
        category = self.categories[column]
        return self.names[column] if category is None else f"{self.names[column]}: {category}"

    def value(self, column: int, number: float) -> str:
        """A value of a feature, which is in units, in words."""
        if self.categories[column] is not None:
            return words.percent(float(np.clip(number, 0.0, 1.0)))
        if self.preparer is None or not np.isfinite(number):
            return words.number(number)
        kind = self.kind(column)
        if kind == "date":
            return str(np.datetime64(round(number), "D"))
        if kind == "boolean":
            return words.percent(float(np.clip(number, 0.0, 1.0)))
        return words.number(number)

    def row_name(self, number: int, own: Any = None) -> str:
        """What a row is called: its number, or its identifier if rows may be shown."""
        given = own if self.ids is None else self.ids[number]
        if given is None or not self.show_rows:
            return f"row {number}"
        return words.clean(given, words.LONGEST_NAME)

    def names_of(self, picked: Picked) -> list[str]:
        """What picked rows are called."""
        own = [None] * len(picked.keys) if picked.ids is None else picked.ids
        numbers = self.tally.numbers(picked)
        return [self.row_name(int(n), each) for n, each in zip(numbers, own, strict=True)]

    def image(self, values: Floats) -> Floats:
        """A row as an image."""
        assert self.image_shape is not None
        return np.asarray(values, dtype=np.float64).reshape(self.image_shape)


@dataclass(frozen=True)
class Trait:
    """A feature that sets a cluster apart: means of the cluster and of the rest, and difference."""

    column: int
    mean: float
    rest: float
    difference: float


@dataclass(frozen=True)
class Reason:
    """A feature that makes a row an outlier: values of row and center."""

    column: int
    value: float
    center: float


def outlier_reasons(model: Any, row: Floats, cluster: int, score: float) -> list[Reason]:
    """Features in which a row is farthest from a center, by shares in the squared distance."""
    center = model.cluster_centers_[cluster].astype(np.float64)
    found = OutlierExplanation.of(row, center, cluster, score)
    count = int(np.count_nonzero(found.contributions[:MOST_REASONS] >= LEAST_SHARE))
    several = zip(found.features[:count], found.values, found.expected, strict=False)
    return [Reason(int(column), float(v), float(c)) for column, v, c in several]


def _prepared_names(preparer: Any) -> tuple[list[str], list[str | None]]:
    """Columns of a table, and categories, of the rows that were made of it."""
    features = preparer.features_
    categories = [
        None if each.category is None else words.clean(each.category, words.LONGEST_NAME)
        for each in features
    ]
    return [words.clean(each.column, words.LONGEST_NAME) for each in features], categories


def _known_names(model: Any, engine: Any, n_features: int) -> Sequence[Any]:
    """Names of the fit, of the data, or numbers."""
    known = getattr(model, "feature_names_in_", None)
    if known is None:
        known = getattr(getattr(engine.data, "runner", None), "names", None)
    return [f"x{i}" for i in range(n_features)] if known is None else list(known)


def _check(names: Sequence[Any], ids: Any, image_shape: Any, n_features: int) -> None:
    if len(names) != n_features:
        raise ParameterError(
            f"feature_names has {len(names)} names, and the model {n_features} features; give a "
            "name for each.",
            "feature_names",
            names,
        )
    if image_shape is None:
        return
    wrong = len(image_shape) not in (2, 3) or (len(image_shape) == 3 and image_shape[2] != 3)
    if wrong or int(np.prod(image_shape)) != n_features:
        raise ParameterError(
            f"image_shape={image_shape} is not the shape of {n_features} features; give (height, "
            "width), or (height, width, 3) for colors.",
            "image_shape",
            image_shape,
        )
