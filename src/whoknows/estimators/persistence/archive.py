"""Zip archives of model files: nothing is unpacked before the table of contents makes sense."""

from __future__ import annotations

import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import BinaryIO

from whoknows.data.errors import Advice
from whoknows.io.errors import Path
from whoknows.io.labels import FileError

LIMIT = 1 << 34  # bytes a file may unpack to
MOST_JSON = 1 << 26  # bytes of model.json: parsed, JSON takes some twenty times its length
MOST_PACKED = 100  # times smaller than its content a member may be; what packs better is stored as it is
LEAST_PACKED = 1.1  # and at least, or packing does not pay
SAMPLE = 1 << 20  # bytes that tell whether packing may pay

_NAMES = re.compile(r"model\.json|model\.sha256|arrays/(0|[1-9][0-9]{0,5})\.npy")
_WAYS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError)


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return sha256(data).hexdigest()


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
def opened(path: Path, limit: int) -> Iterator[Archive]:
    """Open an archive of known names that unpacks to no more than ``limit`` bytes."""
    with _open(path) as file:
        with _damage(path):
            archive = zipfile.ZipFile(file)
        members = archive.infolist()
        _check_names([info.orig_filename for info in members], path)
        _check_sizes(members, os.fstat(file.fileno()).st_size, limit, path)
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
