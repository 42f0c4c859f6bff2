"""Checkpoints: the state of a fit in a file, from which the same call to ``fit`` resumes.

A file holds the state of every start: centers, history, the memory of the acceleration, and the
next step. A fit that resumes draws the seeds again, from the stored state of the random numbers,
and replays the stored iterations without passes over the data, so that it ends with the same bits.
"""

from __future__ import annotations

import io
import json
import os
import time
import warnings
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from sfumato._data import Data, checksum
from sfumato._engines.chunked import ChunkedData
from sfumato._solvers.descent import Descent, DescentState, IterationRecord, Step, StopReason
from sfumato.exceptions import Given, Message, Option, ParameterError, ParameterTypeError
from sfumato.files import write_atomically

FORMAT = 3
"""Number of the file format; files of another one are refused."""
IRRELEVANT = {"checkpoint", "decay", "n_threads"}
"""Parameters on which the result of ``fit`` does not depend."""
NO_PARAMETERS = {"estimator", "sfumato", "chunks", "precision", "storage"} | {
    "number of rows",
    "number of features",
    "checksum of the data",
}
"""What identifies a fit beside its parameters."""
MOST_NAMED = 3
"""Differences from another fit that a message names. Chosen by hand."""
LEAST_PAUSE = 1.0
"""Seconds between two writes; chosen by hand."""
PAUSE_PER_WRITE = 10.0
"""Pause after a write, as a multiple of its duration, so that at most a tenth of the time is spent
on writing; chosen by hand."""


@dataclass
class Checkpoint:
    """A file with the state of a fit.

    Attributes
    ----------
    path : Path
    identity : dict
        Parameters and data of the fit as plain values; a file with other ones is refused.
    rng_state : tuple
        State of the random numbers before the first is drawn.
    tuned : dict or None
        Parameters that were "auto", what they were found from, the stability, and the number of the
        last start, of a fit whose starts were compared on a sample.
    states : dict
        State of each start, by its number.
    agreed : dict
        Whether two starts had the same clusters when they were compared, by their numbers.
    """

    path: Path
    identity: dict[str, Any]
    rng_state: Any
    tuned: dict[str, Any] | None = None
    states: dict[int, DescentState] = field(default_factory=dict)
    agreed: dict[str, bool] = field(default_factory=dict)
    _due: float = 0.0

    @classmethod
    def open(cls, path: Any, identity: dict[str, Any], rng: np.random.RandomState) -> Checkpoint:
        """Checkpoint in a file, with the state that the file holds, if it exists."""
        if not isinstance(path, str | PathLike):
            given = Given("checkpoint", path)
            message = Message(given, " is not a path; give the path of a file, or None.")
            raise ParameterTypeError(message, *given)
        checkpoint = cls(Path(path), json.loads(json.dumps(identity)), rng.get_state())
        checkpoint._check_place()
        if checkpoint.path.exists():
            checkpoint._load()
        return checkpoint

    def rng(self) -> np.random.RandomState:
        """Random numbers as they were at the beginning of the fit."""
        rng = np.random.RandomState()
        rng.set_state(self.rng_state)
        return rng

    def attach(self, number: int, descent: Descent) -> None:
        """Restore a start from its stored state, if there is one, and store it from now on."""
        state = self.states.get(number)
        if state is not None:
            descent.restore(state)

        def keep(descent: Descent) -> None:
            # A state that is not written does not matter: resuming from the last gives the same.
            if time.monotonic() >= self._due:
                self.finish(number, descent)

        descent.keep = keep

    def finish(self, number: int, descent: Descent) -> None:
        """Store the present state of a start, and write the file."""
        self.states[number] = descent.state()
        self.write()

    def write(self) -> None:
        """Write the file; until the new one is complete, the old one stays."""
        began = time.monotonic()
        try:
            with write_atomically(self.path, overwrite=True) as path:
                path.write_bytes(self._bytes())
        except OSError as error:
            warnings.warn(
                f"The checkpoint {self.path} cannot be written ({error.__cause__ or error}); the "
                "fit goes on, and the file keeps the state before.",
                RuntimeWarning,
                stacklevel=2,
            )
        now = time.monotonic()
        self._due = now + max(LEAST_PAUSE, PAUSE_PER_WRITE * (now - began))

    def _bytes(self) -> bytes:
        name, keys, *numbers = self.rng_state
        header = {
            "format": FORMAT,
            "identity": self.identity,
            "tuned": self.tuned,
            "agreed": self.agreed,
            "rng": [name, *numbers],
            "starts": {number: _plain(state) for number, state in self.states.items()},
        }
        arrays: dict[str, Any] = {"rng": keys}
        for number, state in self.states.items():
            arrays |= {f"{number}.{key}": value for key, value in _arrays(state).items()}
        text = np.frombuffer(json.dumps(header, default=_number).encode(), dtype=np.uint8)
        buffer = io.BytesIO()
        np.savez(buffer, header=text, **arrays)
        return buffer.getvalue()

    def _load(self) -> None:
        try:
            header, arrays = self._read()
            if header["format"] == FORMAT:
                stored = dict(header["identity"])
                name, *numbers = header["rng"]
                rng_state = (name, arrays["rng"], *numbers)
                tuned, agreed = header["tuned"], header["agreed"]
                starts = header["starts"].items()
                states = {int(n): _state(plain, f"{n}.", arrays) for n, plain in starts}
        except Exception as error:  # A damaged archive can raise anything.
            raise self._error(
                f"is no checkpoint of sfumato, or is damaged ({error}); remove it, or give another "
                "path."
            ) from error
        if header["format"] != FORMAT:
            raise self._error(
                "was written by another version of sfumato; remove it, or give another path."
            )
        self._compare(stored)
        self.rng_state, self.tuned, self.states, self.agreed = rng_state, tuned, states, agreed

    def _read(self) -> tuple[Any, dict[str, Any]]:
        """Header and arrays of the file."""
        with self.path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            header = json.loads(archive["header"].tobytes())
            arrays = {name: archive[name] for name in archive.files if name != "header"}
        return header, arrays

    def _compare(self, stored: dict[str, Any]) -> None:
        """Raise ValueError with the first differences between this fit and the stored one."""
        names = [*self.identity, *(name for name in stored if name not in self.identity)]
        different = [name for name in names if stored.get(name) != self.identity.get(name)]
        if not different:
            return
        parts: list[str | Option] = []
        for name in different[:MOST_NAMED]:
            parts += ["; " if parts else "", name if name in NO_PARAMETERS else Option(name)]
            parts += [f" was {stored.get(name)!r} and is {self.identity.get(name)!r}"]
        chunks = (", in chunks of the same size (", Option("chunk_rows"), ")")
        raise self._error(
            "is of another fit: ",
            *parts,
            ". Give the same data and parameters",
            *(chunks if "chunks" in different else ()),
            ", or another path, or remove the file.",
        )

    def _check_place(self) -> None:
        """Raise at once if the file cannot be written."""
        folder = self.path.parent
        if self.path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            what = "is a folder" if self.path.is_dir() else "cannot be written to"
            raise self._error(
                f"{what}; give the path of a file in a folder that exists and that you may write "
                "to."
            )

    def _error(self, *problem: str | Option) -> ParameterError:
        given = Option("checkpoint", str(self.path))
        return ParameterError(Message(given, " ", *problem), *given)


