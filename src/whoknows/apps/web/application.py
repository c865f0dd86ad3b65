"""create_app: the web app, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from whoknows.apps.web import pages
from whoknows.apps.web.jobs.runner import Runner
from whoknows.apps.web.security.headers import SafeHeaders
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
        title="whoknows", docs_url=None, redoc_url=None, openapi_url="/api/v1/openapi.json", lifespan=_lifespan
    )
    app.state.settings, app.state.store = settings, store or Store(settings.url)
    app.state.results = pages.FitResults()
    app.include_router(pages.router)
    app.add_middleware(SafeHeaders, hosts=settings.hosts)
    app.add_exception_handler(InputError, _refused)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    runner = Runner(app.state.store) if app.state.settings.works else None
    if runner is not None:
        runner.start()
    yield
    if runner is not None:
        await run_in_threadpool(runner.stop)
    app.state.store.close()


def _refused(request: Request, error: Exception) -> JSONResponse:
    """Answer that something cannot be done, and why."""
    status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 422)
    return JSONResponse({"detail": str(error)}, status)
