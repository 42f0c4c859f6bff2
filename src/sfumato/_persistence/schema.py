"""What a model file holds of each estimator: its fitted attributes, and their kinds.

These tables are the file format. A new attribute is one line, and a default for files without it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans

from sfumato import estimators
from sfumato import exceptions as categories
from sfumato._engines.outputs import largest_entries, without_entries
from sfumato._engines.tails import Tails
from sfumato._fit.diagnostics import FitWarning, Outcome
from sfumato._init import INITIALIZERS
from sfumato._mixture import Background, Mixture
from sfumato._persistence.archive import NewArchive
from sfumato._persistence.kinds import (
    Array,
    Csr,
    Kind,
    Maybe,
    Named,
    Names,
    Plain,
    Real,
    Record,
    Several,
    Size,
    Source,
    Whole,
    enumerated,
    read_fields,
    require,
    write_fields,
)
from sfumato._persistence.parameters import Parameters, Part, make
from sfumato._selection.record import Alternative, Selection
from sfumato._solvers.descent import IterationRecord, StopReason
from sfumato._solvers.history import History as Records
from sfumato._solvers.online import CenterCounts, OnlineState, Window
from sfumato._warnings import ClusteringWarning
from sfumato.losses import LOSSES
from sfumato.memberships import MEMBERSHIPS

PARTS = Part(*LOSSES.values(), *MEMBERSHIPS.values(), *INITIALIZERS.values())

WARNINGS = {
    name: getattr(categories, name)
    for name in categories.__all__
    if name.endswith("Warning") and name != "ClusteringWarning"
} | {"ClusteringWarning": ClusteringWarning}


class History(Kind):
    """Records of iterations: a table of numbers, and clusters that were moved, by their records."""

    NUMBERS = ("objective", "seconds", "shift", "passes")

    def write(self, value: tuple[IterationRecord, ...], archive: NewArchive) -> dict[str, str]:
        numbers = np.array([[getattr(each, n) for n in self.NUMBERS] for each in value])
        moved = [(n, k) for n, each in enumerate(value) for k in each.repairs]
        return {
            "numbers": archive.add(numbers.reshape(-1, len(self.NUMBERS))),
            "repairs": archive.add(np.array(moved, dtype=np.int64).reshape(-1, 2)),
        }

    def read(self, stored: Any, source: Source) -> tuple[IterationRecord, ...]:
        arrays = {
            "numbers": Array("f8", "records", "numbers"),
            "repairs": Array("i8", "moves", "2"),
        }
        found = read_fields(arrays, stored, source)
        numbers, repairs = found["numbers"], found["repairs"]
        fits = numbers.shape[1] == len(self.NUMBERS) and repairs.shape[1] == 2
        require(fits, (numbers.shape, repairs.shape), "a history")
        moved: dict[int, tuple[int, ...]] = {}
        for record, cluster in repairs.tolist():
            moved[record] = (*moved.get(record, ()), cluster)
        return Records(
            IterationRecord(objective, seconds, shift, moved.get(number, ()), int(passes))
            for number, (objective, seconds, shift, passes) in enumerate(numbers.tolist())
        )


class Chosen(Kind):
    """A selection of a number of clusters, by its plain values."""

    FIELDS: ClassVar[dict[str, Kind]] = {
        "n_clusters": Whole(1),
        "reason": Plain(str),
        "candidates": Several(Whole(1)),
        "alternatives": Several(Record(Alternative, n_clusters=Whole(1), reason=Plain(str))),
        "criteria": Several(Plain(str)),
        "scores": Several(Array("f8", "candidates")),
    }

    def write(self, value: Selection, archive: NewArchive) -> dict[str, Any]:
        scores = [np.asarray(each, dtype=np.float64) for each in value.scores.values()]
        plain = {**vars(value), "criteria": tuple(value.scores), "scores": scores}
        return write_fields(self.FIELDS, plain, archive)

    def read(self, stored: Any, source: Source) -> Selection:
        found = read_fields(self.FIELDS, stored, source)
        criteria, scores = found.pop("criteria"), found["scores"]
        fits = all(len(each) == len(found["candidates"]) for each in scores)
        require(fits and len(criteria) == len(scores), criteria, "names of scores")
        return Selection(**{**found, "scores": dict(zip(criteria, scores, strict=True))})


class FittedKMeans(Kind):
    """A fitted KMeans of scikit-learn, by its public attributes."""

    FIELDS: ClassVar[dict[str, Kind]] = {
        "cluster_centers_": Array("f4 f8", "clusters", "components", finite=True),
        "inertia_": Real(),
        "n_iter_": Whole(),
    }

    def write(self, value: KMeans, archive: NewArchive) -> dict[str, Any]:
        return write_fields(self.FIELDS, vars(value), archive)

    def read(self, stored: Any, source: Source) -> KMeans:
        found = read_fields(self.FIELDS, stored, source)
        centers = found["cluster_centers_"]
        # A fit to the centers sets whatever this version of scikit-learn needs to predict.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = KMeans(len(centers), init=centers, n_init=1, max_iter=1).fit(centers)
        del made.labels_
        vars(made).update(found)
        return made.set_params(**KMeans(len(centers)).get_params())


@dataclass(frozen=True)
class Schema(Kind):
    """A class of estimators.

    Attributes
    ----------
    made : type
    fitted : mapping of str to Kind
        Fitted attributes, which every file holds.
    rows : mapping of str to Kind
        Results of the training rows, written on request.
    complete : callable
        Takes an estimator that was read; raises ValueError if it could not predict.
    """

    made: type[BaseEstimator]
    fitted: Mapping[str, Kind]
    rows: Mapping[str, Kind]
    complete: Callable[[Any], None]

    def write(self, value: Any, archive: NewArchive) -> dict[str, Any]:
        state = value.__getstate__()
        named = {name: kind for name, kind in OPTIONAL.items() if name in state}
        rows = self.rows if archive.training_rows else {}
        for name in rows.keys() - state.keys():
            raise ValueError(
                f"{name} refers to a stream or dask collection, and cannot be written; leave out "
                "training_rows=True, and predict for the data where you need it."
            )
        held = {name: vars(value)[name] for name in rows}  # The state has these in plain types.
        return {
            "class": self.made.__name__,
            "parameters": Parameters(PARTS).write(value.get_params(deep=False), archive),
            "attributes": write_fields({**self.fitted, **named, **rows}, state | held, archive),
        }

    def read(self, stored: Any, source: Source) -> Any:
        known = {**self.fitted, **OPTIONAL, **self.rows}
        given = stored["attributes"]
        kept = {n: k for n, k in known.items() if n in self.fitted or n in given}
        fields = {
            "class": Named({self.made.__name__: self.made}),
            "parameters": Parameters(PARTS),
            "attributes": Record(dict, **kept),
        }
        found = read_fields(fields, stored, source)
        model = make(self.made, found["parameters"])
        vars(model).update(found["attributes"])
        self.complete(model)
        return model


def _complete_family(model: Any) -> None:
    n_clusters, window = len(model.cluster_centers_), model._online_.window
    require(n_clusters > 0, n_clusters, "a number of clusters")
    model.loss_.check()
    model.membership_.resolve(n_clusters)
    resolved = model.loss_.is_resolved and model.membership_.is_resolved
    require(resolved, (model.loss_, model.membership_), "without 'auto'")
    _complete_outliers(model)
    scale = model._mixture_.background.scale
    require(scale > 0 and scale * scale < np.inf, scale, "a scale of the data")
    inside = (window.labels >= 0) & (window.labels < n_clusters)
    require(bool(inside.all()), window.labels, "labels of clusters")


def _complete_outliers(model: Any) -> None:
    """Add what files of earlier versions lack; without tails, scores follow from radii alone."""
    tails = vars(model).setdefault("_tails_", None)
    if tails is not None:
        for values in tails:
            positive = bool(((values > 0) & np.isfinite(values)).all())
            require(positive, values, "positive scales and shares of clusters")
    if "memberships_" in vars(model) and "probabilities_" not in vars(model):
        inside = without_entries(model.memberships_, model.outliers_)
        model.probabilities_ = largest_entries(inside)


def _complete_detector(model: Any) -> None:
    require(model.clustering_._tails_ is not None, None, "scales and shares of clusters")


def _complete_medoids(model: Any) -> None:
    require(len(model.cluster_centers_) > 0, model.cluster_centers_, "medoids")


def _complete_embedding(model: Any) -> None:
    require(0 < model.n_neighbors_ <= len(model.landmarks_), model.n_neighbors_, "a number of them")
    require(0 < model.bandwidth_ < np.inf, model.bandwidth_, "a bandwidth")


def _complete_clustering(model: Any) -> None:
    model.kmeans_.set_params(n_init=model.n_init, random_state=model.random_state)
    if "labels_" in vars(model):
        model.kmeans_.labels_ = model.labels_


_CENTERS = Array("f4 f8", "clusters", "features", finite=True)
_PER_CLUSTER = Array("f8", "clusters")
OPTIONAL: dict[str, Kind] = {
    "feature_names_in_": Names("features"),
    "n_clusters_": Size("clusters"),
    "selection_": Maybe(Chosen()),
    "_tails_": Maybe(Record(Tails, scales=_PER_CLUSTER, shares=_PER_CLUSTER)),
}
"""Attributes that a model may have."""

_LABELS = Array("i4", "rows")
_WARNING = Record(FitWarning, category=Named(WARNINGS), message=Plain(str))
_COUNTS = Record(CenterCounts, count=_PER_CLUSTER, spread=_PER_CLUSTER)
_WINDOW = Record(
    Window,
    labels=Array("i4", "rows of the window"),
    distances=Array("f8", "rows of the window"),
    weights=Array("f8", "rows of the window"),
    batches=Array("i8", "rows of the window"),
)
_BACKGROUND = Record(Background, center=Array("f8", "features", finite=True), scale=Real())

FAMILY: dict[str, Kind] = {
    "n_features_in_": Size("features"),
    "cluster_centers_": _CENTERS,
    "cluster_radii_": _PER_CLUSTER,
    "loss_": Part(*LOSSES.values()),
    "membership_": Part(*MEMBERSHIPS.values()),
    "cap_": Real(),
    "n_active_": Maybe(Whole(1)),
    "fuzzifier_": Real(),
    "gamma_": Real(),
    "intrinsic_dimension_": Maybe(Real()),
    "objective_": Real(),
    "n_iter_": Whole(),
    "history_": History(),
    "stability_": Maybe(Real()),
    "outcome_": Maybe(
        Record(
            Outcome,
            reason=enumerated(StopReason),
            warnings=Several(_WARNING),
            stability=Maybe(Real()),
        )
    ),
    "n_samples_seen_": Whole(),
    "n_batches_": Whole(),
    "_cutoff_given_": Plain(bool),
    "_origin_": Array("f8", "features", finite=True),
    "_mixture_": Record(
        Mixture,
        widths=_PER_CLUSTER,
        shares=_PER_CLUSTER,
        outlier_share=Real(),
        background=_BACKGROUND,
    ),
    "_online_": Record(
        OnlineState,
        centers=Array("f8", "clusters", "features", finite=True),
        past=_COUNTS,
        window=_WINDOW,
    ),
}
"""Fitted attributes of the estimators of a loss and a membership rule."""
FAMILY_ROWS: dict[str, Kind] = {
    "labels_": _LABELS,
    "memberships_": Csr("rows", "clusters"),
    "outlier_scores_": Array("f4 f8", "rows"),
    "outliers_": Array("b1", "rows"),
    "probabilities_": Array("f4 f8", "rows"),
}

MEDOIDS: dict[str, Kind] = {
    "n_features_in_": Size("features"),
    "_n_features_out": Size("clusters"),
    "cluster_centers_": _CENTERS,
    "medoid_indices_": Array("i4 i8", "clusters"),
    "inertia_": Real(),
    "n_iter_": Whole(),
}
EMBEDDING: dict[str, Kind] = {
    "n_features_in_": Size("features"),
    "_n_features_out": Size("components"),
    "landmarks_": Array("f4 f8", "landmarks", "features", finite=True),
    "basis_": Array("f8", "landmarks", "components", finite=True),
    "singular_values_": Array("f8", "components"),
    "bandwidth_": Real(),
    "n_neighbors_": Whole(1),
}

_EMBEDDING = Schema(
    estimators.LandmarkSpectralEmbedding,
    EMBEDDING,
    {"embedding_": Array("f4 f8", "rows", "components")},
    _complete_embedding,
)
_FUZZY = Schema(estimators.FuzzyClustering, FAMILY, FAMILY_ROWS, _complete_family)
SCHEMAS = {
    schema.made.__name__: schema
    for schema in (
        *(
            Schema(made, FAMILY, FAMILY_ROWS, _complete_family)
            for made in (
                estimators.REFCMFS,
                estimators.CappedREFCMFS,
                estimators.SimREFCMFS,
                estimators.RSFKM,
                estimators.FuzzyCMeans,
            )
        ),
        _FUZZY,
        Schema(
            estimators.ClusterOutlierDetector,
            {
                "n_features_in_": Size("features"),
                "clustering_": _FUZZY,
                "contamination_": Real(),
                "offset_": Real(),
                "n_iter_": Whole(),
            },
            {},
            _complete_detector,
        ),
        Schema(estimators.KMedoids, MEDOIDS, {"labels_": _LABELS}, _complete_medoids),
        _EMBEDDING,
        Schema(
            estimators.LandmarkSpectralClustering,
            {
                "n_features_in_": Size("features"),
                "embedder_": _EMBEDDING,
                "kmeans_": FittedKMeans(),
            },
            {"labels_": _LABELS},
            _complete_clustering,
        ),
    )
}
"""Classes that a model file may name."""
