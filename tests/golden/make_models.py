"""Write the model files of a format, which every later version must load: once per format.

``python -m tests.golden.make_models`` writes to ``tests/golden/models/format-N`` what is not there:
files of a format that was released are never made anew.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

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


def table(n_rows: int, seed: int) -> pd.DataFrame:
    """Rows of a table with an identifier, categories, dates, yes and no, gaps and a typo."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(4, size=n_rows)
    made = pd.DataFrame(
        {
            "id": [f"K{number:04}" for number in range(n_rows)],
            "age": 20.0 + 15 * kind + rng.normal(size=n_rows).round(1),
            "income": np.exp(9 + (2 - kind) ** 2 + 0.2 * rng.normal(size=n_rows)),
            "city": np.array(["Rome", "Bari", "Pisa", "Como"])[kind],
            "member": rng.random(n_rows) < 0.5,
            "since": (pd.Timestamp("2020-01-01") + pd.to_timedelta(100 * kind, "D")).astype(str),
        }
    )
    made.loc[::9, "age"], made.loc[::11, "city"], made.loc[3, "income"] = None, None, 1e15
    return made


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
        "detector": sfumato.ClusterOutlierDetector(random_state=0).fit(frame),
        "table": Pipeline(
            [
                ("preparer", sfumato.TablePreparer()),
                ("model", sfumato.CappedREFCMFS(4, random_state=0)),
            ]
        ).fit(table(300, 0)),
    }


def outputs(model: Any) -> dict[str, np.ndarray]:
    """What a model says about the rows."""
    X: Any = rows()
    if isinstance(model, Pipeline):
        X = table(40, 7)
    elif hasattr(model, "feature_names_in_"):
        X = pd.DataFrame(X, columns=NAMES)
    return {name: getattr(model, name)(X) for name in OUTPUTS if hasattr(model, name)}


def main() -> None:
    folder = FOLDER / f"format-{FORMAT}"
    folder.mkdir(exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = models()
    for number, (name, model) in enumerate(made.items()):
        if (folder / f"{name}.sfumato").exists():
            continue
        sfumato.save(model, folder / f"{name}.sfumato", training_rows=number % 2 == 0)
        np.savez_compressed(folder / f"{name}.npz", **outputs(model))


if __name__ == "__main__":
    main()
