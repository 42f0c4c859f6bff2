"""Odd values of every parameter and argument: they work, or one line names what is wrong."""

import inspect
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

import sfumato
from sfumato import (
    REFCMFS,
    RSFKM,
    CappedREFCMFS,
    FuzzyClustering,
    FuzzyCMeans,
    KMedoids,
    LandmarkSpectralClustering,
    LandmarkSpectralEmbedding,
    SimREFCMFS,
    datasets,
    metrics,
)
from sfumato.cli.methods import PARAMETERS
from sfumato.exceptions import Option, message_of
from tests.catalogue import blobs, each, whatever_results
from tests.contract.estimators import METHODS

pytestmark = [whatever_results, pytest.mark.filterwarnings("ignore")]
ESTIMATORS = [
    REFCMFS,
    CappedREFCMFS,
    SimREFCMFS,
    RSFKM,
    FuzzyCMeans,
    FuzzyClustering,
    KMedoids,
    LandmarkSpectralClustering,
    LandmarkSpectralEmbedding,
]
N_ROWS = 200
X = blobs(N_ROWS, 3, 3)
SHARES = np.eye(3)[np.arange(N_ROWS) % 3]
LONGEST = 700
"""Characters of a message, which quotes at most a part of what was given."""


class Odd:
    """Neither a number nor a name; it shows itself in two lines."""

    def __repr__(self):
        return "Odd(\n)"


INTEGERS = {f"2**{n}": 2**n for n in (31, 63, 70)} | {f"-2**{n}": -(2**n) for n in (31, 70)}
SCALARS = [
    *(np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64),
    *(np.float16, np.float32, np.float64, np.longdouble),
]
ODD = {
    **{repr(v): v for v in (None, -1, 0, 1, 2, 3, 0.5, 2.0, 2.5, 1e308, 5e-324, True, False)},
    **{str(v): v for v in (np.nan, np.inf, -np.inf)},
    **INTEGERS,
    **{f"np.{kind.__name__}": kind(3) for kind in SCALARS},
    **{repr(v): v for v in ("", "x", "3", "auto", "a\nb", b"x", [], [1], {}, (), 1j, ...)},
    "long": "y" * 2000,
    "set": set(),
    "ragged": [[1, 2], [3]],
    "object": Odd(),
    "class": Odd,
    "range": range(3),
    "generator": np.random.default_rng(0),
    "RandomState": np.random.RandomState(0),
    "array of 0": np.array(3),
    "array of 1": np.array([1, 2]),
    "array of 2": np.ones((4, 2)),
    "array of 3": np.ones((3, 2, 2)),
    "large array": np.ones((50, 50)),
    "empty array": np.empty(0),
    "empty rows": np.empty((0, 3)),
    "empty columns": np.empty((3, 0)),
    "words": np.array([["a", "b"], ["c", "d"]]),
    "objects": np.array([[1, None], ["x", 2]], dtype=object),
    "records": np.zeros(3, dtype=[("a", int), ("b", float)]),
    "masked": np.ma.masked,
    "sparse": sp.csr_array(np.ones((4, 2))),
    "np.bool": np.True_,
    "np.complex64": np.complex64(2),
    "np.str_": np.str_("x"),
    "datetime64": np.datetime64("2020"),
    "timedelta64": np.timedelta64(3, "s"),
    "Fraction": Fraction(5, 2),
    "whole Fraction": Fraction(2),
    "Decimal": Decimal(2),
    "Decimal NaN": Decimal("nan"),
}
every_value = each("value", ODD, ids=str)


def fits_or_names(name, call):
    """Nothing but a result, or an error of one line with the name of what is wrong."""
    try:
        call()
    except (TypeError, ValueError) as error:
        text, as_data = str(error), named_as_data(error)
        assert name in text, text
        assert "\n" not in text, text
        assert len(text) <= LONGEST, text
        assert as_data, text


def named_as_data(error):
    """Whether the message knows where it names the parameter, if that is an option of a command."""
    name = getattr(error, "name", None)
    options = [part.name for part in message_of(error).parts if isinstance(part, Option)]
    return name not in PARAMETERS or name in options


def cases(value, name):
    """Whether a value makes sense to try: more starts than a lifetime has are not refused."""
    endless = name in ("n_init", "max_iter") and value in INTEGERS
    return not (endless or (name == "checkpoint" and isinstance(ODD[value], str)))


