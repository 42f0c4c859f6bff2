"""Model files of every format that was ever written load, and predict what they predicted then."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import sfumato
from sfumato._persistence import FORMAT
from tests.golden.make_models import FOLDER, outputs

FILES = sorted(FOLDER.glob("format-*/*.sfumato"))


def test_every_format_is_kept() -> None:
    assert {path.parent.name for path in FILES} == {f"format-{n}" for n in range(1, FORMAT + 1)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_model_predicts_what_it_predicted(path: Path) -> None:
    found = outputs(sfumato.load(path))
    expected = np.load(path.with_suffix(".npz"))
    assert found.keys() == set(expected.files)
    for name, values in found.items():
        if name == "predict":
            assert_array_equal(values, expected[name])
        else:  # The last bits may differ between processors.
            assert_allclose(values, expected[name], rtol=1e-5 if values.itemsize == 4 else 1e-12)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_it_is_saved_as_it_was(path: Path, tmp_path: Path) -> None:
    model = sfumato.load(path)
    rows = "embedding_" if "Embedding" in type(model).__name__ else "labels_"
    sfumato.save(model, tmp_path / "m", training_rows=rows in vars(model))
    again = sfumato.load(tmp_path / "m")
    for name, values in outputs(model).items():
        assert_array_equal(outputs(again)[name], values)
