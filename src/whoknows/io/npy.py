"""NumPy files: .npy and .npz, never pickles, never more memory than the file is long."""

from __future__ import annotations

import io
import math
import warnings
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whoknows.io.archives import unzip
from whoknows.io.encoding import MAX_FEATURES
from whoknows.io.errors import FileError, Path

MAGIC = b"\x93NUMPY"
_BROKEN = (
    *(ValueError, TypeError, EOFError, OverflowError),
    *(SyntaxError, TokenError, RecursionError, MemoryError),  # the header is a Python expression
)
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def read_npy(data: bytes, path: Path, name: str = "the array") -> NDArray[Any]:
    """Read one array from the bytes of a .npy file."""
    source = io.BytesIO(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a header that Python 2 wrote is as good as any
            version = np.lib.format.read_magic(source)
            if version not in _HEADERS:
                raise ValueError(f"version {version} of the format")
            shape, _, dtype = _HEADERS[version](source)
            if dtype.hasobject:
                raise FileError(
                    path, f"holds {name} as Python objects, which are not loaded. Save it as numbers or text."
                )
            if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize > len(data) - source.tell():
                raise ValueError(f"too short for an array of shape {shape}")
            source.seek(0)
            return np.lib.format.read_array(source, allow_pickle=False)
    except FileError:
        raise
    except _BROKEN as error:
        raise FileError(path, f"is damaged, or is no NumPy file ({error}). Save it again.") from None


def read_npz(data: bytes, path: Path) -> dict[str, NDArray[Any]]:
    """Read the arrays of a .npz file by name."""
    members = unzip(data, path, MAX_FEATURES, lambda name: name.endswith(".npy"))
    return {name.removesuffix(".npy"): read_npy(member, path, repr(name)) for name, member in members.items()}
