"""Model files: a zip archive of model.json and arrays, never a pickle.

model.json holds the model, see `objects`, and the SHA-256 of every array; model.sha256 that of model.json.
`VERSION` is raised when older code cannot read a file. Nothing is decompressed before the table of contents
is checked.
"""

from __future__ import annotations

import json
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from sklearn.utils.validation import check_is_fitted

import whoknows
from whoknows.data.errors import Advice
from whoknows.estimators.persistence.checks import check_model
from whoknows.estimators.persistence.classes import ESTIMATORS, CheckpointStep
from whoknows.estimators.persistence.objects import (
    NOT_A_MODEL,
    Written,
    array_bytes,
    digest,
    read_array,
    read_model,
)
from whoknows.io.encoding import allowed_size, refuse_large_json
from whoknows.io.errors import FileError, Path
from whoknows.io.writing import replace_file

LIMIT = 1 << 34  # bytes of a model that may be saved
MOST_JSON = 1 << 26  # bytes of model.json
MOST_PACKED = 100  # times smaller than its content a member may be; what packs better is stored as it is
LEAST_PACKED = 1.1  # and at least, or packing does not pay
SAMPLE = 1 << 20  # bytes that tell whether packing may pay

_NAMES = re.compile(r"model\.json|model\.sha256|arrays/(0|[1-9][0-9]{0,5})\.npy")
_WAYS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError)


# --- writing ---------------------------------------------------------------------------------------


def pack(temporary: str, members: Iterable[tuple[str, bytes]], path: Path) -> None:
    """Write a new archive of named members, on the disk when this returns; ``path`` is for messages."""
    total = 0
    with open(temporary, "xb") as file:
        with zipfile.ZipFile(file, "w") as archive:
            for name, data in members:
                total += len(data)
                if total > LIMIT or (name == "model.json" and len(data) > MOST_JSON):
                    raise FileError(path, "cannot hold a model of this size, which could not be loaded.")
                info = zipfile.ZipInfo(name)  # its time is that of no clock: same content, same bytes
                info.create_system, info.external_attr = 3, 0o644 << 16
                info.compress_type = _way(data)
                archive.writestr(info, data)
        file.flush()
        os.fsync(file.fileno())


def _way(data: bytes) -> int:
    """Deflate what gets smaller by it, though not suspiciously so."""
    for part in (data[:SAMPLE], data) if len(data) > SAMPLE else (data,):
        if not LEAST_PACKED <= len(part) / len(zlib.compress(part)) <= MOST_PACKED:
            return zipfile.ZIP_STORED
    return zipfile.ZIP_DEFLATED


# --- reading ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Archive:
    """An archive open for reading, its names and sizes checked; made by `opened`."""

    path: Path
    zip: zipfile.ZipFile
    members: dict[str, zipfile.ZipInfo]

    def read(self, name: str, expected: str | None = None) -> bytes:
        """Unpack a member, and refuse it if its SHA-256 is not the expected one."""
        if name not in self.members:
            raise FileError(self.path, f"lacks {name}. Get the file again, or save the model again.")
        info = self.members[name]
        with _damage(self.path), self.zip.open(info) as member:
            data = member.read(info.file_size)  # never more than it says
        if len(data) != info.file_size or (expected is not None and digest(data) != expected):
            raise FileError(
                self.path, f"was damaged or changed: {name} is not what was saved. Get the file again."
            )
        return data


@contextmanager
def opened(path: Path, limit: int | None) -> Iterator[Archive]:
    """Open an archive of known names that decompresses to no more than ``limit`` bytes."""
    with _open(path) as file:
        with _damage(path):
            archive = zipfile.ZipFile(file)
        members = archive.infolist()
        _check_names([info.orig_filename for info in members], path)
        length = os.fstat(file.fileno()).st_size
        _check_sizes(members, length, allowed_size(length) if limit is None else limit, path)
        yield Archive(path, archive, {info.filename: info for info in members})


