"""Digests of the results of a fixed list of fits, to see that a refactoring changes no bit.

Run as ``python tools/digests.py write FILE`` before a change, and ``python tools/digests.py compare
FILE`` after it. Only public names are used. Digests depend on the machine, so none are stored here.
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone

import sfumato

K = 4
FAMILY = {
    "REFCMFS": sfumato.REFCMFS(K, random_state=0),
    "REFCMFS-one": sfumato.REFCMFS(K, n_active=2, fuzzifier=1.2, n_init=1, random_state=1),
    "CappedREFCMFS": sfumato.CappedREFCMFS(K, random_state=0),
    "CappedREFCMFS-cap": sfumato.CappedREFCMFS(K, cap=3.0, n_init=3, random_state=2),
    "SimREFCMFS": sfumato.SimREFCMFS(K, random_state=0),
    "RSFKM": sfumato.RSFKM(K, random_state=0),
    "RSFKM-capped": sfumato.RSFKM(K, loss="capped", random_state=0),
    "FuzzyCMeans": sfumato.FuzzyCMeans(K, random_state=0),
    "hard": sfumato.FuzzyClustering(K, loss="squared", membership="hard", random_state=0),
    "robust-l21": sfumato.FuzzyClustering(K, init="robust", random_state=0),
    "random": sfumato.FuzzyClustering(K, init="random", acceleration=None, random_state=0),
    "simplex": sfumato.FuzzyClustering(
        K, membership=sfumato.Simplex(n_active=2), max_iter=50, random_state=0
    ),
    "reference": sfumato.REFCMFS(K, engine="reference", n_init=2, random_state=0),
}
NAMES = ("cluster_centers_", "labels_", "memberships_", "objective_", "n_iter_", "outlier_scores_")
PARAMETERS = ("cap_", "n_active_", "fuzzifier_", "gamma_", "intrinsic_dimension_")


def blobs(n_rows: int, n_features: int, outliers: int, seed: int = 0) -> np.ndarray:
    """Four clusters of unlike size, and some rows far away."""
    rng = np.random.default_rng(seed)
    middles = rng.uniform(-8, 8, size=(K, n_features))
    labels = rng.choice(K, size=n_rows, p=[0.4, 0.3, 0.2, 0.1])
    rows = middles[labels] + rng.normal(size=(n_rows, n_features))
    rows[:outliers] = rng.uniform(-60, 60, size=(outliers, n_features))
    return rng.permutation(rows)


def plain(value: Any) -> list[np.ndarray]:
    """Arrays that a value consists of; lazy ones are computed."""
    value = value.compute() if hasattr(value, "compute") else value
    if sp.issparse(value):
        value = sp.csr_array(value)
        return [value.indptr.astype(np.int64), value.indices.astype(np.int64), value.data]
    return [np.asarray(value)]


def digest(*values: Any) -> str:
    """Digest of the bits of some values."""
    state = blake2b(digest_size=8)
    for value in values:
        for array in plain(value):
            state.update(str((array.dtype, array.shape)).encode())
            state.update(np.ascontiguousarray(array).tobytes())
    return state.hexdigest()


def of_model(model: Any) -> str:
    """Digest of a fitted model of the family."""
    names = [name for name in NAMES if name != "n_iter_" or model.n_iter_]  # 0 after batches.
    found = [getattr(model, name) for name in names]
    chosen = [getattr(model, name, None) for name in PARAMETERS]
    missing = [value is None or not np.isfinite(value) for value in chosen]
    values = [np.nan if none else v for v, none in zip(chosen, missing, strict=True)]
    return digest(*found, model.cluster_radii_, *values)


def in_batches(model: Any, X: np.ndarray) -> Any:
    """Model that has learned the rows batch by batch."""
    for begin in range(0, len(X), 250):
        model.partial_fit(X[begin : begin + 250])
    return model


def fitted_then_batch(model: Any, X: np.ndarray) -> Any:
    """Model fitted to most rows, which has then learned the others."""
    return model.fit(X[:600]).partial_fit(X[600:])


def with_checkpoint(model: Any, X: Any) -> Any:
    """Model whose fit was written to a checkpoint on the way."""
    with tempfile.TemporaryDirectory() as folder:
        return model.set_params(checkpoint=str(Path(folder) / "state.npz")).fit(X)


def ways(X: np.ndarray, wide: np.ndarray) -> dict[str, Callable[[Any], Any]]:
    """How each estimator is fitted."""
    import dask.array as da

    weights = np.random.default_rng(5).integers(0, 4, size=len(X)).astype(float)
    sparse = sp.csr_array(np.where(np.abs(X) < 2, 0.0, X))
    return {
        "dense": lambda model: model.fit(X),
        "fortran": lambda model: model.fit(np.asfortranarray(X)),
        "csr": lambda model: model.fit(sparse),
        "float32": lambda model: model.fit(X.astype(np.float32)),
        "weights": lambda model: model.fit(X, sample_weight=weights),
        "wide": lambda model: model.fit(wide),
        "stream": lambda model: model.fit(sfumato.stream(X, chunk_rows=300)),
        "stream-csr": lambda model: model.fit(sfumato.stream(sparse, chunk_rows=300)),
        "dask": lambda model: model.fit(da.from_array(X, chunks=(300, -1))),
        "dask-weights": lambda model: model.fit(
            da.from_array(X, chunks=(300, -1)), sample_weight=da.from_array(weights, chunks=300)
        ),
        "partial_fit": lambda model: in_batches(model, X),
        "fit-partial_fit": lambda model: fitted_then_batch(model, X),
        "checkpoint": lambda model: with_checkpoint(model, X),
        "checkpoint-stream": lambda model: with_checkpoint(
            model, sfumato.stream(X, chunk_rows=300)
        ),
    }


def predictions(model: Any, X: Any) -> str:
    """Digest of what a model says of new rows."""
    return digest(
        model.predict(X),
        model.predict(X, mark_outliers=True),
        model.predict_membership(X),
        model.predict_proba(X),
        model.transform(X),
        model.score_outliers(X),
        np.float64(model.score(X)),
    )


def cells() -> Iterator[tuple[str, str]]:
    """Names of all cases, with their digests."""
    X, wide, new = blobs(1000, 5, 60), blobs(60, 150, 2), blobs(200, 5, 10, seed=3)
    for name, estimator in FAMILY.items():
        for how, fit in ways(X, wide).items():
            model = fit(clone(estimator))
            yield f"{name}/{how}", of_model(model)
            if how in ("dense", "csr", "stream", "dask", "partial_fit"):
                yield f"{name}/{how}/predict", predictions(model, new)
                lazy = sfumato.stream(new, chunk_rows=64)
                yield f"{name}/{how}/predict-stream", predictions(model, lazy)
    for name, model in others().items():
        model.fit(X)
        found = [vars(model)[key] for key in sorted(vars(model)) if key.endswith("_")]
        yield name, digest(*(v for v in found if not isinstance(v, (str, BaseEstimator))))
    larger = blobs(20_000, 8, 500)
    for name in ("REFCMFS", "CappedREFCMFS", "RSFKM"):
        yield f"{name}/larger", of_model(clone(FAMILY[name]).fit(larger))
        rows = sfumato.stream(larger.astype(np.float32), chunk_rows=3000)
        yield f"{name}/larger-stream", of_model(clone(FAMILY[name]).fit(rows))


def others() -> dict[str, Any]:
    """Estimators beside the family."""
    return {
        "KMedoids": sfumato.KMedoids(K, random_state=0),
        "KMedoids-random": sfumato.KMedoids(K, init="random", random_state=0),
        "Landmark": sfumato.LandmarkSpectralClustering(K, n_landmarks=50, random_state=0),
        "Embedding": sfumato.LandmarkSpectralEmbedding(3, n_landmarks=50, random_state=0),
    }


def main(arguments: list[str]) -> int:
    """Write or compare; returns the exit code."""
    if len(arguments) != 2 or arguments[0] not in ("write", "compare"):
        print(__doc__, file=sys.stderr)
        return 2
    path = Path(arguments[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = dict(cells())
    if arguments[0] == "write":
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        return 0
    before = json.loads(path.read_text(encoding="utf-8"))
    other = [name for name in {**before, **found} if before.get(name) != found.get(name)]
    print("\n".join(other) if other else f"{len(found)} digests are the same.")
    return bool(other)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
