"""Atomic writing: a file appears whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress

from whoknows.io.errors import FileError, Path


def replace(path: Path, write: Callable[[str], None]) -> None:
    """Let ``write`` fill a temporary file in the same folder, then move it to ``path`` in one step.

    Readers see the old file or the new one; if writing fails, the old one stays.
    """
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        raise FileError(path, "is not a file that can be replaced.")
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(4)}.part")
    try:
        write(temporary)
        if os.path.exists(target):
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except UnicodeEncodeError as error:
        raise FileError(
            path, f"cannot be written as UTF-8: {error.object[error.start]!r} is a lone surrogate."
        ) from None
    except OSError as error:
        raise FileError(path, f"cannot be written ({error.strerror or error}).") from None
    finally:
        with suppress(OSError):
            os.remove(temporary)


def write_lines(lines: Iterable[str], path: Path) -> None:
    """Write lines of text as UTF-8."""

    def write(temporary: str) -> None:
        with open(temporary, "x", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{line}\n" for line in lines)

    replace(path, write)