def _open(path: Path) -> BinaryIO:
    """Open a file that begins as a zip archive does."""
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe would keep us waiting
        raise FileError(path, "is not a file; expected one that model.save(path) wrote.")
    try:
        file = open(path, "rb")  # noqa: SIM115 (closed by `opened`)
    except FileNotFoundError:
        raise FileError(path, "there is no such file.") from None
    except (OSError, ValueError) as error:
        raise FileError(path, f"cannot be read ({getattr(error, 'strerror', None) or error}).") from None
    if file.read(4) != b"PK\x03\x04":
        file.close()
        raise FileError(
            path, "is not a model file. Model files are written by ", Advice("save", "model.save(path)"), "."
        )
    return file


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """Whatever the zip module finds wrong is a `FileError`."""
    try:
        yield
    except _BROKEN as error:
        raise FileError(
            path, f"is cut off or damaged ({error}). Get the file again, or save the model again."
        ) from None


def _check_names(names: list[str], path: Path) -> None:
    """Refuse names that a model file does not have, such as those that lead elsewhere, and doubles."""
    strange = next((name for name in names if not _NAMES.fullmatch(name)), None)
    if strange is not None:
        raise FileError(
            path,
            f"holds {strange[:80]!r}, which has no place in a model file: only model.json, model.sha256 and "
            "arrays/<number>.npy have. It was not written by whoknows.",
        )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise FileError(path, f"holds {twice} twice. It was not written by whoknows.")


def _check_sizes(members: list[zipfile.ZipInfo], length: int, limit: int, path: Path) -> None:
    """Refuse what would unpack to too much, before anything is unpacked.

    No member may be packed more than `MOST_PACKED` times, and together they are no longer than the file: so
    they unpack to no more than `MOST_PACKED` times its length.
    """
    for info in members:
        if info.compress_type not in _WAYS:
            raise FileError(path, f"packs {info.filename} in an unusual way: not written by whoknows.")
        if info.file_size > MOST_PACKED * info.compress_size:
            raise FileError(
                path,
                f"would unpack {info.filename} from {info.compress_size:,} bytes to {info.file_size:,}: "
                "not written by whoknows.",
            )
        if info.filename == "model.json" and info.file_size > MOST_JSON:
            raise FileError(path, f"has a model.json of more than {MOST_JSON >> 20} MiB.")
    if sum(info.compress_size for info in members) > length:
        raise FileError(path, "has members longer than itself: cut off, or not written by whoknows.")
    total = sum(info.file_size for info in members)
    if total > limit:
        raise FileError(
            path,
            f"unpacks to {total:,} bytes; the limit is {limit:,}. If you trust it, pass limit={total}.",
        )


FORMAT = "whoknows model"
VERSION = 2


def save(model: Any, path: Path) -> None:
    """Write a fitted model to a file, atomically; the same model gives the same bytes.

    Where it was fitted (engine, device) and attributes that were added to it are not saved.

    Parameters
    ----------
    model : CrowdClassifier, CrowdRegressor or AutoCrowdClassifier
        Fitted.
    path : str or path
        By convention with the suffix ``.whoknows``.
    """
    if type(model) not in ESTIMATORS:
        known = ", ".join(cls.__name__ for cls in ESTIMATORS)
        raise TypeError(f"A model file holds one of {known}; got {type(model).__name__}.")
    check_is_fitted(
        model, msg="This %(name)s is not fitted yet, so there is nothing to save. Call fit first."
    )
    _write(model, path)