@every_value
@each("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_parameters(kind, value):
    names = kind().get_params(deep=False)
    usual = {"n_clusters": 3, "max_iter": 5, "n_init": 1}
    usual = {name: given for name, given in usual.items() if name in names}
    for name in names:
        if cases(value, name) and not (name == "init" and callable(ODD[value])):
            given = usual | {name: ODD[value]}
            fits_or_names(name, lambda given=given: kind(**given).fit(X))


@cache
def fitted(kind):
    return kind(3, random_state=0).fit(X)


@every_value
def test_rows(value):
    given = ODD[value]
    for kind in ESTIMATORS:
        fits_or_names("X", lambda kind=kind: kind(3).fit(given))
    for name in METHODS:
        fits_or_names("X", lambda name=name: getattr(fitted(REFCMFS), name)(given))
    for kind in (KMedoids, LandmarkSpectralClustering):
        fits_or_names("X", lambda kind=kind: fitted(kind).predict(given))
    fits_or_names("X", lambda: REFCMFS(3).partial_fit(given))
    fits_or_names("X", lambda: REFCMFS(3).fit(X).partial_fit(given))


@every_value
def test_weights(value):
    given = ODD[value]
    for kind in (REFCMFS, CappedREFCMFS, KMedoids):
        fits_or_names("weight", lambda kind=kind: kind(3).fit(X, sample_weight=given))
    fits_or_names("weight", lambda: REFCMFS(3).fit(sfumato.stream(X), sample_weight=given))
    fits_or_names("weight", lambda: REFCMFS(3).fit(X).partial_fit(X, sample_weight=given))
    fits_or_names("weight", lambda: fitted(REFCMFS).score(X, sample_weight=given))
    fits_or_names("weight", lambda: fitted(REFCMFS).objective(X, sample_weight=given))


@every_value
def test_flags(value):
    given = ODD[value]
    fits_or_names("mark_outliers", lambda: fitted(REFCMFS).predict(X, mark_outliers=given))
    fits_or_names("mark_outliers", lambda: REFCMFS(3).fit_predict(X, mark_outliers=given))


@every_value
def test_metrics(value):
    given, centers, labels = ODD[value], np.ones((3, 3)), np.arange(N_ROWS) % 3
    for name in ("partition_coefficient", "partition_entropy", "modified_partition_coefficient"):
        fits_or_names("memberships", lambda name=name: getattr(metrics, name)(given))
    fits_or_names("X", lambda: metrics.fuzzy_silhouette(given, SHARES))
    fits_or_names("memberships", lambda: metrics.fuzzy_silhouette(X, given))
    fits_or_names("alpha", lambda: metrics.fuzzy_silhouette(X, SHARES, alpha=given))
    for index in (metrics.xie_beni, metrics.fukuyama_sugeno):
        fits_or_names("X", lambda index=index: index(given, SHARES, centers))
        fits_or_names("memberships", lambda index=index: index(X, given, centers))
        fits_or_names("centers", lambda index=index: index(X, SHARES, given))
        fits_or_names("fuzzifier", lambda index=index: index(X, SHARES, centers, fuzzifier=given))
    corners = np.eye(3)
    for index in (metrics.robust_bic, metrics.gap_statistic, metrics.simplified_fuzzy_silhouette):
        fits_or_names("X", lambda index=index: index(given, corners))
        fits_or_names("centers", lambda index=index: index(X, given))
        fits_or_names("radii", lambda index=index: index(X, corners, given))
    fits_or_names("centers", lambda: metrics.prediction_strength(X, corners, given))
    fits_or_names("n_references", lambda: metrics.gap_statistic(X, corners, n_references=given))
    for index in (metrics.ari, metrics.nmi, metrics.clustering_accuracy):
        fits_or_names("labels_true", lambda index=index: index(given, labels))
        fits_or_names("labels_pred", lambda index=index: index(labels, given))
    fits_or_names("average", lambda: metrics.nmi(labels, labels, average=given))


@every_value
def test_datasets(value):
    for name in inspect.signature(datasets.make_blobs_with_outliers).parameters:
        if value not in INTEGERS:  # Some are tables of more rows than a machine holds.
            given = {name: ODD[value]}
            fits_or_names(name, lambda given=given: datasets.make_blobs_with_outliers(**given))
    fits_or_names("name", lambda: datasets.load(ODD[value]))


@pytest.mark.parametrize("scalar", SCALARS[:8])
@each("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_integers_of_numpy_are_integers(kind, scalar):
    """``n_clusters=np.int8(3)`` overflowed within."""
    first = "n_clusters" if "n_clusters" in kind().get_params() else "n_components"
    plain = {first: 3, "max_iter": 100, "n_init": 2, "n_active": 2, "n_threads": 1}
    plain = {name: value for name, value in plain.items() if name in kind().get_params()}
    expected = kind(random_state=0, **plain).fit(X)
    narrow = {name: scalar(value) for name, value in plain.items()}
    found = kind(random_state=0, **narrow).fit(X)
    for name in ("cluster_centers_", "labels_", "embedding_"):
        if hasattr(expected, name):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
