"""Contract: a model that was saved and loaded is the same model, to the bit."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

import sfumato
from sfumato import (
    REFCMFS,
    Capped,
    CappedREFCMFS,
    FuzzyClustering,
    Initializer,
    KMedoids,
    LandmarkSpectralClustering,
    LandmarkSpectralEmbedding,
    Power,
    stream,
)
from sfumato._init import INITIALIZERS
from sfumato._persistence import schema
from sfumato._persistence.kinds import Kind, Maybe, Record, Several
from sfumato.exceptions import ParameterError
from tests.catalogue import blobs, each, every_dtype, sparse_blobs, whatever_results
from tests.contract.estimators import ESTIMATORS, describe

OTHERS = [
    KMedoids(4),
    LandmarkSpectralEmbedding(3, random_state=0),
    LandmarkSpectralClustering(4, random_state=0),
]
every_model = each("estimator", [*ESTIMATORS, *OTHERS], ids=lambda e: "-".join(describe(e)))

OUTPUTS = (
    "predict",
    "predict_membership",
    "predict_proba",
    "transform",
    "score_outliers",
    "score_samples",
)


def saved(model: BaseEstimator, folder: Path, **options: Any) -> Any:
    """The model as a file gives it back."""
    sfumato.save(model, folder / "model.sfumato", **options)
    return sfumato.load(folder / "model.sfumato")


def assert_same(found: Any, expected: Any) -> None:
    """Same type, same values, same bits."""
    assert type(found) is type(expected)
    if sp.issparse(expected):
        for part in ("data", "indices", "indptr"):
            assert_same(getattr(found, part), getattr(expected, part))
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        assert found.tolist() == expected.tolist() or found.tobytes() == expected.tobytes()
    elif dataclasses.is_dataclass(expected):
        for field in dataclasses.fields(expected):
            assert_same(getattr(found, field.name), getattr(expected, field.name))
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for name in expected:
            assert_same(found[name], expected[name])
    elif isinstance(expected, tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, BaseEstimator):
        assert str(found.get_params()) == str(expected.get_params())
        assert_same_attributes(found, expected)
    else:
        assert found == expected or (found != found and expected != expected)


def assert_same_attributes(found: Any, expected: Any) -> None:
    here, there = found.__getstate__(), expected.__getstate__()
    private = isinstance(expected, KMeans)  # The names of another library.
    for name in here:
        if not (private and name.startswith("_")):
            assert_same(here[name], there[name])


def assert_same_outputs(found: Any, expected: Any, X: Any) -> None:
    named = [name for name in OUTPUTS if hasattr(expected, name)]
    assert named
    for name in named:
        assert_same(getattr(found, name)(X), getattr(expected, name)(X))


@every_model
@every_dtype
@whatever_results
def test_a_loaded_model_predicts_the_same_bits(
    estimator: BaseEstimator, dtype: type, tmp_path: Path
) -> None:
    X = blobs(80).astype(dtype)
    model = clone(estimator).fit(X)
    loaded = saved(model, tmp_path)
    assert_same_outputs(loaded, model, blobs(50, seed=1).astype(dtype))
    assert_same_outputs(loaded, model, X)
    assert_same_attributes(loaded, model)


@every_model
@whatever_results
def test_every_attribute_is_in_the_file(estimator: BaseEstimator, tmp_path: Path) -> None:
    """A new attribute is named in ``_persistence/schema.py``, or this fails."""
    model = clone(estimator).fit(blobs(80))
    loaded = saved(model, tmp_path, training_rows=True)
    assert loaded.__getstate__().keys() == model.__getstate__().keys()
    assert_same_attributes(loaded, model)


@every_model
@whatever_results
def test_sparse_rows_and_names(estimator: BaseEstimator, tmp_path: Path) -> None:
    X = sparse_blobs(80)
    model = clone(estimator).fit(sp.csr_array(X))
    assert_same_outputs(saved(model, tmp_path), model, sp.csr_array(X))
    frame = pd.DataFrame(X, columns=["a", "é ü", "c\n", "", "0", "nul\0l"])
    named = clone(estimator).fit(frame)
    sfumato.save(named, tmp_path / "named")
    loaded = sfumato.load(tmp_path / "named")
    assert_same(loaded.feature_names_in_, named.feature_names_in_)
    assert_same_outputs(loaded, named, frame)


@each("estimator", ESTIMATORS, ids=lambda e: "-".join(describe(e)))
@whatever_results
def test_batches_go_on_where_they_were(estimator: BaseEstimator, tmp_path: Path) -> None:
    model = clone(estimator).partial_fit(blobs(60)).partial_fit(blobs(60, seed=1))
    loaded = saved(model, tmp_path)
    assert_same_attributes(loaded, model)
    assert_same_attributes(
        loaded.partial_fit(blobs(60, seed=2)), model.partial_fit(blobs(60, seed=2))
    )
    fitted = clone(estimator).fit(blobs(60))
    sfumato.save(fitted, tmp_path / "fitted")
    after = sfumato.load(tmp_path / "fitted").partial_fit(blobs(60, seed=3))
    assert_same_attributes(after, fitted.partial_fit(blobs(60, seed=3)))


def test_another_process_predicts_the_same_bits(tmp_path: Path) -> None:
    X = blobs(200)
    model = CappedREFCMFS(5, random_state=0).fit(X)
    sfumato.save(model, tmp_path / "m")
    np.save(tmp_path / "X.npy", X)
    code = (
        "import numpy as np, sfumato; m = sfumato.load('m'); X = np.load('X.npy');"
        "np.savez('found.npz', a=m.predict(X), b=m.predict_proba(X), c=m.score_outliers(X))"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=300)
    found = np.load(tmp_path / "found.npz")
    assert_same(found["a"], model.predict(X))
    assert_same(found["b"], model.predict_proba(X))
    assert_same(found["c"], model.score_outliers(X))


def test_a_model_of_a_stream_is_saved_without_its_rows(tmp_path: Path) -> None:
    X = blobs(100)
    model = REFCMFS(3, random_state=0).fit(stream(X, chunk_rows=30))
    loaded = saved(model, tmp_path)
    assert_same_outputs(loaded, model, X)
    with pytest.raises(AttributeError, match=r"training_rows=True; use predict\(X\)"):
        _ = loaded.labels_
    with pytest.raises(ValueError, match="refers to a stream or dask collection"):
        sfumato.save(model, tmp_path / "rows", training_rows=True)
    assert not (tmp_path / "rows").exists()


PARAMETERS = [
    {"init": blobs(4)},
    {"init": blobs(4).tolist()},
    {"init": sp.csr_matrix(sparse_blobs(4, 3))},
    {"n_init": np.int64(2), "tol": np.float32(1e-4)},
    {"random_state": np.random.RandomState(7)},
    {"checkpoint": Path("a") / "b"},
    {"loss": Capped(np.float64(4)), "membership": Power(np.int32(2), 1.5)},
    *({"init": initializer()} for initializer in INITIALIZERS.values()),
]


@each("given", PARAMETERS, ids=lambda given: "-".join(given))
@whatever_results
def test_parameters_come_back(given: dict[str, Any], tmp_path: Path) -> None:
    X = blobs(80)
    model = FuzzyClustering(4, **{k: v for k, v in given.items() if k != "checkpoint"}).fit(X)
    model.set_params(**given)
    loaded = saved(model, tmp_path)
    for name, value in given.items():
        found = getattr(loaded, name)
        if name == "random_state":
            assert found.uniform() == clone_of(value).uniform()
        elif name == "init" and not isinstance(value, Initializer):
            dense = [v.toarray() if sp.issparse(v) else np.asarray(v) for v in (found, value)]
            assert_array_equal(*dense)
        elif isinstance(value, BaseEstimator):
            assert type(found) is type(value)
            assert found.get_params() == value.get_params()
        else:
            assert found == value
    model.set_params(checkpoint=None)
    again = FuzzyClustering(**{**loaded.get_params(deep=False), "checkpoint": None}).fit(X)
    assert again.cluster_centers_.shape == model.cluster_centers_.shape


def clone_of(state: np.random.RandomState) -> np.random.RandomState:
    copy = np.random.RandomState()
    copy.set_state(state.get_state())
    return copy


class OwnLoss(Capped):
    pass


class OwnEstimator(REFCMFS):
    pass


def test_what_cannot_be_saved_is_said(tmp_path: Path) -> None:
    X = blobs(60)
    path = tmp_path / "m"
    own = FuzzyClustering(3, loss=OwnLoss(3.0), engine="reference", random_state=0).fit(X)
    with pytest.raises(TypeError, match="OwnLoss, which a model file cannot hold; use pickle"):
        sfumato.save(own, path)
    with pytest.raises(TypeError, match="OwnEstimator, which a model file cannot hold"):
        sfumato.save(OwnEstimator(3, random_state=0).fit(X), path)
    called = REFCMFS(3, init=lambda X, n_clusters, random_state: X[:n_clusters]).fit(X)
    with pytest.raises(TypeError, match=r"init=<function .* set_params\(init=\.\.\.\)"):
        sfumato.save(called, path)
    with pytest.raises(NotFittedError):
        sfumato.save(REFCMFS(3), path)
    with pytest.raises(ValueError, match="training_rows='no'"):
        sfumato.save(called, path, training_rows="no")
    assert not list(tmp_path.iterdir())


def test_files_are_replaced_on_request_only(tmp_path: Path) -> None:
    model = KMedoids(2).fit(blobs(20))
    sfumato.save(model, tmp_path / "m")
    before = (tmp_path / "m").read_bytes()
    with pytest.raises(FileExistsError, match="overwrite=True"):
        sfumato.save(KMedoids(3).fit(blobs(20)), tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before
    sfumato.save(model, tmp_path / "m", overwrite=True)
    assert (tmp_path / "m").read_bytes() == before, "equal models have equal files"
    with pytest.raises(FileNotFoundError, match="does not exist; give the path"):
        sfumato.load(tmp_path / "absent")
    with pytest.raises(FileNotFoundError, match="is no file"):
        sfumato.load(tmp_path)


def test_the_format_is_open(tmp_path: Path) -> None:
    """Any program that knows zip, JSON and .npy can read a model."""
    model = REFCMFS(3, random_state=0).fit(blobs(60))
    sfumato.save(model, tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as archive:
        header = json.loads(archive.read("model.json"))
        attributes = header["model"]["attributes"]
        with archive.open(attributes["cluster_centers_"]) as file:
            assert_same(np.load(file, allow_pickle=False), model.cluster_centers_)
        for line in archive.read("SHA256SUMS").decode().splitlines():
            digest, name = line.split("  ")
            assert sha256(archive.read(name)).hexdigest() == digest
    assert header["format"] == 2
    assert header["versions"].keys() == {"python", "sfumato", "numpy", "scipy", "scikit-learn"}


def records(kind: Kind) -> list[Record]:
    """All records within a kind."""
    if isinstance(kind, Maybe | Several):
        return records(kind.kind)
    if isinstance(kind, Record):
        return [kind, *(inner for field in kind.fields.values() for inner in records(field))]
    return []


def test_records_are_complete() -> None:
    found = [record for kind in schema.FAMILY.values() for record in records(kind)]
    assert len(found) >= 6
    for record in found:
        made: Any = record.made
        names = getattr(made, "_fields", None) or [each.name for each in dataclasses.fields(made)]
        assert set(record.fields) == set(names), made


def test_every_public_estimator_can_be_saved() -> None:
    assert sorted(schema.SCHEMAS) == sorted(sfumato.estimators.__all__)


def test_parameters_of_a_loaded_model_are_checked_when_they_are_used(tmp_path: Path) -> None:
    model = REFCMFS(3, random_state=0).fit(blobs(60)).set_params(engine="quick")
    with pytest.raises(ParameterError, match=re.escape("engine='quick'")):
        saved(model, tmp_path).predict(blobs(5))
    model.set_params(engine="auto", n_threads=0)
    with pytest.raises(ParameterError, match="n_threads=0"):
        saved(model, tmp_path, overwrite=True).predict(blobs(5))


@every_model
@whatever_results
def test_skops_is_a_second_way(estimator: BaseEstimator) -> None:
    """With nothing but types of this library to trust."""
    skops = pytest.importorskip("skops.io")
    X = blobs(80)
    model = clone(estimator).fit(X)
    content = skops.dumps(model)
    untrusted = skops.get_untrusted_types(data=content)
    assert [name for name in untrusted if not name.startswith("sfumato.")] == []
    loaded = skops.loads(content, trusted=untrusted)
    assert_same_outputs(loaded, model, X)
    if hasattr(model, "history_"):  # skops makes it a plain tuple.
        loaded.history_ = type(model.history_)(loaded.history_)
    assert_same_attributes(loaded, model)


def test_a_number_of_clusters_that_was_found_is_kept_with_its_reasons(tmp_path: Path) -> None:
    X = blobs(n_rows=300, n_clusters=3)
    model = REFCMFS("auto", random_state=0).fit(X)
    sfumato.save(model, tmp_path / "m.sfumato")
    loaded = sfumato.load(tmp_path / "m.sfumato")
    assert loaded.n_clusters == "auto"
    assert loaded.n_clusters_ == model.n_clusters_
    assert loaded.selection_.to_dict() == model.selection_.to_dict()
    assert_array_equal(loaded.predict(X), model.predict(X))
