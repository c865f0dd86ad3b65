"""Exports: tables that are safe to open in a spreadsheet, the model and the report."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from whoknows.apps.web.store import fits, labels
from whoknows.apps.web.store.fits import Fit
from whoknows.apps.web.store.projects import Project
from whoknows.insight.summary import Summary

Columns = Mapping[str, Sequence[Any]]


def annotations(db: Connection, project: Project) -> bytes:
    """Return the current labels as CSV, which `whoknows fit` reads."""
    rows = labels.every(db, project.id)
    return csv({name: [getattr(row, name) for row in rows] for name in ("item", "annotator", "label")})


def consensus(db: Connection, fit: Fit) -> bytes:
    """Return what a fit says of each item as CSV."""
    return csv(Summary.from_json(fits.summary(db, fit.id)).consensus)


def annotators(db: Connection, fit: Fit) -> bytes:
    """Return what a fit says of each annotator as CSV."""
    return csv(Summary.from_json(fits.summary(db, fit.id)).annotators)


def report(db: Connection, project: Project, fit: Fit) -> bytes:
    """Return the report of a fit as an HTML page that needs no network."""
    from whoknows.apps.report import page

    return page(Summary.from_json(fits.summary(db, fit.id)), f"Who knows what: {project.title}").encode()


def csv(columns: Columns) -> bytes:
    """Return a table as CSV; text that a spreadsheet would take for a formula is escaped."""
    from whoknows.io.writing import write_table

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "table.csv")
        write_table(columns, path)
        with open(path, "rb") as file:
            return file.read()
