"""A model as JSON and arrays.

Numbers, text, None and lists are themselves. Everything else is a dictionary of one entry:

    {"float": "nan"}            what JSON has no word for: nan, inf, -inf
    {"numpy": ["int64", 3]}     a numpy number
    {"tuple": […]}
    {"array": 3}                arrays/3.npy; {"turned": [3, [1, 0]]} the same with its axes in another order
    {"ids": […]}                an array of Python objects, such as ids that are pairs
    {"object": 7}               the seventh of "objects", each with its "class" and its "fields"

Objects come after those they refer to, and the model last: no file can go in circles. What is the same object
in two places is written once; so are arrays of the same content.
"""

from __future__ import annotations

import io
import math
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from whoknows.estimators.persistence.archive import digest
from whoknows.estimators.persistence.classes import take_apart
from whoknows.io.errors import Path
from whoknows.io.labels import FileError

NUMBERS = {"bool", "float16", "float32", "float64"} | {
    f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)
}


@dataclass
class Written:
    """What goes into a file.

    Attributes
    ----------
    objects : list
        For model.json.
    arrays, digests : list
        In the order of their numbers, and their checksums.
    """

    path: Path
    objects: list[Any] = field(default_factory=list)
    arrays: list[NDArray[Any]] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
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
        if kind is np.str_:
            return str(value)
        if isinstance(value, np.generic) and value.dtype.name in NUMBERS:
            return {"numpy": [value.dtype.name, self._plain(value.item(), where)]}
        return {"object": self._object(value, where)}

    def _object(self, thing: Any, where: str) -> int:
        if id(thing) not in self._places:
            apart = take_apart(thing)
            if apart is None:
                raise self._refusal(where, f"a {type(thing).__name__}")
            name, kept = apart
            plain = {key: self._plain(part, f"{where}.{key}") for key, part in kept.items()}
            self._places[id(thing)] = len(self.objects)
            self.objects.append({"class": name, "fields": plain})
        return self._places[id(thing)]

    def _array(self, array: NDArray[Any], where: str) -> Any:
        """Return a reference to an array, kept in the order it has in memory: sums then round as before."""
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
