"""Errors about what a user gave; advice that the command line words differently is marked as such."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self


class Advice(str):
    """Part of a message that the command line words differently, such as ``duplicates='last'``.

    The string is the wording for Python. The command line looks up ``name`` in its own table and fills in
    ``values``.
    """

    name: str
    values: dict[str, Any]

    def __new__(cls, name: str, text: str, /, **values: Any) -> Self:
        """Return the text with its name and values."""
        advice = super().__new__(cls, text)
        advice.name, advice.values = name, values
        return advice


LONGEST = 4000  # characters of a part of a message: a name in a file may have millions


def _cut(part: str) -> str:
    """Return a part of a message, cut if it is too long to be read."""
    return part if len(part) <= LONGEST else f"{part[: LONGEST // 2]} … {part[-LONGEST // 2 :]}"


class Message(str):
    """Text made of parts, some of which may be `Advice`."""

    parts: tuple[str, ...]

    def __new__(cls, *parts: str) -> Self:
        """Return the joined parts; those of messages among them are taken over."""
        flat = [p for part in parts for p in (part.parts if isinstance(part, Message) else (_cut(part),))]
        message = super().__new__(cls, "".join(flat))
        message.parts = tuple(flat)
        return message

    def reworded(self, wordings: Mapping[str, str]) -> str:
        """Return the text with every advice replaced by its wording in a table, if it is there."""
        return "".join(
            wordings[part.name].format(**part.values) if isinstance(part, Advice) and part.name in wordings else part
            for part in self.parts
        )


class InputError(ValueError):
    """What a user gave cannot be used: the message says what was expected, what came and what to do.

    Parameters
    ----------
    parts : str
        Parts of the message, joined without a separator; some may be `Advice`.
    """

    @property
    def message(self) -> Message:
        """The message with its parts."""
        return Message(*self.args)

    def __str__(self) -> str:
        return str(self.message)
