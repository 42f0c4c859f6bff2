"""The graph of a pass over dask collections: which task loads which chunks, and how sums are added.

Results of chunks are added along a tree whose shape depends on the number of chunks alone: sixteen
consecutive ones, then sixteen such sums, and so on. The grouping of chunks into tasks does not
matter: a task adds the sums of which it has all terms, always in their order, so that the result
has the same bits for any number of workers and tasks. A task works on several chunks, one after the
other, since a task costs milliseconds. Chunks that a worker holds are computed there.

Steps that only one chunk depends on, from reading it to casting it, run inside the task that works
on the chunk, as in dask's own fusion. Steps that several chunks depend on stay tasks of their own.
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

from sfumato._checks import raise_wrong_length
from sfumato._data import Chunk, csr_or_dense
from sfumato._engines.passes import Pass

FAN_IN = 16
"""Terms of a sum in the tree, and results that one task adds. Part of the results: another value
gives other last bits. Chosen by hand."""
TASKS_PER_THREAD = 4
"""Tasks of a pass for each thread of the cluster. The scheduler takes about 5 ms for each, measured
in docs/scale.md; more tasks would even out differences between workers, at that cost."""
LOADED_BYTES, LOADED_CHUNKS = 1 << 20, 64
"""Small chunks that are loaded by one call of dask: at most so many bytes, and so many chunks.
Chosen by hand, to spread the overhead of a call."""


@dataclass(frozen=True)
class Load:
    """Consecutive chunks that are loaded together, and the steps that load them."""

    numbers: tuple[int, ...]
    rows: tuple[Any, ...]
    """Keys of the rows of each chunk."""
    weights: tuple[Any, ...]
    """Keys of the weights; empty if all weights are one."""
    steps: Mapping[Any, Any]
    """The part of the graph that only these chunks depend on."""
    given: tuple[Any, ...]
    """Keys of the results of other tasks that the steps use."""

    def chunks(self, values: Sequence[Any]) -> Iterator[Chunk]:
        """Loaded chunks, from the values of the given keys."""
        loaded = dict(zip(self.given, values, strict=True))
        if self.steps:
            graph: dict[Any, Any] = {key: (_unwrap, _Opaque(x)) for key, x in loaded.items()}
            keys = [*self.rows, *self.weights]
            loaded = dict(zip(keys, get_sync(graph | dict(self.steps), keys), strict=True))
        for place, number in enumerate(self.numbers):
            rows = csr_or_dense(loaded[self.rows[place]])
            weights = None
            if self.weights:
                weights = np.asarray(loaded[self.weights[place]], dtype=np.float64)
                if weights.shape != rows.shape[:1]:
                    name = f"Chunk {number} of sample_weight"
                    raise_wrong_length(weights.shape, rows.shape[0], name)
            yield Chunk(rows, weights, number=number)


@dataclass(frozen=True)
class _Opaque:
    """A value in a graph, in which dask does not search for keys."""

    value: Any


def _unwrap(opaque: _Opaque) -> Any:
    return opaque.value


@dataclass(frozen=True)
class PartialSum:
    """Partial sums over some chunks; a node of the tree is added up once all its terms are present.

    Attributes
    ----------
    n_chunks : int
        Of the whole collection.
    sums : dict
        By level and place in the tree of sums; None for chunks without rows.
    sizes : dict
        Rows of each chunk.
    """

    n_chunks: int
    sums: Mapping[tuple[int, int], Any]
    sizes: Mapping[int, int]

    def __add__(self, other: PartialSum) -> PartialSum:
        sums = {**self.sums, **other.sums}
        width, level = self.n_chunks, 0
        while width > 1:
            for parent in sorted({place // FAN_IN for depth, place in sums if depth == level}):
                places = range(parent * FAN_IN, min((parent + 1) * FAN_IN, width))
                terms = [(level, place) for place in places]
                if all(term in sums for term in terms):
                    sums[level + 1, parent] = _total(sums.pop(term) for term in terms)
            width, level = -(-width // FAN_IN), level + 1
        return PartialSum(self.n_chunks, _trimmed(sums), {**self.sizes, **other.sizes})

    @property
    def value(self) -> Any:
        """Sum over all chunks; None if they have no rows."""
        (found,) = self.sums.values()
        return found


def _trimmed(sums: dict[tuple[int, int], Any]) -> dict[tuple[int, int], Any]:
    """Sums without what cannot be in their total, for samples, which have ``trimmed``."""
    places = [place for place, term in sums.items() if term is not None]
    if len(places) < 2 or not hasattr(sums[places[0]], "trimmed"):
        return sums
    terms = type(sums[places[0]]).trimmed([sums[place] for place in places])
    return sums | dict(zip(places, terms, strict=True))


def _total(terms: Iterable[Any]) -> Any:
    """Sum of the terms that are not None, in their order."""
    total = None
    for term in terms:
        if term is not None:
            total = term if total is None else total + term
    return total


@dataclass(frozen=True)
class Group:
    """Chunks of one task, loaded one load after the other, so that only one is in memory."""

    n_chunks: int
    """Of the whole collection."""
    loads: tuple[Load, ...]
    token: str = field(default_factory=lambda: uuid4().hex)

    def __dask_tokenize__(self) -> str:
        """Name of this group for dask, which would otherwise hash all of it in every pass."""
        return self.token

    @property
    def given(self) -> list[Any]:
        """Keys of the results of other tasks that are used."""
        return [key for load in self.loads for key in load.given]


def run_group(function: Pass, group: Group, *values: Any) -> PartialSum:
    """Task: a pass over the chunks of a group, added as far as possible."""
    total, used = PartialSum(group.n_chunks, {}, {}), 0
    for load in group.loads:
        given = values[used : used + len(load.given)]
        used += len(load.given)
        sums, sizes = {}, {}
        for chunk in load.chunks(given):
            sizes[chunk.number] = int(chunk.rows.shape[0])
            sums[0, chunk.number] = function(chunk) if sizes[chunk.number] else None
        total = total + PartialSum(group.n_chunks, sums, sizes)
    return total


def add(first: PartialSum, *others: PartialSum) -> PartialSum:
    """Task: the sum of partial sums."""
    for other in others:
        first = first + other
    return first


@dataclass(frozen=True)
class Plan:
    """The part of the graph that is the same in all passes."""

    groups: tuple[Group, ...]
    shared: Mapping[Any, Any]
    """Tasks beside those of the groups."""

    def graph(self, function: Pass, name: str) -> tuple[dict[Any, Any], Any]:
        """Graph of a pass, and the key of its result.

        The function is a node of its own: it is sent to each worker once, and again if a worker is
        lost.
        """
        graph = dict(self.shared)
        node = f"function-{name}"
        graph[node] = function
        keys: list[Any] = [(name, number) for number in range(len(self.groups))]
        for key, group in zip(keys, self.groups, strict=True):
            graph[key] = (run_group, node, group, *group.given)
        level = 0
        while len(keys) > 1:
            level += 1
            terms = [keys[begin : begin + FAN_IN] for begin in range(0, len(keys), FAN_IN)]
            keys = [(f"add-{name}", level, number) for number in range(len(terms))]
            graph |= {key: (add, *each) for key, each in zip(keys, terms, strict=True)}
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
        Optimized graph of the chunks.
    futures : mapping
        Chunks that a cluster holds.
    rows, weights : sequence of keys
        By chunk; weights may be empty.
    groups : sequence
        For each task, the numbers of the chunks that it loads together.
    """
    graph = {**graph, **futures}
    dependencies, dependents = get_deps(graph)
    fused: set[Any] = set()

    def load(numbers: Sequence[int]) -> Load:
        of_rows, of_weights = (tuple(keys[i] for i in numbers if keys) for keys in (rows, weights))
        own = _exclusive({*of_rows, *of_weights}, dependencies, dependents) - futures.keys()
        fused.update(own)
        given = {key for step in own for key in dependencies[step]} | {*of_rows, *of_weights}
        steps = {key: graph[key] for key in own}
        # Sorted, so that graphs are the same in every process.
        return Load(tuple(numbers), of_rows, of_weights, steps, tuple(sorted(given - own, key=str)))

    made = tuple(Group(len(rows), tuple(load(numbers) for numbers in group)) for group in groups)
    return Plan(made, {key: step for key, step in graph.items() if key not in fused})


