"""The graph of a pass: how the blocks of dask collections are loaded, worked on and added up.

Values of blocks are added along a tree whose shape depends on the number of blocks alone: sixteen
consecutive ones, then sixteen such sums, and so on. Which task works on which blocks is another
matter: whoever has all parts of a sum adds them, always in their order, so that the result has the
same bits for any number of workers and tasks. A task works on several blocks, one after the other,
since a task costs milliseconds; blocks that the cluster holds are worked on where they are.

What belongs to one block alone, from reading it to casting it, is done inside the task that works
on the block, as dask's own fusion does. Whatever several blocks need stays a task of its own.
"""

# mypy: allow-untyped-calls
# dask annotates some of its functions only.

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import numpy as np
from dask.core import get_deps
from dask.local import get_sync

from sfumato._data import Piece, csr_or_dense
from sfumato._engines.passes import Pass

FAN_IN = 16
"""Parts of a sum, and results that are brought together by one task."""
TASKS_PER_THREAD = 4
"""Tasks of a pass; more would even out differences between workers, and cost more."""
LOADED_BYTES, LOADED_BLOCKS = 1 << 20, 64
"""Small blocks that are loaded together."""


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
    """Sums of what some blocks yielded, as far as their parts are together; they add.

    Attributes
    ----------
    n_blocks : int
        Of the whole collection.
    sums : dict
        By level and place in the tree of sums; None where blocks have no rows.
    sizes : dict
        Rows of each block.
    """

    n_blocks: int
    sums: Mapping[tuple[int, int], Any]
    sizes: Mapping[int, int]

    def __add__(self, other: Added) -> Added:
        sums = {**self.sums, **other.sums}
        width, level = self.n_blocks, 0
        while width > 1:
            for parent in sorted({place // FAN_IN for depth, place in sums if depth == level}):
                places = range(parent * FAN_IN, min((parent + 1) * FAN_IN, width))
                parts = [(level, place) for place in places]
                if all(part in sums for part in parts):
                    sums[level + 1, parent] = _total(sums.pop(part) for part in parts)
            width, level = -(-width // FAN_IN), level + 1
        return Added(self.n_blocks, _trimmed(sums), {**self.sizes, **other.sizes})

    @property
    def value(self) -> Any:
        """Sum over all blocks; None if they have no rows."""
        (found,) = self.sums.values()
        return found


def _trimmed(sums: dict[tuple[int, int], Any]) -> dict[tuple[int, int], Any]:
    """Sums without what will not be in their total, where they know of such: draws do."""
    places = [place for place, part in sums.items() if part is not None]
    if len(places) < 2 or not hasattr(sums[places[0]], "trimmed"):
        return sums
    parts = type(sums[places[0]]).trimmed([sums[place] for place in places])
    return sums | dict(zip(places, parts, strict=True))


def _total(parts: Iterable[Any]) -> Any:
    """Sum of the parts that there are, in their order."""
    total = None
    for part in parts:
        if part is not None:
            total = part if total is None else total + part
    return total


@dataclass(frozen=True)
class Group:
    """Blocks that one task works on, part after part, so that only one is in memory."""

    n_blocks: int
    """Of the whole collection."""
    parts: tuple[Blocks, ...]
    token: str = field(default_factory=lambda: uuid4().hex)

    def __dask_tokenize__(self) -> str:
        """Name of this group for dask, which would otherwise look at all of it in every pass."""
        return self.token

    @property
    def given(self) -> list[Any]:
        """Keys of what comes from other tasks."""
        return [key for part in self.parts for key in part.given]

    def run(self, function: Pass, values: Sequence[Any]) -> Added:
        """What the blocks yield, added as far as that can be done here."""
        total, used = Added(self.n_blocks, {}, {}), 0
        for part in self.parts:
            taken = values[used : used + len(part.given)]
            used += len(part.given)
            sums, sizes = {}, {}
            for piece in part.load(taken):
                sizes[piece.number] = int(piece.rows.shape[0])
                sums[0, piece.number] = function(piece) if sizes[piece.number] else None
            total = total + Added(self.n_blocks, sums, sizes)
        return total


def run_group(function: Pass, group: Group, *values: Any) -> Added:
    """Task: a pass over a group."""
    return group.run(function, values)


def add(*results: Added) -> Added:
    """Task: results, brought together."""
    total = results[0]
    for result in results[1:]:
        total = total + result
    return total


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
    groups: Sequence[Sequence[Sequence[int]]],
) -> Plan:
    """Plan of passes.

    Parameters
    ----------
    graph : mapping
        Optimized graph of the blocks.
    futures : mapping
        Blocks that a cluster holds.
    rows, weights : sequence of keys
    groups : sequence
        For each task, numbers of the blocks that it loads together.
    """
    graph = {**graph, **futures}
    needs, needed_by = get_deps(graph)
    owned: set[Any] = set()

    def blocks(numbers: Sequence[int]) -> Blocks:
        of_rows, of_weights = (tuple(keys[i] for i in numbers if keys) for keys in (rows, weights))
        own = _own({*of_rows, *of_weights}, needs, needed_by) - futures.keys()
        owned.update(own)
        given = {key for step in own for key in needs[step]} | {*of_rows, *of_weights}
        steps = {key: graph[key] for key in own}
        # Sorted, so that graphs are the same in every process.
        return Blocks(
            tuple(numbers), of_rows, of_weights, steps, tuple(sorted(given - own, key=str))
        )

    made = tuple(Group(len(rows), tuple(blocks(part) for part in group)) for group in groups)
    shared = {key: step for key, step in graph.items() if key not in owned}
    return Plan(made, shared)


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


def group_blocks(n_blocks: int, n_threads: int, holders: Sequence[Any] | None) -> list[list[int]]:
    """Numbers of the blocks of each task: those that follow each other where they are held.

    ``holders`` says who holds each block; None if nobody does.
    """
    held: dict[Any, list[int]] = {}
    for number in range(n_blocks):
        held.setdefault(None if holders is None else holders[number], []).append(number)
    size = max(1, -(-n_blocks // (TASKS_PER_THREAD * n_threads)))
    return [
        numbers[begin : begin + size]
        for numbers in held.values()
        for begin in range(0, len(numbers), size)
    ]


def split_group(
    numbers: Sequence[int], sizes: Sequence[int] | None, row_bytes: float
) -> list[list[int]]:
    """Blocks that are loaded together: one, or several small ones."""
    if sizes is None:
        return [[number] for number in numbers]
    parts: list[list[int]] = []
    held = 0.0
    for number in numbers:
        size = sizes[number] * row_bytes
        if not parts or held + size > LOADED_BYTES or len(parts[-1]) == LOADED_BLOCKS:
            parts.append([])
            held = 0.0
        parts[-1].append(number)
        held += size
    return parts
