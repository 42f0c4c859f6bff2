"""Parameters in a model file: plain values, arrays, paths, seeds, and parts made of parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from sfumato._persistence.archive import NewArchive
from sfumato._persistence.kinds import Csr, Kind, Named, Real, Source, Whole, read_fields, require
from sfumato.exceptions import shown

TWISTER = "MT19937"
"""The generator of a NumPy RandomState, as its state names it."""


class Part(Kind):
    """An object that its parameters determine, of one of several classes."""

    def __init__(self, *classes: type[BaseEstimator]) -> None:
        self.classes = {made.__name__: made for made in classes}

    def knows(self, value: Any) -> bool:
        """Whether the value is of one of the classes, and of none derived from them."""
        return type(value) in self.classes.values()

    def write(self, value: Any, archive: NewArchive) -> dict[str, Any]:
        if not self.knows(value):
            raise TypeError(
                f"{shown(value)} is of the class {type(value).__name__}, which a model file cannot "
                "hold; use pickle for a model with parts of your own."
            )
        given = value.get_params(deep=False)
        return {
            "class": type(value).__name__,
            "parameters": Parameters(self).write(given, archive),
        }

    def read(self, stored: Any, source: Source) -> Any:
        fields = {"class": Named(self.classes), "parameters": Parameters(self)}
        found = read_fields(fields, stored, source)
        return make(found["class"], found["parameters"])


def make(made: type[BaseEstimator], parameters: dict[str, Any]) -> Any:
    """Object with these parameters; those that a later version has added have their defaults."""
    for name in parameters.keys() - made().get_params(deep=False).keys():
        raise ValueError(f"{made.__name__} has no parameter {shown(name)}")
    return made(**parameters)


class Parameters(Kind):
    """Parameters by their names. What JSON does not have is an object of one key, its kind."""

    def __init__(self, parts: Part) -> None:
        self.parts = parts

    def write(self, value: dict[str, Any], archive: NewArchive) -> dict[str, Any]:
        return {name: self._written(name, each, archive) for name, each in value.items()}

    def _written(self, name: str, value: Any, archive: NewArchive) -> Any:
        value = value.item() if isinstance(value, np.generic) else value
        if value is None or type(value) in (bool, int, str):
            return value
        if isinstance(value, float):
            return {"real": Real().write(value, archive)}
        if isinstance(value, Path):
            return {"path": str(value)}
        if isinstance(value, np.random.RandomState):
            return {"seed": _write_seed(value, archive)}
        if isinstance(value, BaseEstimator):
            return {"part": self.parts.write(value, archive)}
        if sp.issparse(value):
            return {"csr": Csr().write(sp.csr_array(value), archive)}
        if not callable(value) and not isinstance(value, np.random.Generator):
            array = np.asarray(value)
            if array.dtype.kind in "fiub":
                return {"array": archive.add(array)}
        raise TypeError(
            f"{name}={shown(value)} cannot be written to a model file; set another value by "
            f"set_params({name}=...), which does not change the fitted model, or use pickle."
        )

    def read(self, stored: Any, source: Source) -> dict[str, Any]:
        require(isinstance(stored, dict), stored, "an object")
        return {str(name): self._value(each, source) for name, each in stored.items()}

    def _value(self, stored: Any, source: Source) -> Any:
        if not isinstance(stored, dict):
            require(not isinstance(stored, list | float), stored, "a parameter")
            return stored
        ((kind, content),) = stored.items()
        if kind == "real":
            return Real().read(content, source)
        if kind == "path":
            require(isinstance(content, str), content, "a path")
            return Path(content)
        if kind == "seed":
            return _read_seed(content, source)
        if kind == "part":
            return self.parts.read(content, source)
        if kind == "csr":
            return Csr().read(content, source)
        require(kind == "array", kind, "a kind of parameter")
        return source.archive.array(content)


def _write_seed(state: np.random.RandomState, archive: NewArchive) -> dict[str, Any]:
    """State of random numbers."""
    name, keys, position, has_gauss, gauss = state.get_state(legacy=True)
    require(name == TWISTER, name, TWISTER)
    numbers = {"position": int(position), "has_gauss": int(has_gauss)}
    return {"keys": archive.add(np.asarray(keys)), **numbers, "gauss": Real().write(gauss, archive)}


def _read_seed(stored: Any, source: Source) -> np.random.RandomState:
    fields = {"position": Whole(), "has_gauss": Whole(), "gauss": Real()}
    numbers = read_fields(fields, {k: v for k, v in stored.items() if k != "keys"}, source)
    keys = source.archive.array(stored["keys"])
    # NumPy does not check the position, and would read beyond the keys.
    fits = keys.dtype == np.uint32 and keys.shape == (624,) and numbers["position"] <= 624
    require(fits, keys.shape, "a state of random numbers")
    state = np.random.RandomState()
    state.set_state((TWISTER, keys, *numbers.values()))
    return state
