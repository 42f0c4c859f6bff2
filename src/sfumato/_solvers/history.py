"""Records of iterations, with a short representation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato._solvers.descent import IterationRecord


class History(tuple["IterationRecord", ...]):
    """Records of the iterations of a fit, in their order: a tuple that is shown in one line.

    Examples
    --------
    >>> from sfumato import REFCMFS
    >>> REFCMFS(n_clusters=1, random_state=0).fit([[0.0], [1.0], [5.0]]).history_
    History(3 records, objective 5.15 to 5)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        if not self:
            return "History(no records)"
        records = "1 record" if len(self) == 1 else f"{len(self)} records"
        first, last = self[0].objective, self[-1].objective
        return f"History({records}, objective {first:.6g} to {last:.6g})"

    def __reduce__(self) -> tuple[type[History], tuple[Iterator[IterationRecord]]]:
        return History, (iter(tuple(self)),)
