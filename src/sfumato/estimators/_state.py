"""What copies, pickles and files of an estimator hold: no data, and values of plain types."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp
from sklearn.base import BaseEstimator

from sfumato._engines import is_lazy

AGAIN = {
    "labels_": "predict(X)",
    "memberships_": "predict_membership(X)",
    "outlier_scores_": "score_outliers(X)",
    "outliers_": "score_outliers(X) > 1",
    "probabilities_": "predict_proba(X).max(axis=1)",
}
"""Results for the rows of a fit, and how to compute them again."""
PARTS = ("data", "indices", "indptr", "shape")
"""What ``memberships_`` is made of."""


class CopiedState(BaseEstimator):
    """State of an estimator whose results may be lazy."""

    def __getattr__(self, name: str) -> Any:
        """Raise; for a result that a copy does not have, say how to compute it."""
        message = f"{type(self).__name__!r} object has no attribute {name!r}"
        if name in AGAIN and "cluster_centers_" in self.__dict__:
            message = (
                f"{name} is missing: after a fit to a stream or dask collection it refers to the "
                "data, so that pickles and copies of the estimator leave it out, and so do files "
                f"of sfumato.save without training_rows=True; use {AGAIN[name]} for the data X."
            )
        raise AttributeError(message)

    def __getstate__(self) -> dict[str, Any]:
        """State to pickle: without lazy results, which refer to the data.

        Memberships are arrays in a dict, since not every serializer trusts SciPy's types.
        """
        state = {name: v for name, v in super().__getstate__().items() if not is_lazy(v)}
        if "memberships_" in state:
            state["memberships_"] = {part: getattr(self.memberships_, part) for part in PARTS}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        stored = state.get("memberships_")
        if isinstance(stored, dict):
            data, indices, indptr, shape = (stored[part] for part in PARTS)
            memberships = sp.csr_array((data, indices, indptr), shape=shape)
            state = {**state, "memberships_": memberships}
        super().__setstate__(state)
