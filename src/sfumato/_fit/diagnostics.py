"""The outcome of a fit: why it stopped, and what in its result deserves a warning.

Everything is found from the fixed sample that the radii of the clusters are estimated from. Only
where a cluster has few rows in the sample, its rows are counted in a pass over all of them.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray

from sfumato import _warnings
from sfumato._data import Data
from sfumato._engines.base import ResidentEngine
from sfumato._fit.columns import dominant_column, has_unit_norms
from sfumato._fit.fit import FitResult
from sfumato._problem import Assignment
from sfumato._solvers.descent import StopReason
from sfumato._solvers.refill import coincident_pairs, nearly_empty, rows_per_cluster
from sfumato._warnings import (
    ClusteringWarning,
    CoincidentCentersWarning,
    CollapseWarning,
    DominantFeatureWarning,
    EmptyClusterWarning,
    FewRowsWarning,
    FuzzifierRangeWarning,
    MovedCentersWarning,
    NotConvergedWarning,
    UnitNormWarning,
    UnstableFitWarning,
)
from sfumato.exceptions import Given, Message, Option
from sfumato.memberships import Membership

LEAST_ROWS = 20
"""Rows below which columns and norms are not judged: so few may be alike by chance. Chosen by
hand."""
ALIKE = 0.05
"""Relative excess of the mean largest membership over that of equal ones, up to which all are
alike. Chosen by hand; where two clusters can be told apart it is several times larger."""
STABLE = 0.9
"""Adjusted Rand index of the best two searches, below which they count as different. Chosen by
hand: differences of a few rows between overlapping clusters stay above."""
NAMED = 5
"""Clusters that a message names. Chosen by hand."""
LIBRARIES = str(Path(__file__).parents[1]), str(Path(sklearn.__file__).parent)
"""Folders of this library and of scikit-learn, whose lines a warning does not point at."""


@dataclass(frozen=True)
class FitWarning:
    """A warning about the result of a fit.

    Attributes
    ----------
    category : type
        Category, from ``sfumato.exceptions``.
    message : Message
        What was found, and what to do; a string that knows where it names parameters.
    """

    category: type[ClusteringWarning]
    message: Message

    def __post_init__(self) -> None:
        # Files hold its text alone.
        object.__setattr__(self, "message", Message(self.message))

    def __str__(self) -> str:
        return f"{self.category.__name__}: {self.message}"


@dataclass(frozen=True, repr=False)
class Outcome:
    """Why a fit stopped, and the warnings about its result; as a string, with advice.

    Attributes
    ----------
    reason : StopReason
        Why the iteration stopped.
    warnings : tuple of FitWarning
        Warnings that the fit has raised, each with its category and message.
    stability : float or None
        Agreement of independent searches, between 0 and 1, if there were several.

    Examples
    --------
    >>> from sfumato import REFCMFS
    >>> model = REFCMFS(n_clusters=1, random_state=0).fit([[0.0], [1.0], [5.0]])
    >>> print(model.outcome_)
    Converged: the objective fell by less than `tol` of its value.
    >>> model.outcome_.converged
    True
    >>> model.outcome_.warnings
    ()
    """

    reason: StopReason
    warnings: tuple[FitWarning, ...] = ()
    stability: float | None = None

    @property
    def converged(self) -> bool:
        """Whether the stopping rule was met, rather than a limit or a callback."""
        return self.reason.converged

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain values, e.g. for JSON."""
        return {
            "reason": self.reason.name,
            "text": str(self.reason),
            "converged": self.converged,
            "stability": self.stability,
            "warnings": [
                {"category": each.category.__name__, "message": str(each.message)}
                for each in self.warnings
            ],
        }

    def __getstate__(self) -> dict[str, Any]:
        """State of plain values, since not every serializer knows enumerations and classes."""
        plain = self.to_dict()
        return {name: plain[name] for name in ("reason", "warnings", "stability")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        found = [
            FitWarning(getattr(_warnings, each["category"]), each["message"])
            for each in state["warnings"]
        ]
        values = {"reason": StopReason[state["reason"]], "warnings": tuple(found)}
        vars(self).update(values, stability=state["stability"])

    def __repr__(self) -> str:
        stable = "" if self.stability is None else f", stability={self.stability:.3g}"
        return f"Outcome({self.reason.name}, warnings={len(self.warnings)}{stable})"

    def __str__(self) -> str:
        # The reason has the advice of this category already.
        others = (each for each in self.warnings if each.category is not NotConvergedWarning)
        return "\n".join([str(self.reason), *map(str, others)])


def outcome_of(
    result: FitResult,
    sample: ResidentEngine,
    seen: Assignment,
    n_distinct: int,
    names: Sequence[str] | None = None,
) -> Outcome:
    """Outcome of a fit.

    Parameters
    ----------
    result : FitResult
    sample : ResidentEngine
        Engine on the fixed sample, or on all rows.
    seen : Assignment
        Assignment of the sample at the centers found, with distances and memberships.
    n_distinct : int
        Number of distinct rows of positive weight, as far as the number of clusters. If fewer, the
        warning about them explains all that is found about the clusters.
    names : sequence of str, optional
        Names of the columns.
    """
    reason = result.solution.outcome
    found: list[FitWarning] = []
    if reason is StopReason.OUT_OF_ITERATIONS:
        found.append(FitWarning(NotConvergedWarning, reason.value))
    n_clusters = len(result.solution.centers)
    if n_distinct < n_clusters:
        found.append(few_rows(n_distinct, n_clusters))
    else:
        found += _about_clusters(result, sample, seen)
        if result.clipped is not None:
            found.append(clipped_fuzzifier(result.engine.problem.membership, result.clipped))
    found += _about_rows(sample.data, names)
    return Outcome(reason, tuple(found), result.stability)


def raise_warnings(estimator: Any, found: Sequence[FitWarning]) -> None:
    """Raise warnings, at the line of the user's that called the estimator."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(LIBRARIES):
        level, frame = level + 1, frame.f_back
    for each in found:
        message = Message(f"{type(estimator).__name__}: ", each.message)
        warnings.warn(message, each.category, stacklevel=level)


def warn_of_batch(estimator: Any, held: NDArray[np.intp], far: NDArray[np.intp]) -> None:
    """Warn of centers that a batch drew to others, or far away."""
    found = []
    advice = Message(
        "look for outliers and large weights in it, give larger batches, or a smaller ",
        Given("decay", estimator.decay),
        ".",
    )
    if len(held):
        found.append(
            "this batch outweighs all that was learned before, and would have drawn the centers "
            f"{_listed([*map(str, held)])} to the places of others; they stayed: "
        )
    if len(far):
        found.append(
            f"this batch moved the centers {_listed([*map(str, far)])} farther than to the next "
            "center, so that they may have left their clusters: "
        )
    said = [FitWarning(MovedCentersWarning, Message(text, advice)) for text in found]
    raise_warnings(estimator, said)


def _about_clusters(
    result: FitResult, sample: ResidentEngine, seen: Assignment
) -> Iterator[FitWarning]:
    """Warnings about memberships that are alike, clusters that are, empty ones, and other searches.

    Where memberships are alike or centers are in one place, labels are arbitrary, and independent
    searches differ for this reason.
    """
    centers = result.solution.centers
    collapsed = collapse(sample, seen)
    if collapsed is not None:
        yield collapsed
        return
    pairs = coincident_pairs(centers, sample, seen)
    if len(pairs):
        yield coincident_centers(pairs, len(centers), sample.problem.membership)
    elif result.stability is not None and result.stability < STABLE:
        yield unstable_fit(result.stability)
    rows = rows_per_cluster(result.engine, centers, (sample, seen))
    # Of two centers in one place, the second is nearest to no row.
    empty = np.setdiff1d(nearly_empty(rows), pairs[:, 1])
    if len(empty):
        yield empty_clusters(empty, rows, result.engine.problem.loss.bounded)


def collapse(sample: ResidentEngine, seen: Assignment) -> FitWarning | None:
    """Warning if all memberships of the rows within the cutoff are alike."""
    rule, weights = sample.problem.membership, sample.data.weights_or_ones()
    inside = np.flatnonzero((seen.distances < sample.problem.loss.cutoff) & (weights > 0))
    n_clusters = seen.memberships.shape[1]
    possible = rule.n_entries(n_clusters) or n_clusters
    if possible == 1 or not len(inside):
        return None
    memberships = seen.memberships[inside]
    filled = np.flatnonzero(np.diff(memberships.indptr))
    largest = np.zeros(len(inside))
    largest[filled] = np.maximum.reduceat(memberships.data, memberships.indptr[filled])
    mean = float(np.average(largest, weights=weights[inside]))
    if mean * possible > 1 + ALIKE:
        return None
    message = Message(
        f"all memberships are alike: the largest of a row is {mean:.3g} on average, where "
        f"{possible} equal ones are {1 / possible:.3g}, and the centers are drawn together; ",
        harder(rule),
        ", or use REFCMFS with ",
        Option("fuzzifier", "auto"),
        ".",
    )
    return FitWarning(CollapseWarning, message)


def harder(rule: Membership) -> Message:
    """Advice how to make the memberships of a rule harder, with the present value."""
    for name in ("fuzzifier", "gamma"):
        value = getattr(rule, name, None)
        if value is not None:
            return Message("lower ", Option(name), f", which is {value:.4g}")
    if hasattr(rule, "n_active"):
        return Message("lower ", Option("n_active"))
    return Message("give other initial centers")


def coincident_centers(pairs: NDArray[np.intp], n_clusters: int, rule: Membership) -> FitWarning:
    """Warning about pairs of centers in one place."""
    place = np.arange(n_clusters)  # Lowest index of a center in the same place.
    np.minimum.at(place, pairs[:, 1], pairs[:, 0])
    groups = [np.flatnonzero(place == k) for k in np.setdiff1d(pairs[:, 0], pairs[:, 1])]
    text = "; ".join(_listed([str(k) for k in group], " and ") for group in groups[:NAMED])
    fewer = n_clusters - len(np.unique(pairs[:, 1]))
    message = Message(
        f"centers {text} are in one place, so that only {fewer} of {n_clusters} clusters differ; "
        "use ",
        Option("n_clusters", fewer),
        ", or ",
        harder(rule),
        ".",
    )
    return FitWarning(CoincidentCentersWarning, message)


def few_rows(count: int, n_clusters: int) -> FitWarning:
    """Warning that fewer rows are distinct than there are clusters."""
    rows = "row" if count == 1 else "rows"
    message = Message(
        f"X has only {count} distinct {rows} of positive weight, fewer than ",
        Given("n_clusters", n_clusters),
        ", so that some clusters have no rows and their centers repeat others; use ",
        Option("n_clusters"),
        f" <= {count}.",
    )
    return FitWarning(FewRowsWarning, message)


def empty_clusters(
    empty: NDArray[np.intp], rows: NDArray[np.integer], bounded: bool = False
) -> FitWarning:
    """Warning about clusters with no rows, or almost none."""
    counts = [{0: "no row", 1: "1 row"}.get(int(rows[k]), f"{rows[k]} rows") for k in empty]
    have = _listed([f"cluster {k} has {each}" for k, each in zip(empty, counts, strict=True)])
    advised = rows[empty].any() and not bounded
    outliers = "; if these rows are outliers, use CappedREFCMFS" if advised else ""
    message = Message(
        f"{have}, where an average one has {rows.mean():.0f}; use ",
        Option("n_clusters", max(1, len(rows) - len(empty))),
        ", or more starts (",
        Option("n_init"),
        f"){outliers}.",
    )
    return FitWarning(EmptyClusterWarning, message)


def unstable_fit(stability: float) -> FitWarning:
    """Warning that independent searches have ended with different clusters."""
    message = Message(
        "searches from independent seeds ended with different clusters (adjusted Rand index "
        f"{stability:.2f}), so that others may come with another ",
        Option("random_state"),
        "; give more starts (",
        Option("n_init", 30),
        ") and keep the best, or another ",
        Option("n_clusters"),
        ".",
    )
    return FitWarning(UnstableFitWarning, message)


def clipped_fuzzifier(rule: Membership, end: str) -> FitWarning:
    """Warning that the fuzzifier was clipped at the "lower" or the "upper" end of its range."""
    value = float(rule.get_params()["fuzzifier"])
    advice = {
        "lower": Message(
            "memberships are nearly hard; give a larger one, e.g. ",
            Option("fuzzifier", 1.1),
            ", if clusters overlap.",
        ),
        "upper": Message(
            "memberships are as soft as for clusters of one dimension; check the data for outliers "
            "and for columns of other units, or give a smaller one, e.g. ",
            Option("fuzzifier", 1.5),
            ".",
        ),
    }
    found = f" found {value:.4g}, the {end} end of its range: "
    message = Message(Given("fuzzifier", "auto"), found, advice[end])
    return FitWarning(FuzzifierRangeWarning, message)


def _about_rows(data: Data, names: Sequence[str] | None) -> Iterator[FitWarning]:
    """Warnings about the variances of columns and the norms of rows."""
    kept = np.flatnonzero(data.weights_or_ones() > 0)
    if len(kept) < LEAST_ROWS or data.n_features < 2:
        return
    if len(kept) < data.n_rows:
        data = data.take(kept)
    found = dominant_column(data)
    if found is not None:
        column, share, ratio = found
        name = f"column {column}" if names is None else f"column {names[column]!r}"
        message = Message(
            f"{name} has {100 * share:.4g} % of the variance of all {data.n_features} columns, a "
            f"standard deviation {ratio:.2g} times that of the next, so that it makes the clusters "
            "alone; unless that is meant, scale the columns first: StandardScaler, or RobustScaler "
            "if there are outliers."
        )
        yield FitWarning(DominantFeatureWarning, message)
    # On a circle, outliers do not crowd together as on spheres of more dimensions.
    if data.n_features > 2 and has_unit_norms(data):
        message = Message(
            "all rows are vectors of length 1, so that distances are chords, sqrt(2 - 2 cosine), "
            "and none exceeds 2: do not scale the columns; rows far from all clusters are little "
            "farther than others, so look at `outlier_scores_` beside `outliers_`."
        )
        yield FitWarning(UnitNormWarning, message)


def _listed(items: list[str], last: str = ", ") -> str:
    """Items with commas between; the first few of many."""
    if len(items) > NAMED:
        return ", ".join(items[:NAMED]) + f" and {len(items) - NAMED} more"
    return last.join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)
