"""crowd-kit: a long table with the columns task, worker and label; the truth in a file of its own."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from whoknows.data.annotations import Annotations
from whoknows.data.vocabulary import Ids
from whoknows.io.containers import Content
from whoknows.io.labels import long
from whoknows.io.labels.format import Format, Options

_NAMES = {"item": "task", "annotator": "worker", "label": "label"}


def recognise(content: Content, options: Options) -> bool:
    """Whether the three columns are there."""
    return not options.columns and set(_NAMES.values()) <= set(content.names)


def columns(said: Annotations) -> Mapping[Hashable, Ids]:
    """Columns to write: the three, and no others."""
    written = long.columns(said)
    return {name: written[role] for role, name in _NAMES.items()}


FORMAT = Format(
    "crowdkit", "a long table with the columns task, worker, label", recognise, long.read, columns
)
