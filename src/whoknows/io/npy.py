"""NumPy files: .npy and .npz, never pickles, of bounded size in memory."""

from __future__ import annotations

import io
import math
import sys
import warnings
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whoknows.io.encoding import CELL, allowed_size, refuse_expansion, unzip
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
            warnings.simplefilter("ignore")  # headers written by Python 2 are valid
            version = np.lib.format.read_magic(source)
            if version not in _HEADERS:
                raise ValueError(f"version {version} of the format")
            shape, _, dtype = _HEADERS[version](source)
            if dtype.hasobject:
                raise FileError(
                    path, f"holds {name} as Python objects, which are not loaded. Save it as numbers or text."
                )
            n_values: int = math.prod(shape)
            if dtype.itemsize == 0 and n_values:  # any number of them fits into no bytes at all
                raise ValueError(f"{n_values:,} values of {dtype}, which have no bytes")
            if min(shape, default=0) < 0 or n_values * dtype.itemsize > len(data) - source.tell():
                raise ValueError(f"too short for an array of shape {shape}")
            source.seek(0)
            array = np.lib.format.read_array(source, allow_pickle=False)
    except FileError:
        raise
    except _BROKEN as error:
        raise FileError(path, f"is damaged, or is not a NumPy file ({error}). Save it again.") from None
    if array.dtype.kind == "U":
        codes = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("=")).reshape(-1).view(np.uint32)
        if codes.max(initial=0) > sys.maxunicode:
            raise FileError(path, f"holds {name} with characters that do not exist.")
    return array


def read_npz(data: bytes, path: Path) -> dict[str, NDArray[Any]]:
    """Read the arrays of a .npz file by name."""
    limit = allowed_size(len(data))
    members = unzip(data, path, limit, lambda name: name.endswith(".npy"))
    found = {
        name.removesuffix(".npy"): read_npy(member, path, repr(name)) for name, member in members.items()
    }
    refuse_expansion(CELL * sum(array.size for array in found.values()), limit, path)  # as float64
    return found
