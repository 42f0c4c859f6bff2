"""scikit-learn's callbacks: a fit, its starts and their iterations as nested tasks.

scikit-learn has callbacks since 1.9, and calls them experimental. With an earlier version,
estimators have no ``set_callbacks``, and tasks are those of a tree that nobody watches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from sfumato._solvers.descent import IterationRecord
from sfumato._typing import Floats

__all__ = ["CallbackSupportMixin", "FitTask", "IterationTasks", "with_callbacks"]

try:
    from sklearn.callback import CallbackContext, CallbackSupportMixin, with_callbacks
except ModuleNotFoundError:

    class CallbackContext:  # type: ignore[no-redef]
        """A task that nobody watches, and all tasks within it."""

        def subcontext(self, task_name: str, *, max_subtasks: int = 0) -> Self:
            """Return the task itself, for a task within it."""
            return self

        def call_on_fit_task_begin(self, **_: Any) -> None:
            """Do nothing."""

        def call_on_fit_task_end(self, **_: Any) -> bool:
            """Let the tasks that would follow begin."""
            return False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Estimator whose tasks nobody watches."""

        def _init_callback_context(self, **_: Any) -> CallbackContext:
            return CallbackContext()

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method."""
        return method


@dataclass(frozen=True)
class FitTask:
    """A task of a fit.

    Attributes
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

    estimator: Any
    context: CallbackContext
    given: dict[str, Any]
    attributes: Callable[[Floats], dict[str, Any]]

    def begin(self) -> Self:
        """Begin the task."""
        self.context.call_on_fit_task_begin(estimator=self.estimator, **self.given)
        return self

    def begin_subtask(self, name: str, max_subtasks: int = 0) -> Self:
        """Begin a task within this one."""
        context = self.context.subcontext(name, max_subtasks=max_subtasks)
        return type(self)(self.estimator, context, self.given, self.attributes).begin()

    def end(self, centers: Floats) -> bool:
        """End the task with these centers; True if a callback stops the tasks that would follow."""
        stop: bool = self.context.call_on_fit_task_end(
            estimator=self.estimator,
            reconstruction_attributes=lambda: self.attributes(centers),
            **self.given,
        )
        return stop


class IterationTasks:
    """Observer of a descent that makes each iteration a task within a start.

    The first task is at the initial centers, so there is one more than steps of the centers.
    """

    def __init__(self, start: FitTask) -> None:
        self.start = start

    def begin(self) -> None:
        self.iteration = self.start.begin_subtask("iteration")

    def end(self, record: IterationRecord, centers: Floats) -> bool:
        return self.iteration.end(centers)
