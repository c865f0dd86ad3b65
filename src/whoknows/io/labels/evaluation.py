"""Logs of evaluation tools: votes of judges on answers of models, collected one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from whoknows.data.errors import Advice, Message
from whoknows.data.vocabulary import factorize, show
from whoknows.io.containers import Content, must_have
from whoknows.io.labels.format import Options, RawLabels
from whoknows.io.labels.votes import SEPARATOR

Parts = tuple[Hashable, ...]  # of the name of an item: the question, then what else tells answers apart


@dataclass
class Votes:
    """Votes of a log, in the order in which they are found.

    Parameters
    ----------
    content : Content
    options : Options
    notes : list of str
    """

    content: Content
    options: Options
    notes: list[str] = field(default_factory=list)
    _items: list[Parts] = field(default_factory=list)
    _votes: list[tuple[Any, Any]] = field(default_factory=list)
    _about: list[Mapping[str, Any]] = field(default_factory=list)
    _text: dict[Parts, str] = field(default_factory=dict)
    _skipped: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add_item(self, item: Parts, about: Mapping[str, Any], *texts: Any) -> None:
        """Add an answer, judged or not: what is known about it, and texts such as question and answer."""
        self.add(item, None, None, about)
        words = [text for text in texts if isinstance(text, str)]
        if words:
            self._text[item] = "\n".join(words)

    def add(self, item: Parts, judge: Any, label: Any, about: Mapping[str, Any]) -> None:
        """Add a vote; a label of None is missing. The name of a judge is text, so that the user can choose it."""
        self._items.append(item)
        self._votes.append((None if judge is None else str(judge), label))
        self._about.append(about)

    def skip(self, one: str, several: str) -> None:
        """Count something that is left out, in words for one and for several."""
        self._skipped[one, several] += 1

    def finish(self) -> RawLabels:
        """Return the votes of the chosen judges, with names of items and columns to group by."""
        judges = self._chosen()
        votes = [(judge, label) if judge in judges else (None, None) for judge, label in self._votes]
        names = joined(self._items)
        labels = _alike([label for _, label in votes])
        raw = RawLabels(notes=self.notes)
        raw.columns = (
            factorize(names, "item"),
            factorize([judge for judge, _ in votes], "judge"),
            factorize(labels, "label"),
        )
        raw.extra = {
            name: factorize([_scalar(about.get(name)) for about in self._about], name) for name in self._kept()
        }
        raw.text = {
            name: self._text[parts] for name, parts in zip(names, self._items, strict=True) if parts in self._text
        }
        for (one, several), count in self._skipped.items():
            raw.note(count, one, several)
        _note_odd_judges(raw, [judge for judge, _ in votes], labels)
        return raw

    def _chosen(self) -> set[Any]:
        """Return the judges that the user chose, all by default."""
        judges = list(dict.fromkeys(judge for judge, _ in self._votes if judge is not None))
        for name in (*self.options.annotators, *self.options.ignore):
            must_have(judges, name, "judge", self.content.path)
        return set(self.options.annotators or judges) - set(self.options.ignore)

    def _kept(self) -> list[str]:
        """Return the names of the columns to keep; a log has names for what it always says."""
        known = list(dict.fromkeys(name for about in self._about for name in about))
        for name in self.options.keep:
            must_have(known, name, "column to keep called", self.content.path)
        return [name for name in known if name in (*ALWAYS, *self.options.keep)]


ALWAYS = ("model", "judge_model", "prompt")  # columns that are kept without being named


def joined(items: Sequence[Parts]) -> list[Hashable]:
    """Return names made of the parts that differ, and always of the first."""
    differ = [place for place, values in enumerate(zip(*items, strict=True)) if place == 0 or len(set(values)) > 1]
    if differ == [0]:
        return [parts[0] for parts in items]
    return [SEPARATOR.join(str(parts[place]) for place in differ if parts[place] not in (None, "")) for parts in items]


def _alike(labels: Sequence[Any]) -> list[Any]:
    """Return labels of which true and false are 1 and 0 if there are numbers as well."""
    numbers = any(isinstance(label, (int, float)) and not isinstance(label, bool) for label in labels)
    return [int(label) if numbers and isinstance(label, bool) else label for label in labels]


def _scalar(value: Any) -> Any:
    return None if isinstance(value, (dict, list)) else value


def _note_odd_judges(raw: RawLabels, judges: Sequence[Any], labels: Sequence[Any]) -> None:
    """Add a note on judges who share no label with any other: they may answer another question."""
    labels_of: dict[Any, set[Any]] = {}
    for judge, label in zip(judges, labels, strict=True):
        if judge is not None and label is not None:
            labels_of.setdefault(judge, set()).add(label)
    count = Counter(label for given in labels_of.values() for label in given)
    odd = [judge for judge, given in labels_of.items() if all(count[label] == 1 for label in given)]
    if odd and len(labels_of) > 1:
        raw.notes.append(
            Message(
                f"no other judge gives the labels of {show(odd)}; leave out who answers another question: ",
                Advice("ignore", f"ignore=[{odd[-1]!r}]", name=odd[-1]),
            )
        )


def members_of(content: Content, fits: Callable[[Content], bool]) -> list[Content]:
    """Return the logs of a file or folder; none if there is a file of another kind."""
    logs = [content] if content.members is None else list(content.members.values())
    return logs if all(map(fits, logs)) else []
