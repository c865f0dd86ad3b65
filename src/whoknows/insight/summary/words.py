"""Items as people know them: their ids, and their text or picture where given."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from whoknows.data.errors import InputError
from whoknows.insight.summary.plain import Facts, names

LONGEST = 280  # characters of a text that are shown
LARGEST = 48_000  # bytes of a picture that is put into the summary
ALL_PICTURES = 600_000  # bytes of them all
MAGIC = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif", b"RIFF": "webp"}


@dataclass(frozen=True)
class Words:
    """What to call each item.

    Attributes
    ----------
    ids : list
        As JSON knows them.
    text, images : list or None
        One an item, None where there is none.
    """

    ids: list[Any]
    text: list[Any] | None
    images: list[Any] | None
    _pictures: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, known: Sequence[Any], ids: Any, text: Any, images: Any) -> Words:
        """Read what the user gave: one an item, or by item id."""
        shown = known if ids is None else ids
        if len(shown) != len(known):
            raise InputError(
                f"ids= must have one entry for each of the {len(known)} items; got {len(shown)}."
            )
        return cls(names(shown), _one_each(text, known, "text="), _one_each(images, known, "images="))

    def of_item(self, row: int, longest: int = LONGEST) -> Facts:
        """Id of an item, and its text and picture where there are any."""
        found: Facts = {"item": self.ids[row]}
        text = self.line(row, longest)
        if text:
            found["text"] = text
        if self.images is not None and self.images[row] is not None:
            found["image"] = self._picture(row)
        return found

    def line(self, row: int, longest: int = LONGEST) -> str:
        """Text of an item on one line, cut if it is long; empty if there is none."""
        if self.text is None or self.text[row] is None:
            return ""
        text = " ".join(str(self.text[row])[: 4 * longest].split())
        return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"

    def _picture(self, row: int) -> str:
        """Small file as a data URI, any other file as its path; a string as it is.

        Strings are never opened: they may come from someone else's file.
        """
        assert self.images is not None
        image = self.images[row]
        if not isinstance(image, os.PathLike):
            return str(image)
        if row not in self._pictures:
            spent = sum(len(seen) for seen in self._pictures.values() if seen.startswith("data:"))
            path = os.fspath(image)
            self._pictures[row] = path if spent > ALL_PICTURES else embed(path)
        return self._pictures[row]


def embed(path: str) -> str:
    """Small picture file as a data URI; the path itself of anything else."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > LARGEST:
            return path
        with open(path, "rb") as file:
            content = file.read(LARGEST)
    except (OSError, ValueError):  # no such name on this system, or not ours to read: the path is still shown
        return path
    kind = next((kind for magic, kind in MAGIC.items() if content.startswith(magic)), None)
    return path if kind is None else f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def _one_each(values: Any, known: Sequence[Any], name: str) -> list[Any] | None:
    """One value an item, from a list in the order of the items or a mapping from their ids."""
    if values is None:
        return None
    if isinstance(values, Mapping):
        return [values.get(item) for item in known]
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    if len(listed) != len(known):
        raise InputError(
            f"{name} must have one entry for each of the {len(known)} items, or be a mapping from item ids; "
            f"got {len(listed)}."
        )
    return [None if value is None or value != value else value for value in listed]
