"""The question of a labelling configuration that whoknows works on: one choice, or one rating, per task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from whoknows.apps.web.label_studio.client import LabelStudioError

KINDS = {"Choices": "choices", "Rating": "rating"}
RATING = 5  # stars, unless the configuration says otherwise
TEXTS = ("Text", "HyperText")
EXPECTED = "Expected a question with one answer per task: <Choices> with a single choice, or <Rating>"


@dataclass(frozen=True)
class Question:
    """A question of a labelling configuration.

    Parameters
    ----------
    name, about : str
        The control and the object that it is about, ``from_name`` and ``to_name`` in an annotation.
    kind : {"choices", "rating"}
    labels : tuple of str
        Possible answers; empty if each task brings its own.
    text : str or None
        Entry of a task's data with the text that the question is about.
    """

    name: str
    about: str
    kind: str
    labels: tuple[str, ...] = ()
    text: str | None = None

    def result(self, label: Any) -> list[dict[str, Any]]:
        """Return a label as the result of a prediction."""
        value = [label] if self.kind == "choices" else int(label)
        return [{"from_name": self.name, "to_name": self.about, "type": self.kind, "value": {self.kind: value}}]

    def text_of(self, data: Mapping[str, Any]) -> str | None:
        """Return the text of a task that the question is about; None if it is about something else."""
        text = data.get(self.text) if self.text else None
        return text if isinstance(text, str) else None

    def label(self, result: Any) -> str | None:
        """Return the label in the result of an annotation; None if this question has no, or no single, answer."""
        answers = [each for each in result or () if isinstance(each, dict) and each.get("from_name") == self.name]
        value = answers[0].get("value") if len(answers) == 1 else None
        label = value.get(self.kind) if isinstance(value, dict) else None
        if isinstance(label, list):
            label = label[0] if len(label) == 1 else None
        return None if label is None or isinstance(label, (dict, list)) else str(label)


def question_of(config: str, name: str | None = None) -> Question:
    """Return the question of a labelling configuration, or the one that is named.

    Parameters
    ----------
    config : str
        The configuration, XML.
    name : str, optional
        Name of the control; needed if there are several.
    """
    root = _parse(config)
    controls = [element for element in root.iter() if element.get("toName") and element.get("name")]
    usable = {str(element.get("name")): element for element in controls if _has_one_answer(element)}
    if name is None and len(usable) == 1:
        [name] = usable
    if name is None or name not in usable:
        raise LabelStudioError(_complaint(name, list(usable), controls))
    control, about = usable[name], str(usable[name].get("toName"))
    objects = {element.get("name"): element for element in root.iter() if element.get("value")}
    return Question(name, about, KINDS[control.tag], _labels(control), _text(objects.get(about)))


def _parse(config: str) -> ElementTree.Element:
    try:
        if "<!" in config.replace("<!--", ""):  # no entities, which can expand without end
            raise ElementTree.ParseError("it declares a document type")
        return ElementTree.fromstring(config)
    except ElementTree.ParseError as error:
        raise LabelStudioError(f"The labelling configuration cannot be read ({error}).") from None


def _has_one_answer(element: ElementTree.Element) -> bool:
    """Whether a control has one answer per task that is a label."""
    several = element.get("choice", "single").startswith("multiple")
    return element.tag in KINDS and not several and element.get("perRegion", "false").lower() != "true"


def _labels(control: ElementTree.Element) -> tuple[str, ...]:
    """Return the answers that a control offers; of a choice with an alias, annotations hold the alias."""
    if control.tag == "Rating":
        return tuple(str(stars) for stars in range(1, 1 + int(control.get("maxRating", RATING))))
    choices = [choice.get("alias") or choice.get("value") for choice in control.iter("Choice")]
    return tuple(dict.fromkeys(choice for choice in choices if choice))


def _text(element: ElementTree.Element | None) -> str | None:
    """Return the entry of the data that a text shows: text for value="$text"."""
    value = "" if element is None or element.tag not in TEXTS else str(element.get("value"))
    return value[1:] if value.startswith("$") and value[1:].isidentifier() else None


def _complaint(name: str | None, usable: list[str], controls: list[ElementTree.Element]) -> str:
    """Say why a configuration has no such question."""
    if name is not None and usable:
        return f"There is no question {name!r} with one answer; there are {', '.join(map(repr, usable))}."
    if usable:
        names = ", ".join(map(repr, usable))
        return f"The project has {len(usable)} questions: {names}. Choose one: --question {usable[0]}."
    found = ", ".join(f"<{element.tag} name={element.get('name')!r}>" for element in controls) or "no question"
    return f"{EXPECTED}; the project has {found}."
