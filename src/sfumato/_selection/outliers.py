"""Laws of the outliers: uniform over the bounding box, or Cauchy variables in each column.

Where all clusters are, outliers may be rarer than far around them, as rows in there belong to the
clusters. Then the Cauchy law has a hole: a box around its middle in which it is thinner. Without
it, small clusters would have to be much denser than outliers that are not there.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from sfumato._selection.rows import Rows
from sfumato._typing import Floats

OUTLIER_ROWS = 0.5
"""Rows that each law of outliers counts more than it has, so that its share stays positive."""
SCALES = (0.6, 0.75, 0.9, 1.0, 1.25)
"""Scales of the Cauchy law with a hole that are tried, over that without. Chosen by hand."""
HOLES = (1.0, 1.3, 1.6, 2.0, 2.5, 3.0, 4.0)
"""Half-widths of holes that are tried, in spreads of the columns. Chosen by hand: half of the rows
are within one."""
THINNEST = 0.1
"""Density in a hole over that of the whole law, at least. Chosen by hand: a few outliers in an
empty hole would be a cluster."""
THIN = (THINNEST, 0.15, 0.25, 0.5)
"""Such densities that are tried, to begin with."""


class Outliers(NamedTuple):
    """Laws of the outliers.

    Attributes
    ----------
    shares : ndarray of shape (2,)
        Share of the rows that are uniform, and of those that are Cauchy variables.
    location : ndarray of shape (n_columns,)
        Middle of the Cauchy variables.
    scale : float
        Their scale, in spreads of the columns; at least 1, or they would be a cluster.
    hole : float
        Half-width of the box around the location in which they are rarer, in spreads of the
        columns; 0 if there is none.
    thin : float
        Density in there, over that of a Cauchy law.
    """

    shares: Floats
    location: Floats
    scale: float
    hole: float = 0.0
    thin: float = 1.0

    def log_densities(self, rows: Rows, far: Floats) -> Floats:
        """Log-density of both laws, of shape (n_rows, 2), times their shares.

        ``far`` has the squared distances to the location along each column, in spreads.
        """
        logs = np.empty((len(far), 2))
        logs[:, 0] = rows.box
        logs[:, 1] = _cauchy(rows, far, self.scale)
        if self.hole > 0:
            logs[:, 1] += np.where(_within(far, self.hole), np.log(self.thin), 0.0)
            logs[:, 1] -= np.log1p(-_mass(self, rows.n_columns) * (1 - self.thin))
        logs += np.log(self.shares)
        return logs

    def fitted(self, rows: Rows, far: Floats, posteriors: Floats) -> Outliers:
        """Laws that fit the posteriors of both; their shares are numbers of rows.

        Rows that are missing in the hole are replaced by their expectation, as in EM for truncated
        samples.
        """
        masses = np.maximum(posteriors.sum(axis=0), 1e-12)
        found = self._replace(shares=masses + OUTLIER_ROWS)
        if masses[1] <= 1:
            return found
        weights, columns, square = posteriors[:, 1], rows.n_columns, self.scale**2
        pulls = 2 * weights[:, None] / (1 + far / square)
        missing, near = 0.0, 1.0
        if self.hole > 0:
            absent = _mass(self, columns) * (1 - self.thin)
            missing = masses[1] * absent / (1 - absent)
            near = float(np.sinc(2 / np.pi * np.arctan(self.hole / self.scale)))
            found = found._replace(thin=self._thinness(rows, far, weights))
        # One row in the middle, where the location of a few far rows would be anywhere.
        location = (pulls * rows.values).sum(axis=0) + 2 * rows.middle
        location += missing * (1 + near) * self.location
        location /= pulls.sum(axis=0) + 2 + missing * (1 + near)
        squares = (pulls * far).sum() + columns * missing * (1 - near) * square
        scale = float(np.sqrt(squares / columns / (masses[1] + missing)))
        return found._replace(location=location, scale=max(1.0, scale))

    def _thinness(self, rows: Rows, far: Floats, weights: Floats) -> float:
        """Density in the hole, over that of a Cauchy law, for weights of the rows."""
        inside = float(weights[_within(far, self.hole)].sum())
        odds = (inside + OUTLIER_ROWS) / (float(weights.sum()) - inside + OUTLIER_ROWS)
        mass = _mass(self, rows.n_columns)
        return float(np.clip(odds * (1 - mass) / mass, THINNEST, 1.0))

    def with_hole(self, rows: Rows, far: Floats, others: Floats) -> Outliers | None:
        """The likeliest law with another hole; None if it gains less than it costs.

        ``others`` has the log-density of all other laws at each row.
        """
        cost = float(np.log(max(rows.total, 2.0))) - self.cost(rows)
        best, highest = None, self._likelihood(rows, far, others) + cost
        most = self.shares[1] * rows.total
        for scale, hole in product(SCALES, HOLES):
            tried = self._replace(scale=max(1.0, scale * self.scale), hole=hole)
            if -most * np.log1p(-_mass(tried, rows.n_columns)) < cost:
                continue  # It cannot gain more than that.
            for thin in THIN:
                likelihood = tried._replace(thin=thin)._likelihood(rows, far, others)
                if likelihood > highest:
                    best, highest = tried._replace(thin=thin), likelihood
        return best

    def cost(self, rows: Rows) -> float:
        """What a hole costs in the criterion: two parameters."""
        return float(np.log(max(rows.total, 2.0))) if self.hole > 0 else 0.0

    def _likelihood(self, rows: Rows, far: Floats, others: Floats) -> float:
        """Log-likelihood of the rows, with other laws beside the Cauchy law."""
        logs = self.log_densities(rows, far)[:, 1]
        return float(rows.weights @ np.logaddexp(others, logs))


def _cauchy(rows: Rows, far: Floats, scale: float) -> Floats:
    """Log-density of independent Cauchy variables."""
    found: Floats = -np.log1p(far / scale**2).sum(axis=1)
    found -= np.log(np.pi * scale * rows.spread).sum()
    return found


def _within(far: Floats, hole: float) -> np.ndarray:
    """Which rows are in a hole."""
    return np.asarray(far.max(axis=1) < hole**2)


def _mass(outliers: Outliers, n_columns: int) -> float:
    """Share of a Cauchy law in its hole, were that as dense."""
    return float((2 / np.pi * np.arctan(outliers.hole / outliers.scale)) ** n_columns)
