"""Fuzzy c-means against scikit-fuzzy and fuzzy-c-means: the same steps, and the same objective.

For the same steps, the peers start from memberships, we start from the centers that these
memberships belong to. Their stopping is switched off, and the centers in the end are compared: all
have computed the same. For the same objective, everybody starts and stops by its own defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import StandardScaler

from benchmarks.harness.report import Goal, Report, measuring
from benchmarks.harness.shared import data_folder, load, timed
from sfumato import FuzzyCMeans, Power, Squared
from sfumato._engines import make_engine
from sfumato._problem import Problem
from sfumato._validation import check_fit_data

N_ROWS, N_FEATURES, N_CLUSTERS = 50_000, 32, 20
SPREAD = 3.0
"""Half the width of the box of the blobs; they overlap, so that no fit converges early."""
LIMIT = 15.0
"""Least ratio of the time of a peer to ours."""
TOLERANCES = (FuzzyCMeans().tol, 1e-8, 1e-10, 0.0)
"""Tolerances of ours, until its objective is that of a peer."""
ROUNDING = 1e-9
"""Relative difference of objectives that are the same but for rounding."""
DIFFERENCE_LIMIT = 1e-6
"""Largest difference of a coordinate of the centers; blobs have standard deviation one."""
INSTALL = {
    "scikit-fuzzy": "pip install scikit-fuzzy networkx packaging",
    "fuzzy-c-means": "pip install pydantic tqdm && pip install --no-deps 'fuzzy-c-means>=2.3'",
}
"""The second one requires numpy < 2, but works with numpy 2."""


def make_data(n_rows):
    """Rows of blobs, and centers to start from."""
    rng = np.random.default_rng(0)
    middles = rng.uniform(-SPREAD, SPREAD, size=(N_CLUSTERS, N_FEATURES))
    X = middles[rng.integers(N_CLUSTERS, size=n_rows)] + rng.normal(size=(n_rows, N_FEATURES))
    return X, X[:N_CLUSTERS] + 0.01


def sfumato(X, start, steps):
    """Centers after so many plain steps."""
    model = FuzzyCMeans(
        N_CLUSTERS, fuzzifier=2.0, init=start, tol=0, acceleration=None, max_iter=steps
    ).fit(X)
    assert model.n_iter_ == steps, "it must not stop early"
    return model.cluster_centers_


def memberships_at(X, start):
    """Memberships at the centers to start from."""
    _, model = timed(lambda: FuzzyCMeans(N_CLUSTERS, init=start, max_iter=1).fit(X))
    model.cluster_centers_ = start
    return model.predict_proba(X)


def scikit_fuzzy(X, memberships, steps):
    from skfuzzy.cluster import cmeans

    start = np.ascontiguousarray(memberships.T)
    rows = X.T

    def fit():
        centers, *_, n_steps, _ = cmeans(rows, N_CLUSTERS, 2.0, error=0, maxiter=steps, init=start)
        assert n_steps == steps, "it must not stop early"
        return centers

    return fit


def fuzzy_c_means(X, memberships, steps):
    from fcmeans import FCM

    class StartedFCM(FCM):
        def _init_u(self, X):  # It has no parameter for a start.
            self.u = memberships

    def fit():
        model = StartedFCM(n_clusters=N_CLUSTERS, m=2.0, max_iter=steps)
        model.error = 0.0  # Its constructor does not accept zero.
        model.fit(X)
        return model.centers

    return fit


PEERS: dict[str, Callable] = {"scikit-fuzzy": scikit_fuzzy, "fuzzy-c-means": fuzzy_c_means}


def measure(peer, X, start, steps, pairs):
    """Seconds of ours and of the peer, a row per pair, and the largest difference of centers."""
    fit = peer(X, memberships_at(X, start), steps)
    _, ours = timed(lambda: sfumato(X, start, steps))
    _, theirs = timed(fit)
    times = []
    for _ in range(pairs):
        seconds, _ = timed(lambda: sfumato(X, start, steps))
        times.append((seconds, timed(fit)[0]))
    return np.array(times), float(np.abs(ours - theirs).max())


def scikit_fuzzy_as_it_comes(X, n_clusters, seed):
    """Centers by the tolerance and the largest number of steps of its documentation."""
    from skfuzzy.cluster import cmeans

    return cmeans(X.T, n_clusters, 2.0, error=0.005, maxiter=1000, seed=seed)[0]


def fuzzy_c_means_as_it_comes(X, n_clusters, seed):
    from fcmeans import FCM

    model = FCM(n_clusters=n_clusters, random_state=seed)
    model.fit(X)
    return model.centers


AS_THEY_COME: dict[str, Callable] = {
    "scikit-fuzzy": scikit_fuzzy_as_it_comes,
    "fuzzy-c-means": fuzzy_c_means_as_it_comes,
}


def sets(quick: bool) -> Iterator[tuple[str, np.ndarray, int]]:
    """Rows and numbers of clusters: blobs, and two real sets."""
    yield f"blobs {N_ROWS:,} x {N_FEATURES}", make_data(N_ROWS)[0], N_CLUSTERS
    yield "digits", load_digits().data, 10
    usps = data_folder() / "usps.npz"
    if quick:
        return
    if usps.exists():
        yield "usps", load(usps).astype(np.float64), 10
    else:
        yield "breast cancer", StandardScaler().fit_transform(load_breast_cancer().data), 2


def objective_at(X, centers):
    """Objective of fuzzy c-means, r = 2, at some centers."""
    engine = make_engine(
        "native", check_fit_data(KMeans(), X, None), Problem(Squared(), Power(len(centers), 2.0)), 1
    )
    return engine.sweep(np.asarray(centers, dtype=np.float64)).objective


def until(X, n_clusters, seed, objective):
    """Fit of ours that ends at an objective or below: as it comes, or with a smaller tolerance."""
    for tol in TOLERANCES:
        seconds, model = timed(
            lambda tol=tol: FuzzyCMeans(n_clusters, random_state=seed, tol=tol, max_iter=2000).fit(
                X
            )
        )
        if model.objective_ <= (1 + ROUNDING) * objective:
            break
    return seconds, model.objective_


def to_the_same_objective(report: Report, quick: bool) -> None:
    """Add the table of times until the objective that a peer ends at."""
    header = ["data, clusters", "peer", "sfumato ms", "peer ms", "times faster", "at least"]
    table = report.begin(*header, "our objective / that of the peer")
    for name, X, n_clusters in sets(quick):
        for peer, fit in AS_THEY_COME.items():
            measuring(f"{name}: {peer}")
            try:
                fit(X[:100], 2, 0)
            except ImportError:
                continue  # The first table says so.
            times, objectives = [], []
            for seed in range(1 if quick else 3):
                theirs, centers = timed(partial(fit, X, n_clusters, seed))
                goal = objective_at(X, centers)
                ours, objective = until(X, n_clusters, seed, goal)
                times.append((ours, theirs))
                objectives.append(objective / goal)
            factor = float(np.median([theirs / ours for ours, theirs in times]))
            ms = (f"{1e3 * value:.0f}" for value in np.median(times, axis=0))
            where, worst = f"{name}, {n_clusters}", f"{max(objectives):.6f}"
            table.add(where, peer, *ms, f"{factor:.1f}", f"{LIMIT}", worst)
            report.cells.append(Goal(f"{where}: {peer}", factor, LIMIT, "at least"))
            what = f"{where}: objective over that of {peer}"
            report.goals.append(Goal(what, max(objectives), 1 + ROUNDING))


def run(quick: bool) -> Report:
    steps, pairs = (10, 3) if quick else (20, 7)
    how = (
        f"`FuzzyCMeans({N_CLUSTERS})`, r = 2, on {N_ROWS:,} x {N_FEATURES} float64 rows of "
        f"overlapping blobs: {steps} steps from the same start, stopping switched off. Times are "
        "those of whole calls, measured in turn; a call of ours also returns labels and "
        f"memberships. The factor is the median over {pairs} pairs. Below, the same objective: "
        "everybody starts and stops as it comes (scikit-fuzzy by the tolerance of its "
        "documentation), and ours is the time of a whole fit that ends at the objective of the "
        "peer or below, with a smaller `tol` if need be; medians over 3 seeds."
    )
    report = Report(
        "fcm", "Fuzzy c-means against its peers", how, quick, "times faster (limit: at least)"
    )
    header = ["peer", "sfumato ms", "peer ms", "times faster", "at least"]
    table = report.begin(*header, "largest difference of centers")
    X, start = make_data(N_ROWS)
    for name, peer in PEERS.items():
        measuring(name)
        try:
            times, difference = measure(peer, X, start, steps, pairs)
        except ImportError as error:
            table.add(name, f"cannot be imported ({error.name}): `{INSTALL[name]}`", *[""] * 4)
            continue
        factor = float(np.median(times[:, 1] / times[:, 0]))
        ours, theirs = (f"{1e3 * value:.0f}" for value in np.median(times, axis=0))
        table.add(name, ours, theirs, f"{factor:.1f}", f"{LIMIT}", f"{difference:.1e}")
        report.cells.append(Goal(name, factor, LIMIT, "at least"))
        report.goals.append(Goal(f"difference to {name}", difference, DIFFERENCE_LIMIT))
    to_the_same_objective(report, quick)
    return report