class Place(NamedTuple):
    """Where a checkpoint was written.

    Attributes
    ----------
    start : int or None
        Number of the start with most iterations, counting from 1; None for the only one that passes
        over chunked data.
    iteration : int
        Number of its iterations.
    """

    start: int | None
    iteration: int


def stored_place(path: str | PathLike[str]) -> Place | None:
    """Place from which a fit would resume; None if there is no checkpoint that can be read."""
    try:
        header, _ = Checkpoint(Path(path), {}, None)._read()
        # The first record of a history is at the initial centers.
        done = {int(n): len(plain["history"]) - 1 for n, plain in header["starts"].items()}
        start = header["tuned"]["final"] if header["tuned"] else max(done, key=lambda n: done[n])
        return Place(None if header["tuned"] else start + 1, done[start])
    except Exception:  # No file, or a damaged one, which the fit refuses.
        return None


def identity_of(estimator: Any, data: Data | ChunkedData) -> dict[str, Any]:
    """Parameters and checksums of the data of a fit, as plain values."""
    chunked = isinstance(data, ChunkedData)
    found = {"estimator": type(estimator).__name__, "sfumato": version("sfumato")}
    for name, value in estimator.get_params(deep=True).items():
        if name not in IRRELEVANT:
            found[name] = _described(value)
    if isinstance(data, ChunkedData):
        sizes = np.diff(data.positives)
        found["chunks"] = f"{len(sizes)} of up to {sizes.max()} rows"
        rows = data.checksum
    else:
        rows = checksum(data.rows, data.weights)
    return found | {
        "number of rows": data.n_rows,
        "number of features": data.n_features,
        "precision": data.dtype.name,
        "storage": ("CSR" if data.is_sparse else "dense") + (", in chunks" if chunked else ""),
        "checksum of the data": rows,
    }


def _described(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.random.RandomState):
        name, keys, *numbers = value.get_state()
        return f"{name}, checksum {checksum(keys)}, {numbers}"
    if hasattr(value, "__array__") or isinstance(value, list | tuple) or sp.issparse(value):
        array = value.toarray() if sp.issparse(value) else np.asarray(value)
        return f"array of shape {array.shape}, checksum {checksum(array)}"
    if isinstance(value, BaseEstimator):
        return type(value).__name__
    return getattr(value, "__qualname__", type(value).__name__)


def _number(value: Any) -> Any:
    """NumPy scalar as a Python number, for JSON."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written to a checkpoint")


def _plain(state: DescentState) -> dict[str, Any]:
    """State without its arrays, for JSON."""
    return {
        "history": [asdict(record) for record in state.history],
        "outcome": None if state.outcome is None else state.outcome.name,
    }


def _arrays(state: DescentState) -> dict[str, Any]:
    arrays = {"centers": state.centers, "step": state.step.centers}
    if state.step.otherwise is not None:
        arrays["otherwise"] = state.step.otherwise
    return arrays | {f"memory.{key}": value for key, value in state.memory.items()}


def _state(plain: dict[str, Any], prefix: str, arrays: dict[str, Any]) -> DescentState:
    own = {key.removeprefix(prefix): v for key, v in arrays.items() if key.startswith(prefix)}
    records = [{**record, "repairs": tuple(record["repairs"])} for record in plain["history"]]
    return DescentState(
        own["centers"],
        tuple(IterationRecord(**record) for record in records),
        None if plain["outcome"] is None else StopReason[plain["outcome"]],
        Step(own["step"], own.get("otherwise")),
        {k.removeprefix("memory."): v for k, v in own.items() if k.startswith("memory.")},
    )
