"""What all presets share."""

from __future__ import annotations

from typing import Any

from sfumato.estimators._base import BaseFuzzyClustering


class Preset(BaseFuzzyClustering):
    """A method with a name: its parts are fixed, their parameters are its own."""

    def membership(self, X: Any) -> Any:
        """Memberships of each row, sparse; another name for ``predict_membership``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        memberships : csr_array of shape (n_samples, n_clusters)
        """
        return self.predict_membership(X)
