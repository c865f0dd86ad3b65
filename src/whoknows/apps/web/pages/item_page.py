"""Page of an item: what it is, who said what, the posterior and why, and the decision of a lead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from whoknows.apps.charts import Html, bar, bullets, el, fold, join, note, table
from whoknows.apps.report import formatting as fmt
from whoknows.apps.web.pages.item_view import item_view, label_text
from whoknows.apps.web.pages.shell import Visit, button, section
from whoknows.apps.web.pages.times import moment
from whoknows.apps.web.results import Why
from whoknows.apps.web.store.items import Item

SMALL = 0.005  # change of a probability that is called none
NOTICED = 0.01  # difference of two probabilities that is explained
HOW_TO_READ = (
    "Each line compares with the same model without that label. "
    "Labels support each other, so the changes need not add up."
)
NEWER = " Labels that came after the last fit are included here; the consensus above is that of the fit."


@dataclass(frozen=True)
class ItemFacts:
    """What is known about an item.

    Parameters
    ----------
    item : Item
    labels : rows with annotator, label, source, created
    classes : sequence of str or None
        None for numbers.
    gold : str, optional
        The truth, if it was decided.
    prediction : row, optional
        What the last fit says.
    why : Why, optional
        What the labels and the features contribute to the posterior.
    events : rows with annotator, kind, label, who, created
        History of the labels, the newest first.
    features : sequence of str
        Names of the features.
    """

    item: Item
    labels: Sequence[Any]
    classes: Sequence[str] | None
    gold: str | None = None
    prediction: Any = None
    why: Why | None = None
    events: Sequence[Any] = field(default_factory=list)
    features: Sequence[str] = ()


def item_page(facts: ItemFacts, visit: Visit) -> Iterator[Html]:
    """Content of the page."""
    shown = item_view(facts.item, facts.features)
    yield el(
        "div",
        el("div", shown),
        el("div", *_verdict(facts), *_decision(facts, visit), cls="card"),
        cls="columns item-columns",
    )
    yield section("Labels", _labels(facts, visit), id="labels")
    if facts.why is not None and facts.gold is None:
        yield section("Why", *_why(facts.why, facts.prediction.probabilities), id="why")
    if facts.events:
        yield section(
            "History", fold(f"{fmt.counted(len(facts.events), 'change')}", _events(facts.events)), id="history"
        )


# --- verdict ----------------------------------------------------------------------------------------


def _verdict(facts: ItemFacts) -> Iterator[Html]:
    """Consensus and the probability of each class; the truth if it was decided."""
    said = facts.prediction
    yield el("h2", "Consensus")
    if facts.gold is not None:
        yield el("p", "Gold: the truth is ", fmt.quoted(facts.gold), ".", cls="gold")
    if said is None:
        yield note("The last fit does not know this item. Fit again to see its consensus.")
        return
    if list(said.probabilities) == ["std"]:  # the fit was one of numbers
        yield el("p", el("b", label_text(said.label, None)), f" {fmt.plus_minus(said.probabilities.get('std'))}")
        return
    shares = sorted(said.probabilities.items(), key=lambda pair: -pair[1])[:8]
    yield table(
        ("class", "", "probability"),
        [(fmt.name(name), bar(share), fmt.percent(share)) for name, share in shares],
        (2,),
        cls="bars",
    )
    if said.overruled:
        yield note("The majority of the labels says ", fmt.quoted(said.vote), "; the model overrules it.")


def _decision(facts: ItemFacts, visit: Visit) -> Iterator[Html]:
    """Form with which a lead decides the truth."""
    if not visit.is_lead:
        return
    action = visit.links.to("items", facts.item.key)
    yield el("h3", "Decide the truth")
    if facts.classes is not None:
        choices = [
            button(name, name="label", value=name, aria_pressed=str(name == facts.gold).lower())
            for name in facts.classes
        ]
    else:
        number = el(
            "input", name="label", type="number", step="any", required=True, aria_label="True value", value=facts.gold
        )
        choices = [number, button("Save")]
    yield visit.form(action, el("div", choices, cls="choices"))
    if facts.gold is not None:
        yield visit.form(action, button("Withdraw the decision", cls="link"))
    yield note("The next fit takes the decision as gold: it is certain, and it shows how good the annotators are.")


# --- labels and their contributions -----------------------------------------------------------------


def _labels(facts: ItemFacts, visit: Visit) -> Html:
    if not facts.labels:
        return el("p", "No annotator has labelled this item yet.")
    rows = [
        (
            visit.links.annotator(row.annotator),
            el("b", el("bdi", label_text(row.label, facts.classes))),
            el("td", row.source, cls="roomy"),
            moment(row.created),
        )
        for row in facts.labels
    ]
    return table(("annotator", "label", el("th", "source", scope="col", cls="roomy"), "given"), rows, cls="given")


def _why(why: Why, fitted: dict[str, float]) -> Iterator[Html]:
    """In plain words, how features and labels lead to the consensus; ``fitted`` is the posterior of the fit."""
    found = why.contributions
    top = int(found.posterior.argmax())
    name, final = why.classes[top], float(found.posterior[top])
    features = float(found.from_features[top])
    alone = f" a probability of {fmt.percent(features)}. With all labels it is "
    yield el(
        "p", "From the features alone, the model gives ", fmt.quoted(name), alone, el("b", fmt.percent(final)), "."
    )
    if why.labels:
        effects = [final - float(prob[top]) for prob in found.without]
        order = sorted(range(len(effects)), key=lambda k: -abs(effects[k]))
        yield bullets((_effect(why.labels[k], name, effects[k], final) for k in order), cls="effects")
        yield note(HOW_TO_READ, NEWER if abs(final - fitted[name]) > NOTICED else "")


def _effect(row: Any, name: str, effect: float, final: float) -> Html:
    """What one label does to the probability of the consensus."""
    said = join([fmt.bold_name(row.annotator), " said ", fmt.quoted(row.label), ": "])
    before, after = fmt.percent(final - effect), fmt.percent(final)
    if before == after or abs(effect) < SMALL:
        return join([said, "makes hardly any difference."])
    verb = "raises" if effect > 0 else "lowers"
    return join([said, f"{verb} the probability of ", fmt.quoted(name), f" from {before} to {after}."])


def _events(events: Sequence[Any]) -> Html:
    rows = [
        (
            moment(event.created),
            fmt.name(event.annotator),
            "removed" if event.kind == "delete" else fmt.name(event.label),
            event.who,
        )
        for event in events
    ]
    return table(("when", "annotator", "label", "by"), rows)
