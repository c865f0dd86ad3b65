"""Fits: how far the present one is, its bound, and the fits before."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from whoknows.apps.charts import Html, bar, curve, el, note, table
from whoknows.apps.report import formatting as fmt
from whoknows.apps.web.pages.shell import Visit, button, section
from whoknows.apps.web.pages.times import ago, duration, moment
from whoknows.apps.web.store.fits import Fit

OPEN = ("queued", "running")


def fits_page(fits: Sequence[Fit], n_new: int, visit: Visit) -> Iterator[Html]:
    """Content of the page; ``fits`` has the newest first."""
    yield progress(fits[0] if fits else None, visit)
    if not (fits or n_new):
        yield note("There is no fit yet. The first one needs items with labels.")
    elif visit.is_lead and not (fits and fits[0].state in OPEN):
        yield visit.form(visit.links.to("fits"), button("Fit now", cls="primary"), _since(fits, n_new), cls="tools")
    if fits:
        yield section("Fits so far", _table(fits))


def _since(fits: Sequence[Fit], n_new: int) -> Html:
    if not any(fit.state == "done" for fit in fits):
        return note("There is no fit yet.")
    since = fmt.counted(n_new, "new or changed label") if n_new else "No new label"
    return note(f"{since} since the last fit.")


def progress(fit: Fit | None, visit: Visit) -> Html:
    """How far the newest fit is; the script fetches it again while the fit is open."""
    if fit is None:
        return el("div", id="fit", data_state="none")
    return el(
        "div",
        el("p", sentence(fit), role="status"),
        *_details(fit, visit),
        id="fit",
        cls=f"fit {fit.state}",
        data_state=fit.state,
        data_source=visit.links.to("fits", "progress"),
    )


def sentence(fit: Fit) -> str:
    """State of a fit in words."""
    if fit.state == "queued":
        return "A fit is waiting for its turn."
    if fit.state == "running":
        return f"A fit is running: {_how_far(**fit.progress)}."
    if fit.state == "failed":
        return f"The last fit failed. {fit.error or ''}"
    if fit.state == "cancelled":
        return "The last fit was cancelled."
    return f"The last fit finished {ago(time.time() - (fit.finished or 0))}."


def _how_far(done: int, total: int | None, **more: Any) -> str:
    if not total:
        return f"iteration {done}" if done else "it has just begun"
    return f"{fmt.percent(done / total)} done" if done < total else "results are being written"


def _details(fit: Fit, visit: Visit) -> Iterator[Html]:
    done, total, bound = (fit.progress.get(key) for key in ("done", "total", "bound"))
    if fit.state == "running" and total:
        yield el("div", bar(min(done / total, 1)), cls="wide-bar")
    if bound and len(bound) > 1:
        yield curve(
            bound,
            f"Bound of the log-likelihood after each of {len(bound)} iterations, {bound[0]:.4g} to {bound[-1]:.4g}",
        )
        yield note(_caption(fit))
    elif fit.state == "done":
        yield note("There is no curve to draw: this fit reported no bound of the log-likelihood, or a single one.")
    if fit.state in OPEN and visit.is_lead:
        yield visit.form(visit.links.to("fits", str(fit.id), "cancel"), button("Cancel"))
    if fit.state == "failed":
        yield note("Change what the message names, then fit again. Labels are not lost.")


def _caption(fit: Fit) -> str:
    """Whose bound is drawn."""
    member, bound = fit.progress.get("member"), fit.progress["bound"]
    curve = f"Lower bound of the log-likelihood by iteration, {bound[0]:.5g} to {bound[-1]:.5g}"
    if not member:
        return f"{curve}. It rises until the fit has converged."
    which = "with most weight" if fit.state == "done" else "that is fitted now"
    return f"{curve}, of the model {which}: {member}."


def _table(fits: Sequence[Fit]) -> Html:
    rows = [
        (
            str(fit.id),
            moment(fit.requested),
            fit.state,
            fmt.NOTHING if fit.n_annotations is None else fmt.whole(fit.n_annotations),
            duration(fit.finished - fit.started) if fit.finished and fit.started else fmt.NOTHING,
            fit.error or "",
        )
        for fit in fits
    ]
    return table(("fit", "requested (UTC)", "state", "labels", "time", ""), rows, (0, 3, 4), cls="fits")


def status(fits: Sequence[Fit], n_new: int, visit: Visit) -> Html:
    """One line about the fits, on other pages: what the numbers rest on, and a button to renew them."""
    newest = fits[0] if fits else None
    done = next((fit for fit in fits if fit.state == "done"), None)
    words = [el("span", sentence(newest) if newest else "There is no fit yet.", role="status")]
    if newest and newest.state in OPEN:
        source = visit.links.to("fits", "progress")
        words.append(el("a", "Watch", href=visit.links.to("fits")))
        return el("div", words, id="fit", cls="status", data_state=newest.state, data_source=source)
    if newest and newest.state == "failed" and done:
        words.append(el("span", f"Shown is the fit of {ago(time.time() - (done.finished or 0))}."))
    if n_new and done:
        words.append(el("span", f"{fmt.counted(n_new, 'label')} since."))
    if visit.is_lead and n_new:
        words.append(visit.form(visit.links.to("fits"), button("Fit again" if done else "Fit now")))
    return el("div", words, cls="status")
