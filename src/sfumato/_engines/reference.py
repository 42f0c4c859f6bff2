"""The reference engine: the specification of all passes, in plain NumPy, not optimized.

Computes in float64 for data of any precision.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato._engines.base import ResidentEngine
from sfumato._engines.tails import Tails
from sfumato._problem import Assignment, RowTerms, Statistics
from sfumato._typing import Floats


class ReferenceEngine(ResidentEngine):
    """Plain NumPy, one block of rows at a time."""

    def sweep(self, centers: Floats) -> Statistics:
        weights = self.data.weights_or_ones()
        total = Statistics.zero(*centers.shape)
        for block, rows in self.data.blocks():
            total = total + self._sweep_block(rows, weights[block], centers)
        return total

    def _sweep_block(self, rows: Floats, weights: Floats, centers: Floats) -> Statistics:
        terms = self.problem.terms(squared_distances(rows, centers))
        n_clusters = len(centers)

        def per_center(values: Floats) -> Floats:
            return spread(terms.indices, weights[:, None] * values, n_clusters)

        pulls = per_center(terms.pull)
        total = pulls.sum(axis=0)
        return Statistics(
            pull=pulls.T @ rows - total[:, None] * centers,
            weight=total,
            kink_force=per_center(terms.kink_force).sum(axis=0),
            objective=float(weights @ terms.objective),
        )

    def assign(
        self, centers: Floats, *, distances: bool = False, memberships: bool = True
    ) -> Assignment:
        weights = self.data.weights_or_ones()
        labels = np.empty(self.n_rows, dtype=np.int32)
        nearest = np.empty(self.n_rows, dtype=self.data.dtype)
        entries = []
        objective = 0.0
        for block, rows in self.data.blocks():
            sq_dist = squared_distances(rows, centers)
            terms = self.problem.terms(sq_dist)
            labels[block] = terms.indices[:, 0]
            nearest[block] = np.sqrt(sq_dist.min(axis=1))
            if memberships:
                entries.append(self._entries(terms, len(centers)))
            objective += float(weights[block] @ terms.objective)
        sparse = sp.csr_array(sp.vstack(entries, format="csr")) if memberships else None
        return Assignment(labels, nearest if distances else None, sparse, objective)

    def _entries(self, terms: RowTerms, n_clusters: int) -> sp.csr_array:
        """Memberships of a block as CSR; a rule without a fixed number stores nonzeros only."""
        fixed = self.problem.membership.n_entries(n_clusters)
        indices, memberships = terms.indices[:, :fixed], terms.memberships[:, :fixed]
        entries = sp.csr_array(
            (
                memberships.astype(self.data.dtype).ravel(),
                indices.astype(np.int32).ravel(),
                np.arange(len(indices) + 1) * indices.shape[1],
            ),
            shape=(len(indices), n_clusters),
        )
        entries.sort_indices()
        if fixed is None:
            entries.eliminate_zeros()
        return entries

    def distances(self, centers: Floats) -> Floats:
        distances = np.empty((self.n_rows, len(centers)), dtype=self.data.dtype)
        for block, rows in self.data.blocks():
            distances[block] = np.sqrt(squared_distances(rows, centers))
        return distances

    def scaled_distances(self, centers: Floats, units: Floats) -> Floats:
        smallest = np.empty(self.n_rows, dtype=self.data.dtype)
        for block, rows in self.data.blocks():
            with np.errstate(over="ignore"):  # Infinite, as in the compiled engine.
                smallest[block] = (np.sqrt(squared_distances(rows, centers)) / units).min(axis=1)
        return smallest

    def rarity(self, centers: Floats, tails: Tails) -> Floats:
        found = np.empty(self.n_rows)
        for block, rows in self.data.blocks():
            found[block] = tails.rarity(np.sqrt(squared_distances(rows, centers)))
        return found

    def mean_shift(self, points: Floats, mass: float) -> tuple[Floats, Floats]:
        weights = self.data.weights_or_ones()
        distances = self.distances(points).T.astype(np.float64)
        order = np.argsort(distances, axis=1, kind="stable")
        enough = np.cumsum(weights[order], axis=1) >= mass
        places = np.where(enough.any(axis=1), enough.argmax(axis=1), len(weights) - 1)
        last = np.take_along_axis(order, places[:, None], axis=1)
        radii = np.take_along_axis(distances, last, axis=1)
        near = sp.csr_array(np.where(distances <= radii, weights, 0.0))
        return self.data.means(near), radii[:, 0]

    def update_costs(self, costs: Floats, centers: Floats) -> None:
        for block, rows in self.data.blocks():
            losses = self.problem.loss.value(squared_distances(rows, centers))
            costs[block] = np.minimum(costs[block], losses.min(axis=1))

    def candidate_costs(
        self, costs: Floats, candidates: Floats, losses: Floats | None = None
    ) -> Floats:
        weights = self.data.weights_or_ones()
        totals = np.zeros(len(candidates))
        for block, rows in self.data.blocks():
            values = self.problem.loss.value(squared_distances(rows, candidates))
            totals += weights[block] @ np.minimum(costs[block, None], values)
            if losses is not None:
                losses[block] = values
        return totals


def squared_distances(rows: Floats, centers: Floats) -> Floats:
    """Squared distances by differences: exact where a row is close to a center."""
    sq_dist = np.empty((len(rows), len(centers)))
    for k, center in enumerate(centers):
        sq_dist[:, k] = ((rows - center) ** 2).sum(axis=1)
    return sq_dist


def spread(indices: NDArray[np.intp], values: Floats, n_clusters: int) -> Floats:
    """Dense (n_rows, n_clusters) array with the values at their centers, zero elsewhere."""
    dense = np.zeros((len(indices), n_clusters))
    np.put_along_axis(dense, indices, values, axis=1)
    return dense
