"""Classifiers in model files, by skops: like the rest of the file, they are never pickled.

skops builds nothing but the types that it trusts, and those that the user names.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from whoknows.io.binary import read_npy
from whoknows.io.encoding import refuse_large_json, unzip
from whoknows.io.errors import FileError, Path, reading

_DAMAGED = "holds a classifier that cannot be read ({}). Get the file again, or save the model again."
_BROKEN = (ValueError, TypeError, LookupError, AttributeError, ImportError, RecursionError, MemoryError)


def classifier_bytes(classifier: Any, path: Path) -> bytes:
    """Return a classifier as the bytes of a skops archive, which is not compressed."""
    name = type(classifier).__name__
    problem = f"cannot hold {name} ({{}}). Save the model without it: fit CrowdClassifier(truth='lgp')."
    with reading(path, problem, *_BROKEN):
        return bytes(_skops(name, path).dumps(classifier))


def read_classifier(data: bytes, path: Path, trusted: Sequence[str]) -> Any:
    """Read a classifier; one of types that nobody trusts is refused, and they are named."""
    io = _skops("a classifier", path)
    for name, member in unzip(data, path, len(data), lambda name: True, _DAMAGED).items():
        _check_member(name, member, path)
    with reading(path, _DAMAGED, *_BROKEN):
        needed = sorted(io.get_untrusted_types(data=data))
        unknown = [name for name in needed if name not in trusted]
        if unknown:
            raise FileError(
                path,
                f"holds a classifier with parts that skops does not trust by itself: {', '.join(unknown)}. "
                f"If the file is your own, or you trust whoever made it, pass trusted={needed} to load.",
            )
        return io.loads(data, trusted=list(trusted))


def _check_member(name: str, member: bytes, path: Path) -> None:
    """Refuse arrays of Python objects or of another size than declared, and text that is not JSON."""
    if name.endswith(".npy"):
        read_npy(member, path, f"{name} of a classifier")
    elif name.endswith(".json"):
        refuse_large_json(member, path)


def _skops(what: str, path: Path) -> ModuleType:
    try:
        import skops.io
    except ModuleNotFoundError:
        raise FileError(path, f"needs skops for {what}: pip install 'whoknows[skops]'.") from None
    return skops.io
