"""Fuzzy c-means against scikit-fuzzy and fuzzy-c-means: same start, same number of steps.

The peers start from memberships, we start from the centers that these memberships belong to. Their
stopping is switched off, and the centers in the end are compared: all have computed the same.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.harness.report import Goal, Report, measuring
from benchmarks.harness.shared import timed
from sfumato import FuzzyCMeans

N_ROWS, N_FEATURES, N_CLUSTERS = 50_000, 32, 20
SPREAD = 3.0
"""Half the width of the box of the blobs; they overlap, so that no fit converges early."""
LIMIT = 15.0
"""Least ratio of the time of a peer to ours."""
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


def run(quick: bool) -> Report:
    steps, pairs = (10, 3) if quick else (20, 7)
    how = (
        f"`FuzzyCMeans({N_CLUSTERS})`, r = 2, on {N_ROWS:,} x {N_FEATURES} float64 rows of "
        f"overlapping blobs: {steps} steps from the same start, stopping switched off. Times are "
        "those of whole calls, measured in turn; a call of ours also returns labels and "
        f"memberships. The factor is the median over {pairs} pairs."
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
    return report
