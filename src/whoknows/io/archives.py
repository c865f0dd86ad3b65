"""Zip archives whose decompressed size is bounded."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable

from whoknows.io.encoding import refuse_expansion
from whoknows.io.errors import FileError, Path

MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_WAYS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError)


def unzip(data: bytes, path: Path, limit: int, keep: Callable[[str], bool]) -> dict[str, bytes]:
    """Return the files of a zip archive by name, those that ``keep`` accepts.

    No more is decompressed than the table of contents declares, whatever the archive holds.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
            if any(info.filename == "[Content_Types].xml" for info in infos):
                raise FileError(path, "is an Excel workbook or another Office document. Save it as CSV.")
            refuse_expansion(sum(info.file_size for info in infos), limit, path)
            odd = next((info.filename for info in infos if info.compress_type not in _WAYS), None)
            if odd is not None:
                raise FileError(path, f"packs {odd!r} in an unusual way. Zip it again.")
            return {info.filename: _member(archive, info) for info in infos if keep(info.filename)}
    except FileError:
        raise
    except _BROKEN as error:
        raise FileError(path, f"cannot be unpacked ({error}). Export it again, without a password.") from None


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Decompress one member up to its declared size; ``archive.read`` would not stop there."""
    with archive.open(info) as member:
        data = member.read(info.file_size)
    if len(data) != info.file_size:
        raise EOFError(f"{info.filename!r} is shorter than declared")
    return data
