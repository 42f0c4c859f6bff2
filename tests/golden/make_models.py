"""Write the model files of a format, which every later version must load: once per format.

``python -m tests.golden.make_models`` writes to ``tests/golden/models/format-N``, and refuses to
replace a file: those of a format that was released are never made anew.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sfumato
from sfumato._persistence import FORMAT
from tests.catalogue import blobs, sparse_blobs

FOLDER = Path(__file__).parent / "models"
NAMES = ["first", "second", "third"]

OUTPUTS = (
    "predict",
    "predict_proba",
    "transform",
    "score_outliers",
    "score_samples",
)


def rows() -> np.ndarray:
    """Rows to predict."""
    return blobs(40, seed=7)


def models() -> dict[str, Any]:
    """Fitted models: every class, loss and rule, both precisions, names, batches."""
    X, frame = blobs(120), pd.DataFrame(blobs(120), columns=NAMES)
    single = X.astype(np.float32)
    return {
        "refcmfs": sfumato.REFCMFS(4, random_state=0).fit(X),
        "refcmfs-float32": sfumato.REFCMFS(4, random_state=0).fit(single),
        "capped-names": sfumato.CappedREFCMFS(4, random_state=0).fit(frame),
        "sim-batches": sfumato.SimREFCMFS(4, random_state=0).partial_fit(X).partial_fit(X + 1),
        "rsfkm-auto": sfumato.RSFKM(4, random_state=0).fit(X),
        "fuzzy-c-means": sfumato.FuzzyCMeans(4, random_state=np.random.RandomState(0)).fit(X),
        "hard": sfumato.FuzzyClustering(
            4, loss="squared", membership="hard", init=X[:4], n_init=1
        ).fit(X),
        "simplex": sfumato.FuzzyClustering(
            4, loss=sfumato.Capped(5.0), membership=sfumato.Simplex(n_active=2), random_state=0
        ).fit(X),
        "k-medoids": sfumato.KMedoids(4).fit(X),
        "embedding": sfumato.LandmarkSpectralEmbedding(3, random_state=0).fit(X),
        "spectral": sfumato.LandmarkSpectralClustering(4, random_state=0).fit(X),
        "sparse": sfumato.REFCMFS(4, random_state=0).fit(sparse_blobs(120, 3)),
    }


def outputs(model: Any) -> dict[str, np.ndarray]:
    """What a model says about the rows."""
    X: Any = rows()
    if hasattr(model, "feature_names_in_"):
        X = pd.DataFrame(X, columns=NAMES)
    return {name: getattr(model, name)(X) for name in OUTPUTS if hasattr(model, name)}


def main() -> None:
    folder = FOLDER / f"format-{FORMAT}"
    folder.mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = models()
    for number, (name, model) in enumerate(made.items()):
        sfumato.save(model, folder / f"{name}.sfumato", training_rows=number % 2 == 0)
        np.savez_compressed(folder / f"{name}.npz", **outputs(model))


if __name__ == "__main__":
    main()
