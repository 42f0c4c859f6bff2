"""The graph of a pass: how the blocks of dask collections are loaded, worked on and added up.

What belongs to one block alone, from reading it to casting it, is done inside the task that works
on the block, as dask's own fusion does: one task per block and pass. Whatever several blocks need,
and blocks that the cluster holds already, stay tasks of their own.
"""

# mypy: allow-untyped-calls
# dask annotates some of its functions only.

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dask.core import get_deps
from dask.local import get_sync

from sfumato.data import csr_or_dense
from sfumato.engines.passes import Pass, Piece

FAN_IN = 16
"""Results that are added by one task."""
GROUP_BYTES = 1 << 20
"""Blocks that follow each other are worked on by one task until they have as many bytes."""
GROUP_BLOCKS = 64
"""And until they are as many: others may be on other workers, and results must be added."""
MOST_TASKS = 1000
"""Tasks of a pass over blocks of unknown or small sizes, about."""


@dataclass(frozen=True)
class Blocks:
    """Consecutive blocks that are loaded together, and how."""

    numbers: tuple[int, ...]
    rows: tuple[Any, ...]
    """Their keys."""
    weights: tuple[Any, ...]
    """Keys of their weights; none if all weights are one."""
    steps: Mapping[Any, Any]
    """The part of the graph that nothing else needs."""
    given: tuple[Any, ...]
    """Keys of what comes from other tasks."""

    def load(self, values: Sequence[Any]) -> Iterator[Piece]:
        """Pieces, from the values of what is given."""
        known = dict(zip(self.given, values, strict=True))
        loaded = known
        if self.steps:
            graph: dict[Any, Any] = {key: (_held, _Held(value)) for key, value in known.items()}
            keys = [*self.rows, *self.weights]
            found = get_sync(graph | dict(self.steps), keys)
            loaded = dict(zip(keys, found, strict=True))
        for place, number in enumerate(self.numbers):
            rows = csr_or_dense(loaded[self.rows[place]])
            weights = None
            if self.weights:
                weights = np.asarray(loaded[self.weights[place]], dtype=np.float64)
                if weights.shape != rows.shape[:1]:
                    raise ValueError(
                        f"Chunk {number} of X has {rows.shape[0]} rows, and that of sample_weight "
                        f"has shape {weights.shape}; give one weight per row, in the same chunks."
                    )
            yield Piece(rows, weights, number)


@dataclass(frozen=True)
class _Held:
    """A value in a graph that is not looked into, whatever it is."""

    value: Any


def _held(held: _Held) -> Any:
    return held.value


@dataclass(frozen=True)
class Added:
    """What some consecutive blocks yielded; None if they had no rows."""

    value: Any
    sizes: tuple[int, ...]
    """Rows of each block."""


@dataclass(frozen=True)
class Group:
    """Blocks that one task works on, part after part, so that only one is in memory."""

    parts: tuple[Blocks, ...]

    @property
    def given(self) -> list[Any]:
        """Keys of what comes from other tasks."""
        return [key for part in self.parts for key in part.given]

    def run(self, function: Pass, values: Sequence[Any]) -> Added:
        """What the blocks yield, added in their order."""
        total, sizes, used = None, [], 0
        for part in self.parts:
            taken = values[used : used + len(part.given)]
            used += len(part.given)
            for piece in part.load(taken):
                sizes.append(int(piece.rows.shape[0]))
                if sizes[-1]:
                    value = function(piece)
                    total = value if total is None else total + value
        return Added(total, tuple(sizes))


def run_group(function: Pass, group: Group, *values: Any) -> Added:
    """Task: a pass over a group."""
    return group.run(function, values)


def add(*results: Added) -> Added:
    """Task: consecutive results, added in their order."""
    total = None
    for result in results:
        if result.value is not None:
            total = result.value if total is None else total + result.value
    return Added(total, tuple(size for result in results for size in result.sizes))


