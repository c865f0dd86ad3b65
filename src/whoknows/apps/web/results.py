"""Results of fits in memory: read from the store once, since they never change."""

from __future__ import annotations

import tempfile
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from sqlalchemy import Connection

from whoknows._array import Array
from whoknows.apps.web.jobs.fitting import features, read
from whoknows.apps.web.store import fits
from whoknows.apps.web.store.fits import Fit
from whoknows.apps.web.store.items import Item
from whoknows.apps.web.store.projects import Project
from whoknows.insight.contributions import Contributions, contributions
from whoknows.insight.summary import Summary
from whoknows.insight.summary.changes import changes
from whoknows.insight.summary.text import Facts, Table

HISTORY = 12  # fits that the history of an annotator goes back


class Recent:
    """The last few values that were asked for, each computed once."""

    def __init__(self, size: int) -> None:
        self.size, self._values, self._lock = size, OrderedDict[Any, Any](), Lock()

    def get(self, key: Any, compute: Callable[[], Any]) -> Any:
        """Return the value of a key."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = compute()  # outside the lock: others need not wait
        with self._lock:
            self._values[key] = value
            while len(self._values) > self.size:
                self._values.popitem(last=False)
        return value


@dataclass(frozen=True)
class Why:
    """Why an item has its consensus.

    Parameters
    ----------
    classes : list of str
        Those of the fit.
    labels : rows of n_labels with annotator and label
        Labels that the fit can read: not those with a class that was added since.
    contributions : Contributions
        Of these labels, and of the features.
    """

    classes: list[str]
    labels: Sequence[Any]
    contributions: Contributions


class FitResults:
    """Summaries, models and features of the last fits."""

    def __init__(self) -> None:
        self._summaries, self._rankings, self._models, self._features = Recent(6), Recent(200), Recent(3), Recent(1)

    def summary(self, db: Connection, fit: Fit) -> Summary:
        """Return the summary of a fit."""
        return self._summaries.get(_key(fit), lambda: Summary.from_json(fits.summary(db, fit.id)))

    def changes(self, db: Connection, project_id: int) -> Facts | None:
        """Compare the last two fits; None if there are not two."""
        done = _done(db, project_id)[:2]
        return changes(self.summary(db, done[1]), self.summary(db, done[0])) if len(done) == 2 else None

    def rankings(self, db: Connection, project_id: int) -> list[tuple[Fit, Table]]:
        """Return the table of annotators of the last fits, the oldest first."""
        return [(fit, self._ranking(db, fit)) for fit in reversed(_done(db, project_id)[:HISTORY])]

    def history(self, db: Connection, project_id: int, annotator: str) -> list[Facts]:
        """Return the row of an annotator in the last fits that know them, the oldest first, and ``when`` it was."""
        rows = [(fit.finished, row_of(table, annotator)) for fit, table in self.rankings(db, project_id)]
        return [{"when": when, **row} for when, row in rows if row is not None]

    def _ranking(self, db: Connection, fit: Fit) -> Table:
        return self._rankings.get(_key(fit), lambda: Summary.from_json(fits.summary(db, fit.id)).annotators)

    def why(self, db: Connection, project: Project, fit: Fit, item: Item, labels: Sequence[Any]) -> Why | None:
        """Return what labels and features contribute to the posterior of an item; None where that is not known."""
        model = self._models.get(_key(fit), lambda: _load(fits.model(db, fit.id)))
        x = self._x(db, project, fit, item)
        if not hasattr(model, "classes_") or x is None or len(x) != model.n_features_in_:
            return None
        classes = [str(name) for name in model.classes_]
        read = [row for row in labels if row.label in classes]
        found = contributions(model, x, [row.annotator for row in read], [row.label for row in read])
        return Why(classes, read, found)

    def _x(self, db: Connection, project: Project, fit: Fit, item: Item) -> Array | None:
        """Return the features of an item; those of texts depend on all texts."""
        if item.features is not None:
            return np.asarray(item.features, dtype=float)
        known = self._features.get(_key(fit), lambda: _by_item(db, project))
        return known.get(item.key)


def row_of(ranking: Table, annotator: str) -> Facts | None:
    """Facts of one annotator in the ranking, with the place; None if the fit does not know them."""
    names = [str(name) for name in ranking["annotator"]]
    if annotator not in names:
        return None
    place = names.index(annotator)
    return {"place": place + 1, **{key: column[place] for key, column in ranking.items()}}


def profile_of(summary: Summary, annotator: str) -> Facts | None:
    """Regions and confusions of one annotator; of many annotators only a selection has them."""
    return next((each for each in summary.profiles if str(each["annotator"]) == annotator), None)


def _key(fit: Fit) -> tuple[int, float | None]:
    return fit.id, fit.finished  # SQLite may use the id of a deleted row again


def _done(db: Connection, project_id: int) -> list[Fit]:
    return [fit for fit in fits.every(db, project_id) if fit.state == "done"]


def _load(content: bytes) -> Any:
    from whoknows import load

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.whoknows"
        path.write_bytes(content)
        return load(path)


def _by_item(db: Connection, project: Project) -> dict[str, Array]:
    data = read(db, project)
    X, _ = features(data)
    return {item.key: x for item, x in zip(data.items, X, strict=True)}
