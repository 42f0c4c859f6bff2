"""Clusterings for reports, from plain to hostile."""

import numpy as np

from sfumato import REFCMFS, CappedREFCMFS

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "{{ 7 * 7 }}{% raw %}",
    "\u202eright to left \u0627\u0644\u0639\u0631\u0628\u064a\u0629",
    "n" * 10_000,
    "two\nlines\tand \x00 control",
    "' onmouseover='alert(3)",
    '" onfocus="alert(4)" autofocus="',
]
"""Names of features that must stay text."""


def customers(n_rows=900, seed=0):
    """Three groups of customers, and two rows far away."""
    rng = np.random.default_rng(seed)
    centers = np.array([[30.0, 25, 2], [60, 45, 9], [22, 70, 1]])
    spreads = np.array([5.0, 4, 1])
    X = np.vstack([rng.normal(c, spreads, size=(n_rows // 3, 3)) for c in centers])
    return np.vstack([X, [[300.0, 45, 9], [30, 25, 90]]]) / spreads


NAMES = ["income", "age", "visits"]


def fitted(n_clusters="auto"):
    X = customers()
    return CappedREFCMFS(n_clusters, random_state=0).fit(X), X


def with_hostile_names():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(8 * k, 1, size=(60, len(HOSTILE))) for k in range(3)])
    return REFCMFS(3, random_state=0).fit(X), X


def many_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 10_000))
    X[:30, :5] += 20
    return REFCMFS(2, random_state=0).fit(X), X


def many_clusters():
    centers = 40 * np.random.default_rng(0).normal(size=(500, 4))
    X = np.repeat(centers, 4, axis=0)
    X += np.random.default_rng(1).normal(size=X.shape)
    return REFCMFS(500, init=centers, n_init=1, random_state=0).fit(X), X


def one_cluster():
    X = np.random.default_rng(0).normal(size=(80, 3))
    return REFCMFS(1, random_state=0).fit(X), X


def all_outliers():
    model, X = fitted(3)
    return model, X[:10] + 1e4


def one_row():
    return REFCMFS(1, random_state=0).fit([[1.0, 2.0]]), np.array([[1.0, 2.0]])


def one_feature():
    X = np.random.default_rng(0).normal(size=(60, 1)) + 9 * (np.arange(60) % 2)[:, None]
    return REFCMFS(2, random_state=0).fit(X), X


def constant_rows():
    return REFCMFS(2, random_state=0).fit([[1.0, 2], [1, 2], [5, 6]]), np.full((7, 2), 5.0)


ODD = {
    "hostile names": with_hostile_names,
    "10,000 features": many_features,
    "500 clusters": many_clusters,
    "one cluster": one_cluster,
    "all outliers": all_outliers,
    "one row": one_row,
    "one feature": one_feature,
    "constant rows": constant_rows,
}
