"""Property: no model file does more than fail, whatever its bytes.

``make fuzz-models`` tries 10^5 of them, or ``FUZZ_FILES``.
"""

from __future__ import annotations

import os
import re
import sys
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import Pipeline, make_pipeline

import sfumato
from sfumato import (
    RSFKM,
    Capped,
    CappedREFCMFS,
    ClusterOutlierDetector,
    FuzzyClustering,
    KMedoids,
    LandmarkSpectralClustering,
    LandmarkSpectralEmbedding,
    Power,
    TablePreparer,
)
from sfumato.exceptions import ModelFileError
from tests.catalogue import blobs, each, whatever_results
from tests.golden.make_models import table
from tests.properties.mutations import json_of, mutated, with_json

FILES = int(os.environ.get("FUZZ_FILES", "4000"))
"""Files that are tried, over all tests."""
ROUNDS = 8
KEPT = Path(__file__).parent / "found" / "failed.sfumato"
"""Where a file that does more than fail is kept."""
FIXED = 1 << 19
"""Bytes of memory that a load may take whatever the size of the file. Chosen by hand."""
GROWTH = 25
"""Bytes of memory per byte of the file, at most: JSON as Python objects. Chosen by hand."""

SEED = np.random.RandomState(0)
MODELS = [
    CappedREFCMFS(3, random_state=0),
    FuzzyClustering(3, loss=Capped(4.0), membership=Power(2, 1.5), random_state=SEED),
    RSFKM(3, random_state=0, init=blobs(3)),
    KMedoids(3),
    LandmarkSpectralEmbedding(2, random_state=0),
    LandmarkSpectralClustering(3, random_state=0),
    ClusterOutlierDetector(random_state=0),
    make_pipeline(TablePreparer(), CappedREFCMFS(3, random_state=0)),
]


def rows_for(model: Any, n_rows: int) -> Any:
    """Rows that a model takes: a table if it prepares one."""
    return table(n_rows, 0) if isinstance(model, Pipeline) else blobs(n_rows)


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    folder = tmp_path_factory.mktemp("models")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, model in enumerate(MODELS):
            fitted = model.fit(rows_for(model, 40))
            sfumato.save(fitted, folder / str(number), training_rows=number % 2 == 0)
    return [(folder / str(number)).read_bytes() for number in range(len(MODELS))]


def use(path: Path) -> str:
    """Load a file, and use the model; only errors that name a problem are allowed."""
    try:
        model = sfumato.load(path)
    except ModelFileError as error:
        message = str(error)
    else:
        return use_model(model)
    assert message.startswith(str(path))
    assert "\n" not in message
    return "refused"


def use_model(model: Any) -> str:
    X = rows_for(model, 7)
    try:
        for name in ("predict", "transform", "predict_proba", "score_outliers", "score_samples"):
            if hasattr(model, name):
                getattr(model, name)(X)
        if hasattr(model, "partial_fit"):
            model.partial_fit(X)
        repr(model)
    except ValueError:
        return "unusable"
    return "used"


@each("number", range(ROUNDS), ids=str)
@whatever_results
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
def test_damaged_and_deceiving_files(originals: list[bytes], number: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(number)
    path = tmp_path / "m"
    seen = {"refused": 0, "unusable": 0, "used": 0}
    for content in originals:  # What the first use of a model imports is imported now.
        path.write_bytes(content)
        assert use(path) == "used"
    modules = set(sys.modules)
    for _ in range(FILES // ROUNDS):
        content = mutated(originals, rng)
        path.write_bytes(content)
        try:
            seen[use(path)] += 1
        except BaseException:
            KEPT.write_bytes(content)
            raise
    assert set(sys.modules) == modules, "nothing is imported"
    assert [each.name for each in tmp_path.iterdir()] == ["m"], "nothing is extracted"
    assert seen["refused"] > 0.6 * sum(seen.values())
    assert seen["used"] > 0, "some changes do no harm"


def test_memory_is_bounded_by_the_file(originals: list[bytes], tmp_path: Path) -> None:
    rng = np.random.default_rng(99)
    path = tmp_path / "m"
    for _ in range(FILES // 16):
        content = mutated(originals, rng)
        path.write_bytes(content)
        tracemalloc.start()
        try:
            sfumato.load(path)
        except ModelFileError:
            pass
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < FIXED + GROWTH * len(content)


@each("scale", ["1e308", "-1.0", '"nan"', '"inf"'], ids=str)
def test_a_background_without_a_density_is_refused(
    originals: list[bytes], scale: str, tmp_path: Path
) -> None:
    changed, n_changed = re.subn(
        rb'("scale": )[^,}\s]+', rb"\g<1>" + scale.encode(), json_of(originals[0])
    )
    assert n_changed == 1
    path = tmp_path / "m"
    path.write_bytes(with_json(originals[0], changed))
    with pytest.raises(ModelFileError, match="a scale"):
        sfumato.load(path)
