"""Overview of a project: progress of the labelling, consensus, agreement, and what the last fit changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from whoknows.apps.charts import Html, bar, bullets, el, fold, join, lead, note, table, tiles
from whoknows.apps.report import formatting as fmt
from whoknows.apps.report import overview as report
from whoknows.apps.report.annotators import agreement
from whoknows.apps.report.items import calibration, certainty_histogram
from whoknows.apps.report.scales import CategoricalScale, scale_of
from whoknows.apps.web.pages.shell import PageLinks, section
from whoknows.insight.summary import Summary
from whoknows.insight.summary.text import Facts

SHOWN = 12  # annotators and items that are listed


@dataclass(frozen=True)
class Progress:
    """How far the labelling is, now.

    Parameters
    ----------
    n_items, n_labelled, n_gold : int
        All items, those with a label, and those whose truth was decided.
    by_annotator : dict from name to number of labels
    n_new : int
        Labels given, changed or removed since the last fit read them.
    """

    n_items: int
    n_labelled: int
    n_gold: int = 0
    by_annotator: dict[str, int] = field(default_factory=dict)
    n_new: int = 0

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return sum(self.by_annotator.values())


def overview(summary: Summary | None, progress: Progress, changed: Facts | None, links: PageLinks) -> Iterator[Html]:
    """Content of the page; before the first fit, only the progress."""
    yield tiles(list(_numbers(summary, progress)))
    yield section("Labelling progress", *_progress(progress, links), id="progress")
    if summary is None:
        return
    scale = scale_of(summary)
    if changed is not None:
        yield section("What the last fit changed", *_changes(changed, scale, links), id="changes")
    yield section("Consensus", *_consensus(summary, scale), id="consensus")
    yield section("Agreement", *agreement(summary), id="agreement")
    yield section("Data and model", *report.overview(summary), id="model")


def _numbers(summary: Summary | None, progress: Progress) -> Iterator[tuple[str, str]]:
    """Numbers to see first; counts are of now, the rest is of the last fit."""
    yield fmt.whole(progress.n_items), f"items, {fmt.whole(progress.n_labelled)} with labels"
    yield fmt.whole(progress.n_labels), "labels"
    yield fmt.whole(len(progress.by_annotator)), "annotator" if len(progress.by_annotator) == 1 else "annotators"
    if progress.n_gold:
        yield fmt.whole(progress.n_gold), "gold items"
    if summary is None:
        return
    if "n_sure" in summary.answer:
        yield fmt.percent(summary.answer["n_sure"] / summary.given["n_items"]), "of the items certain"
    yield fmt.whole(summary.answer["n_overruled"]), scale_of(summary).words["overruled"]
    if summary.agreement.get("alpha") is not None:
        yield f"{summary.agreement['alpha']:.2f}", "agreement (alpha)"


# --- progress ---------------------------------------------------------------------------------------


def _progress(progress: Progress, links: PageLinks) -> Iterator[Html]:
    if not progress.n_items:
        yield lead("This project has no items yet. ", el("a", "Import a file", href=links.to("data")), " to begin.")
        return
    share = progress.n_labelled / progress.n_items
    yield el("div", bar(share), cls="wide-bar")
    items = f"{fmt.whole(progress.n_labelled)} of {fmt.counted(progress.n_items, 'item')}"
    yield lead(
        f"{items} ({fmt.percent(share)}) have a label.",
        f" {fmt.counted(progress.n_new, 'label')} since the last fit." if progress.n_new else "",
    )
    if progress.by_annotator:
        yield _by_annotator(progress.by_annotator, links)
    else:
        label, data = (
            el("a", text, href=links.to(page)) for text, page in (("Label items", "label"), ("import labels", "data"))
        )
        yield el("p", label, " here, or ", data, "; then fit.")


def _by_annotator(counts: dict[str, int], links: PageLinks) -> Html:
    most = max(counts.values())
    order = sorted(counts.items(), key=lambda pair: -pair[1])
    rows = [(links.annotator(name), bar(n / most), fmt.whole(n)) for name, n in order[:SHOWN]]
    shown = table(("annotator", "", "labels"), rows, (2,), cls="bars")
    rest = len(order) - SHOWN
    return join([shown, note(f"And {fmt.counted(rest, 'annotator')} with fewer labels.") if rest > 0 else None])


# --- changes ----------------------------------------------------------------------------------------


def _changes(facts: Facts, scale: CategoricalScale, links: PageLinks) -> Iterator[Html]:
    """Compared with the fit before: labels added, consensus flips, annotators that moved."""
    flips, moved, n = facts["flips"], facts["moved"], facts["n_labels"]
    added = f"{fmt.counted(abs(n), 'label')} {'added' if n > 0 else 'removed'}" if n else "No labels added"
    yield lead(
        f"{added} since the fit before. The consensus of {fmt.counted(len(flips), 'item')} changed; ",
        f"{fmt.counted(len(moved), 'annotator')} left the earlier 90% interval.",
    )
    if facts["new"]:
        yield el("p", "New: ", fmt.listed([links.annotator(name) for name in facts["new"][:SHOWN]]), ".")
    if moved:
        yield bullets(_move(each, scale, links) for each in moved[:SHOWN])
    if flips:
        yield fold(f"Items whose consensus changed ({fmt.whole(len(flips))})", _flips(flips, scale, links))


def _move(each: Facts, scale: CategoricalScale, links: PageLinks) -> Html:
    return join([links.annotator(each["annotator"]), f": {scale.skill(each['before'])} → {scale.skill(each['after'])}"])


def _flips(flips: list[Facts], scale: CategoricalScale, links: PageLinks) -> Html:
    rows = [
        (
            links.item(flip["item"]),
            scale.label(flip["before"]),
            scale.label(flip["consensus"]),
            fmt.percent(flip.get("confidence")),
        )
        for flip in flips[:SHOWN]
    ]
    more = note(f"The {SHOWN} most certain of {fmt.whole(len(flips))}.") if len(flips) > SHOWN else None
    return join([table(("item", "before", "now", "probability"), rows, (3,)), more])


# --- consensus --------------------------------------------------------------------------------------


def _consensus(summary: Summary, scale: CategoricalScale) -> Iterator[Html]:
    facts = summary.answer
    yield scale.consensus_lead(summary)
    yield el("div", scale.distribution(facts), certainty_histogram(facts["histogram"], scale), cls="columns")
    yield calibration(facts.get("calibration", {})) or Html()
