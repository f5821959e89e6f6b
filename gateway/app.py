"""The HTTP application: `uvicorn gateway.app:create --factory`."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from starlette.requests import ClientDisconnect

from domain.jobs.failures import Transient
from gateway import health, webhooks
from gateway.request_ids import RequestRecorder
from gateway.resources import Resources
from observability import logs
from settings import Settings, load

log = structlog.get_logger(__name__)

RETRY_AFTER_S = 10


def create() -> FastAPI:
    """The application of this process, from the environment, with its log records redacted."""
    settings = load()
    logs.configure(settings.log_level)
    send_server_logs_to_ours()
    return create_app(settings)


def create_app(settings: Settings) -> FastAPI:
    """An application with the given settings; it connects when the first request needs it."""
    resources = Resources.of(settings)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        resources.database.dispose()

    app = FastAPI(title="Postroom", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.resources = resources
    app.include_router(health.router)
    app.include_router(webhooks.router)
    app.add_exception_handler(Transient, answer_unavailable)
    app.add_exception_handler(ClientDisconnect, answer_nobody)
    app.add_middleware(RequestRecorder)
    return app


async def answer_unavailable(_request: Request, failure: Exception) -> Response:
    """Something that passes: 503, so that the caller comes again; the reason stays in the log."""
    code = failure.code if isinstance(failure, Transient) else "transient"
    log.warning("unavailable", code=code, reason=logs.sanitise(failure))
    return JSONResponse({"error": code}, 503, {"Retry-After": str(RETRY_AFTER_S)})


async def answer_nobody(_request: Request, _failure: Exception) -> Response:
    """The caller left in the middle of its body."""
    return Response(status_code=400)


def send_server_logs_to_ours() -> None:
    """Send uvicorn's records through the redacting formatter, but for its access log: requests are recorded here."""
    for name in ("uvicorn", "uvicorn.error"):
        server = logging.getLogger(name)
        server.handlers.clear()
        server.propagate = True
    access = logging.getLogger("uvicorn.access")
    access.handlers.clear()
    access.propagate = False
