"""A worker carries out a fit that it has claimed."""

from __future__ import annotations

import traceback
from typing import Any

from whoknows.apps.web.jobs import fitting
from whoknows.apps.web.jobs.fitting import Progress
from whoknows.apps.web.store import Store, fits, projects
from whoknows.apps.web.store.fits import Fit
from whoknows.data.errors import InputError


def fit_now(store: Store, project_id: int, worker: str = "here") -> Fit:
    """Fit a project in this process; return the fit, done or failed."""
    with store.write() as db:
        fits.request(db, project_id)
        claimed = fits.claim(db, worker)
    if claimed is None:
        raise InputError("The project is being fitted already. Wait for that fit, or cancel it.")
    carry_out(store, claimed, lambda done, total, bound: None)
    with store.read() as db:
        return fits.by_id(db, claimed.id)


def carry_out(store: Store, fit: Fit, progress: Progress) -> None:
    """Read the project, fit it and store the results, or why it failed."""
    assert fit.worker is not None
    try:
        results = _results(store, fit, progress)
    except Exception as error:  # whatever went wrong is shown with the fit: nobody reads this process's output
        with store.write() as db:
            fits.fail(db, fit.id, fit.worker, _explanation(error))
        return
    with store.write() as db:
        fits.finish(db, fit.id, fit.worker, results)


def _results(store: Store, fit: Fit, progress: Progress) -> Any:
    with store.read() as db:
        data = fitting.read(db, projects.by_id(db, fit.project_id))
    with store.write() as db:
        fits.start(db, fit.id, data.annotations.n_annotations, data.last_event)
    return fitting.fit(data, progress)


def _explanation(error: Exception) -> str:
    """Return the message of an error that a user can act on; otherwise also where it happened."""
    if isinstance(error, (InputError, FloatingPointError)):
        return str(error)
    return "".join(traceback.format_exception(error)[-3:])
