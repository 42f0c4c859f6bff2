"""Laws of the outliers: uniform over the bounding box, or Cauchy variables in each column.

Near the clusters outliers may be rarer than around them, as rows in there belong to the clusters.
Then the Cauchy law has holes: balls around the clusters, of so many of their widths, in which it is
thinner. Without them, small clusters would have to be much denser than outliers that are not there,
and with one hole for all clusters, outliers between them would be clusters. How much of the law is
in the balls is counted, by points that fill the law evenly: a lattice [1]_.

References
----------
.. [1] H. Niederreiter, "Random Number Generation and Quasi-Monte Carlo Methods", SIAM 1992: the
   multiples of the square roots of primes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato._native import core
from sfumato._selection.rows import Rows
from sfumato._typing import Floats

OUTLIER_ROWS = 0.5
"""Rows that each law of outliers counts more than it has, so that its share stays positive."""
SCALES = (0.6, 0.75, 0.9, 1.0, 1.25)
"""Scales of the Cauchy law with holes that are tried, over that without. Chosen by hand."""
REACHES = (3.0, 4.0, 5.0, 6.0, 7.0, 8.5, 10.0)
"""Radii of holes that are tried, in widths of their clusters. Chosen by hand: nearly all rows of
a cluster are within three."""
THINNEST = 0.1
"""Density in a hole over that of the whole law, at least. Chosen by hand: a few outliers in an
empty hole would be a cluster."""
THIN = (THINNEST, 0.15, 0.25, 0.5)
"""Such densities that are tried, to begin with."""
POINTS = 2048
"""Points by which the part of the law in its holes is counted: it is right to some 0.01."""


class Holes(NamedTuple):
    """Balls around clusters.

    Attributes
    ----------
    centers : ndarray of shape (n_clusters, n_columns)
    widths : ndarray of shape (n_clusters,)
    reach : float
        Radius of each ball, in widths of its cluster; 0 if there are none.
    """

    centers: Floats
    widths: Floats
    reach: float = 0.0

    def distances(self, values: Floats) -> Floats:
        """Distance to the nearest cluster, in its widths."""
        if not len(self.widths):
            return np.full(len(values), np.inf)
        found, origin = np.empty(len(values)), np.zeros(values.shape[1])
        native = core.RowsFloat64.dense(values, origin)
        core.scaled_distances(native, np.ascontiguousarray(self.centers), self.widths, 1, found)
        return found

    def around(self, centers: Floats, widths: Floats) -> Holes:
        """Holes of the same reach around other clusters."""
        return Holes(centers, widths, self.reach)


class Outliers(NamedTuple):
    """Laws of the outliers.

    Attributes
    ----------
    shares : ndarray of shape (2,)
        Share of the rows that are uniform, and of those that are Cauchy variables.
    location : ndarray of shape (n_columns,)
        Middle of the Cauchy variables.
    scale : ndarray of shape (n_columns,)
        Their scale in each column, in its spread; at least 1, or they would be a cluster. The
        spread is that of all rows: where the clusters are in a line, outliers are wider than they
        in one column only.
    holes : Holes
        Where they are rarer.
    thin : float
        Density in there, over that of a Cauchy law.
    """

    shares: Floats
    location: Floats
    scale: Floats
    holes: Holes = Holes(np.empty((0, 0)), np.empty(0))
    thin: float = 1.0

    def scales(self, rows: Rows) -> Floats:
        """Scale of the Cauchy variables in each column."""
        return self.scale * rows.spread

    def far(self, rows: Rows) -> Floats:
        """Squared distances of rows to the location along each column, in spreads."""
        found: Floats = ((rows.values - self.location) / rows.spread) ** 2
        return found

    def log_heights(self, rows: Rows) -> tuple[float, Floats]:
        """Log-density of both laws, times their shares: the second as if rows were in its middle.

        There it depends on the row only if there are holes.
        """
        shares = np.log(self.shares)
        heights = np.full(len(rows.values), shares[1] - np.log(np.pi * self.scales(rows)).sum())
        if self.holes.reach > 0:
            inside, mass = self._within(rows.values), float(self._within(self._places(rows)).mean())
            heights += _thinned(inside, mass, self.thin)
        return float(rows.box + shares[0]), heights

    def fitted(self, rows: Rows, masses: Floats, weights: Floats, sums: Floats) -> Outliers:
        """Laws that fit the posteriors of both, which sum to masses; shares are numbers of rows.

        ``weights`` are the posteriors of the Cauchy law, ``sums`` those over rows; see
        ``components.Sums``. Rows that are missing in the holes are replaced by their expectation,
        as in EM for truncated samples.
        """
        found = self._replace(shares=masses + OUTLIER_ROWS)
        if masses[1] <= 1:
            return found
        pulls, pulled, squares = sums
        # One row in the middle, where the location of a few far rows would be anywhere.
        pulls, pulled = pulls + 2, pulled + 2 * rows.middle
        total = float(masses[1])
        if self.holes.reach > 0:
            places = self._places(rows)
            inside = self._within(places)
            thin = self._thinness(rows, weights, float(inside.mean()))
            found = found._replace(thin=thin)
            absent = inside.mean() * (1 - self.thin)
            missing = masses[1] * absent / (1 - absent) / max(1, inside.sum())
            places = places[inside]
            far = ((places - self.location) / self.scales(rows)) ** 2
            missed = 2 * missing / (1 + far)
            pulls = pulls + missed.sum(axis=0)
            pulled = pulled + (missed * places).sum(axis=0)
            squares = squares + (missed * far).sum(axis=0)
            total += missing * len(places)
        scale = self.scale * np.sqrt(squares / total)
        return found._replace(location=pulled / pulls, scale=np.maximum(1.0, scale))

    def _thinness(self, rows: Rows, weights: Floats, mass: float) -> float:
        """Density in the holes, over that of a Cauchy law, for weights of the rows."""
        inside = float(weights[self._within(rows.values)].sum())
        odds = (inside + OUTLIER_ROWS) / (float(weights.sum()) - inside + OUTLIER_ROWS)
        return float(np.clip(odds * (1 - mass) / max(mass, 1 / POINTS), THINNEST, 1.0))

    def with_holes(self, rows: Rows, others: Floats, holes: Holes) -> Outliers | None:
        """The likeliest law with holes of any reach; None if it gains less than they cost.

        ``others`` has the log-density of all other laws at each row.
        """
        cost = float(np.log(max(rows.total, 2.0))) - self.cost(rows)
        far = self.far(rows)
        before = self.log_heights(rows)[1] + _cauchy(far, self.scale)
        best, highest = None, float(rows.weights @ np.logaddexp(others, before)) + cost
        most, near = self.shares[1] * rows.total, holes.distances(rows.values)
        for scale in SCALES:
            law = self._replace(scale=np.maximum(1.0, scale * self.scale))
            logs = _cauchy(far, law.scale) + np.log(self.shares[1])
            logs -= np.log(np.pi * law.scales(rows)).sum()
            near_places = holes.distances(law._places(rows))
            for reach in REACHES:
                mass = float((near_places < reach).mean())
                if -most * np.log1p(-min(mass, 1 - 1e-12)) < cost:
                    continue  # It cannot gain more than that.
                for thin in THIN:
                    thinned = logs + _thinned(near < reach, mass, thin)
                    likelihood = float(rows.weights @ np.logaddexp(others, thinned))
                    if likelihood > highest:
                        found = holes._replace(reach=reach)
                        best, highest = law._replace(holes=found, thin=thin), likelihood
        return best

    def cost(self, rows: Rows) -> float:
        """What holes cost in the criterion: two parameters, of their reach and density."""
        return float(np.log(max(rows.total, 2.0))) if self.holes.reach > 0 else 0.0

    def _within(self, values: Floats) -> NDArray[np.bool_]:
        """Which values are in a hole."""
        return np.asarray(self.holes.distances(values) < self.holes.reach)

    def _places(self, rows: Rows) -> Floats:
        """Points that fill a Cauchy law of this location and scale evenly."""
        return self.location + self.scales(rows) * _even_points(rows.n_columns)


def _cauchy(far: Floats, scale: Floats) -> Floats:
    """Log-density of independent Cauchy variables over that in the middle."""
    found: Floats = -np.log1p(far / scale**2).sum(axis=1)
    return found


def _thinned(inside: NDArray[np.bool_], mass: float, thin: float) -> Floats:
    """What a law in whose holes is a part ``mass`` gains or loses in log-density at each row."""
    found: Floats = np.where(inside, np.log(thin), 0.0) - np.log1p(-mass * (1 - thin))
    return found


@lru_cache(maxsize=8)
def _even_points(n_columns: int) -> Floats:
    """Points that fill the standard law of independent Cauchy variables evenly."""
    primes = [n for n in range(2, 230) if all(n % k for k in range(2, n))][:n_columns]
    steps = np.arange(1, POINTS + 1)[:, None] * np.sqrt(primes)
    found: Floats = np.tan(np.pi * (steps % 1 - 0.5))
    found.flags.writeable = False
    return found
