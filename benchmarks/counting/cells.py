"""Cases, methods and the page of ``python -m benchmarks.counting``."""

from __future__ import annotations

import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics import calinski_harabasz_score, silhouette_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.harness.setting import setting
from benchmarks.harness.shared import data_folder
from benchmarks.robustness.cells import Cell, Run
from sfumato import select_n_clusters
from sfumato.datasets import make_blobs_with_outliers

REAL = ("orl", "yale", "coil20", "usps", "yaleb", "coil100")
PAGE = "docs/how-many-clusters.md"
BOX = 0.5
"""Half-width of the box of the centers: so small that they are as close as they may."""
BEYOND = 5
"""Numbers that peers try beyond the true one."""
REFERENCES = 5
"""Uniform data sets of the gap statistic."""
LEAST_GROUP = 15
"""Smallest cluster of HDBSCAN."""
SHOWN = ("sfumato", "GaussianMixture, BIC", "silhouette", "Calinski-Harabasz", "gap", "HDBSCAN")
CRITERIA = {
    "bic_common_width": "BIC, common width",
    "gap": "gap",
    "prediction_strength": "prediction strength",
    "silhouette": "silhouette",
    "fuzzy_silhouette": "fuzzy silhouette",
    "calinski_harabasz": "Calinski-Harabasz",
    "davies_bouldin": "Davies-Bouldin",
    "xie_beni": "Xie-Beni",
    "pbm": "PBM",
}
"""Criteria of a selection beside its own, and their columns."""

Data = tuple[np.ndarray, int]
Make = Callable[[int], Data]


def blobs(
    seed: int, n_clusters: int, n_features: int, *, shape: str = "Gaussian", n_samples: int = 2000,
    **options: float | str,
) -> Data:  # fmt: skip
    """Clusters of a shape, and outliers, as :func:`make_blobs_with_outliers` draws them."""
    box = 10.0 if n_clusters == 1 else BOX
    options = {"contamination": 0.0, "separation": 5.0} | options
    made = make_blobs_with_outliers(
        n_samples, n_features, n_clusters=n_clusters, box=box, random_state=seed, **options
    )
    X, rng = made.data.copy(), np.random.RandomState(seed + 1000)
    if shape != "Gaussian":
        for k in range(n_clusters):
            rows = made.target == k
            X[rows] = made.centers[k] + made.widths[k] * SHAPES[shape](rng, rows.sum(), n_features)
    return X, n_clusters


def long(rng: np.random.RandomState, n_rows: int, n_features: int) -> np.ndarray:
    """Three times as wide along one direction."""
    rows, axis = rng.normal(size=(n_rows, n_features)), rng.normal(size=n_features)
    axis /= np.linalg.norm(axis)
    return (rows + 2 * (rows @ axis)[:, None] * axis) / 1.5


SHAPES: dict[str, Callable[[np.random.RandomState, int, int], np.ndarray]] = {
    "uniform": lambda rng, n, d: rng.uniform(-np.sqrt(3), np.sqrt(3), size=(n, d)),
    "Student-t": lambda rng, n, d: (
        rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(3, size=(n, 1)) / 3)
    ),
    "long": long,
}


def real(seed: int, name: str) -> Data:
    """A set with known classes; the same for all seeds."""
    loaders = {"iris": load_iris, "wine": load_wine, "digits": load_digits}
    if name in loaders:
        X, y = loaders[name](return_X_y=True)
        return (X if name == "digits" else StandardScaler().fit_transform(X)), len(np.unique(y))
    with np.load(data_folder() / f"{name}.npz") as file:
        return file["X"].astype(np.float64), len(np.unique(file["y"]))


OUTLIERS = {
    "clean": {},
    "10 % uniform": {"contamination": 0.1},
    "30 % uniform": {"contamination": 0.3},
    "10 % Cauchy": {"contamination": 0.1, "outliers": "cauchy"},
    "30 % Cauchy": {"contamination": 0.3, "outliers": "cauchy"},
}
UNLIKE: dict[str, float] = {"size_ratio": 10.0, "width_ratio": 3.0}


def all_cases() -> dict[str, dict[str, Make]]:
    """Cases by their sections."""
    return {
        "Gaussian clusters, separation 5, sizes 1:10, widths 1:3": dict(_grid(5.0, UNLIKE)),
        "Gaussian clusters, separation 4, alike": dict(_grid(4.0, {}, (5, 20))),
        "Gaussian clusters, separation 3, alike": dict(_grid(3.0, {}, (5,))),
        "One cluster": dict(_single()),
        "Other shapes, 5 clusters, separation 6": dict(_shapes()),
        "Other sizes: 5 clusters in 10 dimensions": dict(_sizes()),
        "Real data": {name: partial(real, name=name) for name in _present()},
    }


def _grid(
    separation: float, options: Mapping[str, float], counts: Sequence[int] = (2, 5, 10, 20)
) -> Iterator[tuple[str, Make]]:
    for count, d, (name, outliers) in product(counts, (2, 10, 50), OUTLIERS.items()):
        given = {"separation": separation, **options, **outliers}
        make = partial(blobs, n_clusters=count, n_features=d, **given)
        yield f"sep {separation:g}, K = {count}, {d}-d, {name}", make


