"""Models as JSON and arrays, and back.

Numbers, text, None and lists are themselves. Everything else is a dictionary with one entry:

    {"float": "nan"}            what JSON lacks: nan, inf, -inf
    {"numpy": ["int64", 3]}     a NumPy number
    {"tuple": […]}
    {"array": 3}                arrays/3.npy; {"turned": [3, [1, 0]]} the same with its axes in another order
    {"ids": […]}                an array of Python objects, such as ids that are pairs
    {"object": 7}               the seventh of "objects", each with its "class" and its "fields"
    {"classifier": 0}           classifiers/0.skops, a classifier as truth; see `classifiers`

Objects come after those they refer to, and the model last: a file cannot contain cycles. An object used
twice is written once; so are arrays of the same content.
"""

from __future__ import annotations

import io
import math
from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from whoknows.estimators.inputs.requirements import is_classifier
from whoknows.estimators.persistence.classes import put_together, take_apart
from whoknows.estimators.persistence.classifiers import classifier_bytes
from whoknows.io.binary import read_npy
from whoknows.io.errors import FileError, Path

NUMBERS = {np.dtype(code).name for code in "?efd" + np.typecodes["AllInteger"]}
SAME_HASH = 100  # ids that may share one: Python ints of a kind do on purpose only, and look-ups take forever


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return sha256(data).hexdigest()


@dataclass
class Written:
    """What goes into a file.

    Attributes
    ----------
    objects : list
        For model.json.
    arrays, digests : list
        In the order of their numbers, and their checksums.
    classifiers : list of bytes
    """

    path: Path
    objects: list[Any] = field(default_factory=list)
    arrays: list[NDArray[Any]] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    classifiers: list[bytes] = field(default_factory=list)
    _places: dict[int, int] = field(default_factory=dict)  # of objects, by identity
    _numbers: dict[str, int] = field(default_factory=dict)  # of arrays, by digest

    @classmethod
    def of(cls, model: Any, path: Path) -> Self:
        """Write down a model; ``path`` is for messages."""
        written = cls(path)
        try:
            written._plain(model, type(model).__name__)
        except RecursionError:
            raise FileError(path, "cannot hold ids or settings nested so deep.") from None
        return written

    def _plain(self, value: Any, where: str) -> Any:
        """Return a value as JSON; ``where`` it is found is for messages."""
        kind = type(value)
        if value is None or kind in (bool, int, str) or (kind is float and math.isfinite(value)):
            return value
        if kind is float:
            return {"float": str(value)}
        if kind is np.ndarray:
            return self._array(value, where)
        if kind in (list, tuple):
            listed = [self._plain(part, f"{where}[{place}]") for place, part in enumerate(value)]
            return listed if kind is list else {"tuple": listed}
        if kind is dict:
            return {"mapping": [[self._plain(part, where) for part in pair] for pair in value.items()]}
        if kind is np.str_:
            return str(value)
        if isinstance(value, np.generic) and value.dtype.name in NUMBERS:
            return {"numpy": [value.dtype.name, self._plain(value.item(), where)]}
        if is_classifier(value) and take_apart(value) is None:
            self.classifiers.append(classifier_bytes(value, self.path))
            return {"classifier": len(self.classifiers) - 1}
        return {"object": self._object(value, where)}

    def _object(self, thing: Any, where: str) -> int:
        if id(thing) not in self._places:
            apart = take_apart(thing)
            if apart is None:
                raise self._refusal(where, f"a {type(thing).__name__}")
            name, content = apart
            plain = {key: self._plain(part, f"{where}.{key}") for key, part in content.items()}
            self._places[id(thing)] = len(self.objects)
            self.objects.append({"class": name, "fields": plain})
        return self._places[id(thing)]

    def _array(self, array: NDArray[Any], where: str) -> Any:
        """Return a reference to an array; its memory order is preserved, so that sums round as before."""
        if array.dtype == object and array.ndim == 1:
            return {"ids": [self._plain(part, f"{where}[{place}]") for place, part in enumerate(array)]}
        if array.dtype.name not in NUMBERS and array.dtype.kind != "U":
            raise self._refusal(where, f"an array of {array.dtype}")
        order = list(range(array.ndim))
        by_stride = sorted(order, key=lambda axis: -abs(array.strides[axis]))
        axes = order if array.flags.c_contiguous else by_stride
        straight = array.transpose(axes)
        key = digest(array_bytes(straight))
        if key not in self._numbers:
            self._numbers[key] = len(self.arrays)
            self.arrays.append(straight)
            self.digests.append(key)
        number = self._numbers[key]
        return {"array": number} if axes == order else {"turned": [number, np.argsort(axes).tolist()]}

    def _refusal(self, where: str, what: str) -> FileError:
        return FileError(
            self.path,
            f"cannot hold {where}, {what}: model files hold numbers, text, lists, arrays and whoknows' own "
            "classes. Fit with one of these in its place (an int as random_state, text as ids).",
        )


def array_bytes(array: NDArray[Any]) -> bytes:
    """Return the bytes of an .npy file, the same on every machine."""
    file = io.BytesIO()
    straight = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    np.lib.format.write_array(file, straight, allow_pickle=False)
    return file.getvalue()


NOT_A_MODEL = (
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError),
    *(RuntimeError, MemoryError),
)


def read_array(data: bytes, path: Path, name: str) -> NDArray[Any]:
    """Read one array of numbers or text; it is read-only, since parts of a model may share it."""
    array = read_npy(data, path, name)
    if array.dtype.name not in NUMBERS and array.dtype.kind != "U":
        raise FileError(path, f"holds {name} of {array.dtype}; expected numbers or text.")
    array = np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")
    array.flags.writeable = False
    return array


def read_model(objects: list[Any], arrays: list[NDArray[Any]], classifiers: list[Any]) -> Any:
    """Make the objects one after the other; the last is the model.

    What `Written` did not write raises one of `NOT_A_MODEL`.
    """
    reader = _Reader(arrays, classifiers)
    for plain in objects:
        content = {key: reader.value(part) for key, part in plain["fields"].items()}
        reader.made.append(put_together(plain["class"], content))
    return reader.made[-1] if objects else None


@dataclass
class _Reader:
    arrays: list[NDArray[Any]]
    classifiers: list[Any]
    made: list[Any] = field(default_factory=list)

    def value(self, plain: Any) -> Any:
        """Return what a piece of JSON stands for; it may refer to objects made before."""
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
            case "mapping":
                return {self.value(key): self.value(part) for key, part in content}
            case "array":
                return _at(self.arrays, content)
            case "turned":
                number, axes = content
                return _at(self.arrays, number).transpose(axes)
            case "ids":
                return _ids([self.value(part) for part in content])
            case "classifier":
                return _at(self.classifiers, content)
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
    """Return an array of ids; of many made to share a hash, look-ups would compare each with all others."""
    most = max(Counter(map(hash, values)).values(), default=0)
    if most > SAME_HASH:
        raise ValueError(f"{most} ids share one hash")
    array = np.fromiter(values, dtype=object, count=len(values))
    array.flags.writeable = False
    return array
