"""Search for items: words, filters and order, with what the last fit says about each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, FromClause, Row, and_, func, or_, select

from whoknows.apps.web.store.schema import annotation, gold, item, prediction

CERTAIN = 0.9

Show = Literal["all", "labelled", "unlabelled", "disagreement", "uncertain", "overruled", "gold"]
Sort = Literal["added", "item", "uncertain", "certain", "disagreement", "labels"]


@dataclass(frozen=True)
class Search:
    """What is looked for.

    Parameters
    ----------
    q : str
        Part of the id or the text, in upper or lower case.
    show : str
        Which items: see `Show`.
    consensus : str
        Only items with this consensus; empty for all.
    sort : str
        In which order: see `Sort`.
    page, size : int
        Page of the list, from 1, and items per page.
    """

    q: str = ""
    show: Show = "all"
    consensus: str = ""
    sort: Sort = "added"
    page: int = 1
    size: int = 50


def search(db: Connection, project_id: int, fit_id: int | None, wanted: Search) -> tuple[Sequence[Row[Any]], int]:
    """Return one page of the items found, and how many there are.

    Rows have key, text, label (the consensus), confidence, probabilities, disagreement, vote, overruled, gold (the
    truth that was decided, or None) and n_labels, counted now.
    """
    # The number of labels is of now; everything about the consensus is of the last fit.
    counted = (
        select(annotation.c.item_id, func.count().label("n"))
        .where(annotation.c.project_id == project_id)
        .group_by(annotation.c.item_id)
        .subquery()
    )
    n_labels = func.coalesce(counted.c.n, 0)
    tables = (
        item.outerjoin(prediction, and_(prediction.c.item_id == item.c.id, prediction.c.fit_id == fit_id))
        .outerjoin(gold, gold.c.item_id == item.c.id)
        .outerjoin(counted, counted.c.item_id == item.c.id)
    )
    where = [item.c.project_id == project_id, *_conditions(wanted, n_labels)]
    number = db.execute(select(func.count()).select_from(tables).where(*where)).scalar_one()
    return _page(db, tables, where, n_labels, wanted), number


def _page(db: Connection, tables: FromClause, where: list[Any], n_labels: Any, wanted: Search) -> Sequence[Row[Any]]:
    said = [
        prediction.c[name] for name in ("label", "confidence", "probabilities", "disagreement", "vote", "overruled")
    ]
    columns = item.c.key, item.c.text, *said, gold.c.label.label("gold"), n_labels.label("n_labels")
    query = select(*columns).select_from(tables).where(*where).order_by(*_order(wanted.sort, n_labels))
    return db.execute(query.limit(wanted.size).offset((wanted.page - 1) * wanted.size)).all()


def _conditions(wanted: Search, n_labels: Any) -> list[ColumnElement[bool]]:
    conditions: dict[str, ColumnElement[bool]] = {
        "labelled": n_labels > 0,
        "unlabelled": n_labels == 0,
        "disagreement": prediction.c.disagreement > 0,
        "uncertain": and_(prediction.c.confidence < CERTAIN, gold.c.label.is_(None)),
        "overruled": prediction.c.overruled,
        "gold": gold.c.label.is_not(None),
    }
    found = [conditions[wanted.show]] if wanted.show in conditions else []
    if wanted.consensus:
        found.append(func.coalesce(gold.c.label, prediction.c.label) == wanted.consensus)
    if wanted.q:
        found.append(
            or_(item.c.key.icontains(wanted.q, autoescape=True), item.c.text.icontains(wanted.q, autoescape=True))
        )
    return found


def _order(sort: Sort, n_labels: Any) -> list[Any]:
    """Columns to sort by; items that the last fit does not know come last."""
    by: dict[str, Any] = {
        "item": [item.c.key],
        "uncertain": [prediction.c.confidence.asc().nulls_last()],
        "certain": [prediction.c.confidence.desc().nulls_last()],
        "disagreement": [prediction.c.disagreement.desc().nulls_last(), n_labels.desc()],
        "labels": [n_labels.desc()],
    }
    return [*by.get(sort, []), item.c.id]
