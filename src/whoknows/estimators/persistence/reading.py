"""A model from JSON and arrays: `writing` the other way round."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whoknows.estimators.persistence.checks import check_ids
from whoknows.estimators.persistence.classes import put_together
from whoknows.estimators.persistence.writing import NUMBERS
from whoknows.io.errors import Path
from whoknows.io.labels import FileError
from whoknows.io.npy import read_npy

NOT_A_MODEL = (
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError),
    *(RecursionError, MemoryError),
)


def read_array(data: bytes, path: Path, name: str) -> NDArray[Any]:
    """Read one array of numbers or text; nobody can write to it, since places in a model may share it."""
    array = read_npy(data, path, name)
    if array.dtype.name not in NUMBERS and array.dtype.kind != "U":
        raise FileError(path, f"holds {name} of {array.dtype}; expected numbers or text.")
    array = np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")
    array.flags.writeable = False
    return array


def read_model(objects: list[Any], arrays: list[NDArray[Any]]) -> Any:
    """Make the objects one after the other; the last is the model.

    What `writing` did not write ends in one of `NOT_A_MODEL`.
    """
    reader = _Reader(arrays)
    for plain in objects:
        reader.made.append(reader.make(plain))
    return reader.made[-1] if objects else None


@dataclass
class _Reader:
    arrays: list[NDArray[Any]]
    made: list[Any] = field(default_factory=list)

    def make(self, plain: Any) -> Any:
        """Return one of the objects; it may refer to those made before."""
        kept = {key: self.value(part) for key, part in plain["fields"].items()}
        return put_together(plain["class"], kept)

    def value(self, plain: Any) -> Any:
        """Return what a piece of JSON stands for."""
        if plain is None or isinstance(plain, (bool, int, float, str)):
            return plain
        if isinstance(plain, list):
            return [self.value(part) for part in plain]
        ((kind, content),) = plain.items()
        match kind:
            case "float":
                return float(content)
            case "numpy":
                return _number(*content)
            case "tuple":
                return tuple(self.value(part) for part in content)
            case "array":
                return _at(self.arrays, content)
            case "turned":
                number, axes = content
                return _at(self.arrays, number).transpose(axes)
            case "ids":
                return _ids([self.value(part) for part in content])
            case "object":
                return _at(self.made, content)
        raise ValueError(f"{kind!r} is no kind of value")


def _at(listed: list[Any], place: Any) -> Any:
    """Return what has been read before; a file cannot refer to what comes later."""
    if type(place) is not int or not 0 <= place < len(listed):
        raise ValueError(f"{place!r} refers to nothing")
    return listed[place]


def _number(name: Any, value: Any) -> Any:
    if name not in NUMBERS:
        raise ValueError(f"{name!r} is no kind of number")
    return np.dtype(name).type(float(value["float"]) if isinstance(value, dict) else value)


def _ids(values: list[Any]) -> NDArray[Any]:
    check_ids(values)
    array = np.fromiter(values, dtype=object, count=len(values))
    array.flags.writeable = False
    return array