def _single() -> Iterator[tuple[str, Make]]:
    for d in (2, 10, 50):
        for name, outliers in OUTLIERS.items():
            yield f"Gaussian, {d}-d, {name}", partial(blobs, n_clusters=1, n_features=d, **outliers)
        for shape in ("uniform", "Student-t"):
            make = partial(blobs, n_clusters=1, n_features=d, shape=shape)
            yield f"{'box' if shape == 'uniform' else shape}, {d}-d", make


def _shapes() -> Iterator[tuple[str, Make]]:
    for shape, d, name in product(SHAPES, (2, 10, 50), ("clean", "10 % uniform")):
        options = {"separation": 6.0, "shape": shape, **OUTLIERS[name]}
        make = partial(blobs, n_clusters=5, n_features=d, **options)
        yield f"{shape}, {d}-d, {name}", make


def _sizes() -> Iterator[tuple[str, Make]]:
    for rows, (name, outliers) in product((500, 20_000), OUTLIERS.items()):
        make = partial(blobs, n_clusters=5, n_features=10, n_samples=rows, **UNLIKE, **outliers)
        yield f"{rows} rows, {name}", make
    for name in ("clean", "10 % uniform"):
        options = {"n_samples": 8000, **OUTLIERS[name]}
        yield f"K = 40, {name}", partial(blobs, n_clusters=40, n_features=10, **options)


def _present() -> Iterator[str]:
    yield from ("iris", "wine", "digits")
    yield from (name for name in REAL if (data_folder() / f"{name}.npz").exists())


def ours(X: np.ndarray, most: int, seed: int) -> dict[str, float]:
    selection = select_n_clusters(X, random_state=seed)
    preferred = {f"criterion: {name}": float(n) for name, n in selection.preferred.items()}
    return {"sfumato": float(selection.n_clusters)} | preferred


def mixture(X: np.ndarray, most: int, seed: int) -> dict[str, float]:
    kind = "full" if X.shape[1] <= 10 else "diag"
    scores = [
        GaussianMixture(k, covariance_type=kind, random_state=seed, reg_covar=1e-3).fit(X).bic(X)
        for k in range(1, most + 1)
    ]
    return {"GaussianMixture, BIC": float(np.argmin(scores) + 1)}


def k_means(X: np.ndarray, most: int, seed: int) -> dict[str, float]:
    """Silhouette, Calinski-Harabasz and gap, over the same fits."""
    rng = np.random.RandomState(seed)
    fits = [KMeans(k, n_init=3, random_state=seed).fit(X) for k in range(1, most + 1)]
    labels = [each.labels_ for each in fits[1:]]
    size = min(1000, len(X))
    silhouettes = [silhouette_score(X, own, sample_size=size, random_state=0) for own in labels]
    ratios = [calinski_harabasz_score(X, own) for own in labels]
    low, high = X.min(axis=0), X.max(axis=0)
    drawn = [rng.uniform(low, high, size=X.shape) for _ in range(REFERENCES)]
    logs = np.array(
        [[np.log(KMeans(k, n_init=1, random_state=seed).fit(Z).inertia_) for Z in drawn]
         for k in range(1, most + 1)]
    )  # fmt: skip
    gaps = logs.mean(axis=1) - np.log([max(each.inertia_, 1e-300) for each in fits])
    errors = logs.std(axis=1) * np.sqrt(1 + 1 / REFERENCES)
    enough = np.flatnonzero(gaps[:-1] >= gaps[1:] - errors[1:])
    return {
        "silhouette": float(np.argmax(silhouettes) + 2),
        "Calinski-Harabasz": float(np.argmax(ratios) + 2),
        "gap": float(enough[0] + 1 if len(enough) else most),
    }


def density(X: np.ndarray, most: int, seed: int) -> dict[str, float]:
    labels = HDBSCAN(min_cluster_size=LEAST_GROUP, copy=True).fit(X).labels_
    return {"HDBSCAN": float(max(1, labels.max() + 1))}


METHODS = {"sfumato": ours, "GaussianMixture": mixture, "KMeans": k_means, "HDBSCAN": density}


def run_cell(cell: Cell, cases: Mapping[str, Make]) -> Run:
    """Find the number in one thread."""
    X, n_clusters = cases[cell.case](cell.seed)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        measures = METHODS[cell.method](X, n_clusters + BEYOND, cell.seed)
        seconds = time.perf_counter() - began
    return Run(cell, seconds, measures | {"truth": float(n_clusters)})


