"""How much another start lowers the objective: the measurements behind ``n_init="auto"``.

Single starts on each data set give a sample of objectives. From it follows, for any number of
starts, the median excess of the best of them over the best objective seen.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, make_blobs

from sfumato import REFCMFS

PAPER = {  # data set: clusters, active clusters; r = 1.1
    "yale": (15, 9),
    "orl": (40, 10),
    "coil20": (20, 13),
    "usps": (10, 5),
    "yaleb": (38, 3),
    "coil100": (100, 75),
}
BUDGETS = (1, 2, 3, 5, 10)


def data_folder() -> Path:
    return Path(os.environ.get("SFUMATO_DATA", Path(__file__).parents[2] / "shared" / "data"))


def cases(quick: bool):
    """Name, rows, clusters, active clusters, number of single starts."""
    yield "digits", load_digits().data, 10, 3, 20
    yield "blobs, 8 in 2-D", make_blobs(2000, 2, centers=8, random_state=0)[0], 8, 5, 40
    yield "blobs, 30 in 10-D", make_blobs(6000, 10, centers=30, random_state=0)[0], 30, 5, 20
    for name, (n_clusters, n_active) in PAPER.items():
        path = data_folder() / f"{name}.npz"
        if path.exists() and not (quick and name in ("yaleb", "coil100")):
            starts = 5 if name == "coil100" else 20
            yield name, np.load(path)["X"], n_clusters, n_active, starts


def single_starts(X, n_clusters, n_active, starts):
    fuzzifier = 1.1
    return np.array(
        [
            REFCMFS(n_clusters, n_active=n_active, fuzzifier=fuzzifier, n_init=1, random_state=seed)
            .fit(X)
            .objective_
            for seed in range(starts)
        ]
    )


def median_excess(objectives, budget, rng):
    draws = rng.choice(objectives, size=(2000, budget)).min(axis=1)
    return np.median(draws) / objectives.min() - 1


def run(quick: bool) -> None:
    rng = np.random.default_rng(0)
    print("Median excess of the best of n starts over the best objective seen, in %\n")
    print("| data | starts seen | " + " | ".join(f"n = {b}" for b in BUDGETS) + " |")
    print("| --- " * (2 + len(BUDGETS)) + "|")
    for name, X, n_clusters, n_active, starts in cases(quick):
        objectives = single_starts(X, n_clusters, n_active, starts)
        cells = [f"{100 * median_excess(objectives, b, rng):.2f}" for b in BUDGETS]
        print(f"| {name} | {starts} | " + " | ".join(cells) + " |", flush=True)
