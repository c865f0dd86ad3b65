"""create_app: the web app, put together."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from whoknows import __version__
from whoknows.apps.web import api, observing, pages
from whoknows.apps.web.exchange.reader import Reader
from whoknows.apps.web.jobs.recording import recorder
from whoknows.apps.web.jobs.runner import Runner
from whoknows.apps.web.label_studio import backend
from whoknows.apps.web.observing import Observe, Requests
from whoknows.apps.web.pages.error_page import error_answer, is_for_people
from whoknows.apps.web.results import FitResults
from whoknows.apps.web.security import sign_in
from whoknows.apps.web.security.access import SignInNeeded, admit
from whoknows.apps.web.security.headers import HEADERS, SafeHeaders
from whoknows.apps.web.security.limits import LimitedBodies
from whoknows.apps.web.security.passwords import new_secret
from whoknows.apps.web.settings import ServerSettings
from whoknows.apps.web.store import Store
from whoknows.apps.web.store.errors import Conflict, NotFound, TooLarge
from whoknows.data.errors import InputError

STATUS: dict[type[InputError], int] = {NotFound: 404, Conflict: 409, TooLarge: 413}


def create_app(settings: ServerSettings, store: Store | None = None) -> FastAPI:
    """Return the web app.

    Parameters
    ----------
    settings : ServerSettings
    store : Store, optional
        Default: the one that the settings name; it is opened now and closed with the app.
    """
    app = FastAPI(
        title="whoknows",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=_lifespan,
        dependencies=[Depends(admit)],
    )
    state = app.state
    state.settings, state.store = settings, store or Store(settings.url)
    state.csrf, state.results = new_secret(), FitResults()
    state.reader, state.requests, state.recorder = Reader(), Requests(), recorder(state.store)
    for router in (api.router, pages.router, sign_in.router, backend.router, observing.router):
        app.include_router(router)
    app.get("/api/v1/openapi.json", include_in_schema=False)(app.openapi)
    app.add_middleware(LimitedBodies, max_body=settings.max_body, max_upload=settings.max_upload)
    app.add_middleware(SafeHeaders, hosts=settings.hosts)
    app.add_middleware(Observe, requests=state.requests)  # the last one sees the request first
    app.add_exception_handler(InputError, _refused)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(SignInNeeded, _ask_to_sign_in)
    app.add_exception_handler(Exception, _unexpected)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    runner = Runner(app.state.store) if app.state.settings.works else None
    if runner is not None:
        runner.start()
    yield
    if runner is not None:
        await run_in_threadpool(runner.stop)
    await run_in_threadpool(app.state.recorder.close)
    app.state.reader.close()
    app.state.store.close()


def _ask_to_sign_in(request: Request, error: Exception) -> Response:
    """Answer that nobody is signed in: a person gets the page for it."""
    if request.url.path.startswith("/api/"):
        return JSONResponse({"detail": "Sign in, or send a token."}, 401, {"WWW-Authenticate": "Bearer"})
    return RedirectResponse("/sign-in", 303)


def _refused(request: Request, error: Exception) -> Response:
    """Answer that something cannot be done, and why."""
    status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 422)
    return error_answer(request, status, str(error))


def _http_error(request: Request, error: Exception) -> Response:
    """Answer that there is no such page, or that it is not for this visitor."""
    assert isinstance(error, HTTPException)
    told = "There is nothing at this address." if error.detail == "Not Found" else str(error.detail)
    return error_answer(request, error.status_code, told, error.headers)


def _unexpected(request: Request, error: Exception) -> Response:
    """Answer that something went wrong; outside of the middleware, so that headers are added here."""
    told = "Something went wrong on the server. Its log says what; try again, or tell whoever runs it."
    return error_answer(request, 500, told, HEADERS)


def _invalid(request: Request, error: Exception) -> Response:
    """Answer which fields are not as expected; what came in is not repeated, as JSON cannot hold all of it."""
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if is_for_people(request):
        return error_answer(request, 422, f"{found[0]['loc'][-1]}: {found[0]['msg']}.")
    told = [{name: each[name] for name in ("type", "loc", "msg")} for each in found]
    return Response(json.dumps({"detail": told}), 422, media_type="application/json")
