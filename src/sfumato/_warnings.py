"""Categories of warnings about a fit; public as attributes of ``sfumato.exceptions``.

They are in a module of their own, since scikit-learn is imported for one of their base classes,
and ``sfumato --help`` is quick without it.
"""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning


class ClusteringWarning(UserWarning):
    """A fit ended with a result that may not be what was meant.

    Base class of all warnings about a result. They are raised once, at the end of ``fit``, and stay
    in ``outcome_.warnings``. The message says what was found and what to do.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from sfumato import REFCMFS
    >>> from sfumato.exceptions import ClusteringWarning
    >>> X = np.random.default_rng(0).normal(size=(100, 3)) * [1e6, 1, 1]
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", ClusteringWarning)
    ...     model = REFCMFS(n_clusters=3, random_state=0).fit(X)
    >>> [warning.category.__name__ for warning in model.outcome_.warnings]
    ['DominantFeatureWarning']
    """


class NotConvergedWarning(ClusteringWarning, ConvergenceWarning):
    """The iteration stopped at ``max_iter``, before the objective settled."""


class UnstableFitWarning(ClusteringWarning, ConvergenceWarning):
    """Independent searches of one fit ended with different clusters."""


class FewRowsWarning(ClusteringWarning, ConvergenceWarning):
    """Fewer rows are distinct than there are clusters, so that some centers repeat others."""


class EmptyClusterWarning(ClusteringWarning):
    """A cluster has no rows, or almost none.

    No row, or far fewer than in an average cluster, is nearest to its center (and nearer than the
    cap, if the loss has one).
    """


class CoincidentCentersWarning(ClusteringWarning):
    """Two centers are in one place, so that their clusters cannot be told apart."""


class CollapseWarning(ClusteringWarning):
    """All memberships are alike, so that they say nothing about the rows."""


class FuzzifierRangeWarning(ClusteringWarning):
    """The fuzzifier that ``"auto"`` found is at an end of its range."""


class DominantFeatureWarning(ClusteringWarning):
    """One column has almost all of the variance, so that it alone makes the clusters."""


class UnitNormWarning(ClusteringWarning):
    """All rows are vectors of length one, so that distances are chords of the unit sphere."""


class MovedCentersWarning(ClusteringWarning):
    """A batch of ``partial_fit`` drew centers to other clusters, or far away from theirs."""