def _exclusive(
    roots: set[Any], dependencies: Mapping[Any, set[Any]], dependents: Mapping[Any, set[Any]]
) -> set[Any]:
    """Steps that lead to the roots and to nothing else."""
    own: set[Any] = set()
    ready = [root for root in roots if not dependents[root]]
    times: dict[Any, int] = {}
    while ready:
        step = ready.pop()
        own.add(step)
        for key in dependencies[step]:
            times[key] = times.get(key, 0) + 1
            if times[key] == len(dependents[key]) and key not in roots:
                ready.append(key)
    return own


def group_chunks(n_chunks: int, n_threads: int, holders: Sequence[Any] | None) -> list[list[int]]:
    """Numbers of the chunks of each task: consecutive ones of those that a worker holds.

    ``holders`` has the worker that holds each chunk; None if chunks are not held.
    """
    held: dict[Any, list[int]] = {}
    for number in range(n_chunks):
        held.setdefault(None if holders is None else holders[number], []).append(number)
    size = max(1, -(-n_chunks // (TASKS_PER_THREAD * n_threads)))
    return [
        numbers[begin : begin + size]
        for numbers in held.values()
        for begin in range(0, len(numbers), size)
    ]


def split_group(
    numbers: Sequence[int], sizes: Sequence[int] | None, row_bytes: float
) -> list[list[int]]:
    """Chunks that are loaded together: one, or several small ones; ``sizes`` in rows."""
    if sizes is None:
        return [[number] for number in numbers]
    loads: list[list[int]] = []
    held = 0.0
    for number in numbers:
        size = sizes[number] * row_bytes
        if not loads or held + size > LOADED_BYTES or len(loads[-1]) == LOADED_CHUNKS:
            loads.append([])
            held = 0.0
        loads[-1].append(number)
        held += size
    return loads
