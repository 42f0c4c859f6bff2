"""scikit-learn's callbacks: a fit, its starts and their iterations as tasks that begin and end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from sklearn.callback import CallbackContext

from sfumato._solvers.descent import IterationRecord
from sfumato._typing import Floats


class FitTask:
    """A task of a fit. It begins when it is made.

    Parameters
    ----------
    estimator : estimator
        The estimator that is being fitted.
    context : CallbackContext
        Place of the task in the tree of tasks.
    given : dict
        Data and metadata, as they came from the user.
    attributes : callable
        From centers to the attributes with which a copy of the estimator can predict.
    """

    def __init__(
        self,
        estimator: Any,
        context: CallbackContext,
        given: dict[str, Any],
        attributes: Callable[[Floats], dict[str, Any]],
    ) -> None:
        self.estimator = estimator
        self.context = context
        self.given = given
        self.attributes = attributes
        context.call_on_fit_task_begin(estimator=estimator, **given)

    def subtask(self, name: str, max_subtasks: int = 0) -> Self:
        """Begin a task within this one."""
        context = self.context.subcontext(name, max_subtasks=max_subtasks)
        return type(self)(self.estimator, context, self.given, self.attributes)

    def end(self, centers: Floats) -> bool:
        """End the task with these centers; whether to stop here, rather than begin a next one."""
        stop: bool = self.context.call_on_fit_task_end(
            estimator=self.estimator,
            reconstruction_attributes=lambda: self.attributes(centers),
            **self.given,
        )
        return stop


class IterationTasks:
    """Observer of the loop that makes each iteration a task within a start."""

    def __init__(self, start: FitTask) -> None:
        self.start = start

    def begin(self) -> None:
        """Begin an iteration."""
        self.iteration = self.start.subtask("iteration")

    def end(self, record: IterationRecord, centers: Floats) -> bool:
        """End it; whether to stop."""
        return self.iteration.end(centers)