@dataclass(frozen=True)
class Plan:
    """Everything of the graph of a pass that is the same in all passes."""

    groups: tuple[Group, ...]
    shared: Mapping[Any, Any]
    """Tasks beside those of the groups."""

    def graph(self, function: Pass, name: str) -> tuple[dict[Any, Any], Any]:
        """Graph of a pass, and the key of its result.

        The function is a node of its own, so that it goes to each worker once, and is there again
        if a worker is lost.
        """
        graph = dict(self.shared)
        of_all = f"function-{name}"
        graph[of_all] = function
        keys: list[Any] = [(name, number) for number in range(len(self.groups))]
        for key, group in zip(keys, self.groups, strict=True):
            graph[key] = (run_group, of_all, group, *group.given)
        level = 0
        while len(keys) > 1:
            level += 1
            parts = [keys[begin : begin + FAN_IN] for begin in range(0, len(keys), FAN_IN)]
            keys = [(f"add-{name}", level, number) for number in range(len(parts))]
            graph |= {key: (add, *part) for key, part in zip(keys, parts, strict=True)}
        return graph, keys[0]


def make_plan(
    graph: Mapping[Any, Any],
    futures: Mapping[Any, Any],
    rows: Sequence[Any],
    weights: Sequence[Any],
    groups: Sequence[range],
    together: bool,
) -> Plan:
    """Plan of passes.

    Parameters
    ----------
    graph : mapping
        Optimized graph of the blocks.
    futures : mapping
        Blocks that a cluster holds.
    rows, weights : sequence of keys
    groups : sequence of range
        Numbers of the blocks of each task.
    together : bool
        Whether the blocks of a group are small enough to be loaded at once.
    """
    graph = {**graph, **futures}
    needs, needed_by = get_deps(graph)
    owned: set[Any] = set()

    def blocks(numbers: range) -> Blocks:
        of_rows, of_weights = (tuple(keys[i] for i in numbers if keys) for keys in (rows, weights))
        own = _own({*of_rows, *of_weights}, needs, needed_by) - futures.keys()
        owned.update(own)
        given = {key for step in own for key in needs[step]} | {*of_rows, *of_weights}
        steps = {key: graph[key] for key in own}
        # Sorted, so that graphs are the same in every process.
        return Blocks(
            tuple(numbers), of_rows, of_weights, steps, tuple(sorted(given - own, key=str))
        )

    made = []
    for numbers in groups:
        parts = [numbers] if together else [range(i, i + 1) for i in numbers]
        made.append(Group(tuple(blocks(part) for part in parts)))
    shared = {key: step for key, step in graph.items() if key not in owned}
    return Plan(tuple(made), shared)


def _own(
    roots: set[Any], needs: Mapping[Any, set[Any]], needed_by: Mapping[Any, set[Any]]
) -> set[Any]:
    """Steps towards the roots that nothing else needs."""
    own: set[Any] = set()
    ready = [root for root in roots if not needed_by[root]]
    times: dict[Any, int] = {}
    while ready:
        step = ready.pop()
        own.add(step)
        for key in needs[step]:
            times[key] = times.get(key, 0) + 1
            if times[key] == len(needed_by[key]) and key not in roots:
                ready.append(key)
    return own


def group_blocks(n_blocks: int, sizes: Sequence[int] | None, row_bytes: float) -> list[range]:
    """Numbers of the blocks of each task: one, or several small ones that follow each other."""
    if sizes is None:
        step = -(-n_blocks // MOST_TASKS)
        return [range(i, min(i + step, n_blocks)) for i in range(0, n_blocks, step)]
    groups, begin, held = [], 0, 0.0
    most = max(GROUP_BLOCKS, -(-n_blocks // MOST_TASKS))
    for number, size in enumerate(sizes):
        held += size * row_bytes
        end = number + 1
        if held >= GROUP_BYTES or end - begin == most or end == n_blocks:
            groups.append(range(begin, end))
            begin, held = end, 0.0
    return groups