def load(path: Path, limit: int | None = None) -> Any:
    """Read a model that ``model.save(path)`` wrote; it predicts as the saved one did, bit for bit.

    Nothing in a file is ever run, and nothing is read from it that would reach out later (engine, device): a
    file from anyone is safe to load. One that is no model file, is damaged or changed, is of a newer version,
    decompresses to too much, or holds parts that do not agree with each other is refused with `FileError`.
    (Whether to *trust* the predictions of someone else's model is another question.)

    Parameters
    ----------
    path : str or path
    limit : int, optional
        Number of bytes that the file may decompress to. Default: see `whoknows.io.size_limit`.

    Returns
    -------
    CrowdClassifier, CrowdRegressor or AutoCrowdClassifier
        The fitted estimator. Its arrays are read-only.

    Examples
    --------
    >>> import os, tempfile
    >>> import whoknows
    >>> model = whoknows.CrowdClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.whoknows")
    ...     model.save(path)
    ...     again = whoknows.load(path)
    >>> again.predict([[0.5], [2.5]])
    array([0, 1])
    """
    return _read(path, limit, check_model)


def save_step(result: Any, path: Path) -> None:
    """Write the result of one step of a fit, for a checkpoint."""
    _write(CheckpointStep(result), path)


def load_step(path: Path) -> Any:
    """Read what `save_step` wrote."""
    return _read(path, None, lambda step: step.result)


def _write(thing: Any, path: Path) -> None:
    written = Written.of(thing, path)
    text = json.dumps(
        {
            "format": FORMAT,
            "version": VERSION,
            "whoknows": whoknows.__version__,
            "arrays": written.digests,
            "objects": written.objects,
        },
        allow_nan=False,
    )
    replace_file(path, lambda temporary: pack(temporary, _members(text.encode(), written), path))


def _read(path: Path, limit: int | None, finish: Callable[[Any], Any]) -> Any:
    with opened(path, limit) as archive:
        content = _content(archive)
        names = [_name(number) for number in range(len(content["arrays"]))]
        surplus = archive.members.keys() - {"model.json", "model.sha256", *names}
        if surplus:
            raise FileError(path, f"holds {min(surplus)}, which its model.json does not name.")
        arrays = [
            read_array(archive.read(name, str(expected)), path, name)
            for name, expected in zip(names, content["arrays"], strict=True)
        ]
    try:
        return finish(read_model(content["objects"], arrays))
    except NOT_A_MODEL as error:
        raise FileError(
            path,
            f"does not make sense: {error}. It says that whoknows {content.get('whoknows')} wrote it; this "
            f"is whoknows {whoknows.__version__}.",
        ) from None


def _members(text: bytes, written: Written) -> Iterator[tuple[str, bytes]]:
    yield "model.json", text
    yield "model.sha256", digest(text).encode()
    for number, array in enumerate(written.arrays):
        yield _name(number), array_bytes(array)


def _name(number: int) -> str:
    return f"arrays/{number}.npy"


def _content(archive: Archive) -> dict[str, Any]:
    """Return the content of model.json, if it is undamaged and of a version that can be read."""
    text = archive.read("model.json", archive.read("model.sha256").decode("latin-1"))
    content = _parsed(text, archive.path)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FileError(archive.path, f"is not a model file: its model.json does not say {FORMAT!r}.")
    version, writer = content.get("version"), content.get("whoknows")
    if type(version) is not int or version < 1:
        raise FileError(archive.path, f"has version {version!r}; expected an integer of at least 1.")
    if version > VERSION:
        raise FileError(
            archive.path,
            f"was written by whoknows {writer} as version {version} of model files; this whoknows, "
            f"{whoknows.__version__}, reads version {VERSION}. Upgrade: pip install --upgrade whoknows",
        )
    surplus = content.keys() - {"format", "version", "whoknows", "arrays", "objects"}
    if surplus:
        raise FileError(
            archive.path, f"has a model.json with {min(surplus)[:80]!r}, which has no place there."
        )
    if not all(isinstance(content.get(key), list) for key in ("arrays", "objects")):
        raise FileError(archive.path, "has a model.json without its arrays or objects.")
    return content


def _parsed(text: bytes, path: Path) -> Any:
    refuse_large_json(text, path)
    try:
        return json.loads(text)
    except RecursionError:
        raise FileError(path, "has a model.json nested deeper than any model is.") from None
    except ValueError as error:
        raise FileError(path, f"has a model.json that cannot be read ({error}).") from None