BEGIN = f"""# How many clusters?

Written by `python -m benchmarks.counting --write`; do not edit by hand. Every seed draws data of
its own, of 2,000 rows unless said otherwise. A column has the share of the seeds with the exact
number, and, if some differ, the numbers that were found instead. The column "seeds" is that of
sfumato; other methods, which are slower or need the number, may have fewer. Empty: not run.

- **sfumato**: `select_n_clusters(X, random_state=seed)`, which is not told any number.
- **GaussianMixture, BIC**: scikit-learn's, with full covariances up to 10 dimensions and diagonal
  ones above. It and the next three choose from 1 (the silhouette and Calinski-Harabasz: 2) to
  {BEYOND} beyond the true number: an advantage.
- **silhouette** (of a sample of 1,000 rows), **Calinski-Harabasz**, **gap** ({REFERENCES} uniform
  references): KMeans, three starts.
- **HDBSCAN**: scikit-learn's, `min_cluster_size={LEAST_GROUP}`.

Separation is the least distance of two centers in widths of the wider cluster; centers are as close
as they may be. Shapes have the same variance as the Gaussians; long clusters are three times as
wide in one direction, so that at separation 6 some nearly touch. Of real data, the truth is the
number of classes, which need not be clusters.

## Where it errs, and why

- **Small clusters in 30 % Cauchy outliers, in two columns.** With 20 clusters of sizes 1:10, the
  smallest have some 10 of 1,400 rows, up to three times as wide as others, and are only a few times
  as dense as the outliers around them. It finds one or two clusters less.
- **Clusters that touch.** At separation 3 in two columns the density between two clusters is hardly
  lower than at their centers, so that some are said to be one.
- **Bent clusters** are divided into long components, and are one cluster only if no valley is found
  along the lines between them.
- **Real data**: classes of digits and pictures are not clusters: some have several, some share one.
"""


def page_of(runs: Iterable[Run], sections: Mapping[str, Mapping[str, Make]]) -> str:
    """Text of the page."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    seconds: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        for name, value in run.measures.items():
            found[run.cell.case][name].append(value)
        seconds[run.cell.method].append(run.seconds)
    parts = [BEGIN, _summary(found, sections), _criteria(found, sections), _machine(seconds)]
    for heading, cases in sections.items():
        rows = [_row(name, found[name]) for name in cases if name in found]
        if rows:
            parts.append(f"## {heading}\n\n" + _lines(["case", "seeds", *SHOWN], rows))
    return "\n".join(parts)


def _lines(head: list[str], rows: list[list[str]]) -> str:
    return (
        "\n".join(f"| {' | '.join(each)} |" for each in [head, ["---"] * len(head), *rows]) + "\n"
    )


def _row(name: str, found: Mapping[str, list[float]]) -> list[str]:
    truth = found["truth"][0]
    return [name, str(len(found["sfumato"])), *(_share(found.get(m, []), truth) for m in SHOWN)]


def _share(numbers: Sequence[float], truth: float) -> str:
    if not numbers:
        return ""
    wrong = sorted({int(n) for n in numbers if n != truth})
    exact = sum(n == truth for n in numbers) / len(numbers)
    named = ", ".join(map(str, wrong[:4])) + (", ..." if len(wrong) > 4 else "")
    return f"{exact:.0%}" + (f" ({named})" if wrong else "")


def _summary(
    found: Mapping[str, Mapping[str, list[float]]], sections: Mapping[str, Mapping[str, Make]]
) -> str:
    """Exact numbers over all cases of a section, and of the same cases by outliers."""
    rows = []
    for heading, cases in sections.items():
        for words in ("", *OUTLIERS) if "Gaussian" in heading else ("",):
            chosen = [found[name] for name in cases if name in found and name.endswith(words)]
            if chosen:
                text = f"{heading}{f': {words}' if words else ''}"
                rows.append([text, *(_total(chosen, method) for method in SHOWN)])
    return "## Share of exact numbers\n\n" + _lines(["cases", *SHOWN], rows)


def _criteria(
    found: Mapping[str, Mapping[str, list[float]]], sections: Mapping[str, Mapping[str, Make]]
) -> str:
    """Exact numbers of each criterion of a selection, over all cases of a section."""
    rows = []
    for heading, cases in sections.items():
        chosen = [found[name] for name in cases if name in found]
        totals = [_total(chosen, f"criterion: {name}") for name in CRITERIA]
        if any(totals):
            rows.append([heading, _total(chosen, "sfumato"), *totals])
    text = (
        "## Criteria of `selection_.scores`\n\nThe number that each criterion prefers alone "
        "(`selection_.preferred`), for the components of the path and without the rows that are "
        "outliers.\n\n"
    )
    return text + _lines(["cases", "the rule", *CRITERIA.values()], rows)


def _total(chosen: Sequence[Mapping[str, list[float]]], method: str) -> str:
    hits = [n == each["truth"][0] for each in chosen for n in each.get(method, [])]
    return f"{np.mean(hits):.0%} of {len(hits)}" if hits else ""


def _machine(seconds: Mapping[str, list[float]]) -> str:
    rows = [[name, value] for name, value in setting().items()]
    rows += [[f"median seconds of {name}", f"{np.median(s):.2g}"] for name, s in seconds.items()]
    return "## Machine and versions\n\n" + _lines(["what", "which"], rows)
