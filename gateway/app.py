"""The HTTP application: `uvicorn gateway.app:create --factory`."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import cache

from fastapi import APIRouter, FastAPI
from starlette.routing import BaseRoute

from domain.payloads.own_packages import load_or_end
from gateway import (
    artifact_links,
    decision_links,
    health,
    inbox_stream,
    interactions,
    receipts,
    unsubscribing,
    webhooks,
)
from gateway.api import artifacts, connecting, documentation, jobs, openapi, operations, rules, workflows
from gateway.console import visitors
from gateway.console.router import add_console, console_routers
from gateway.http import problems
from gateway.http.event_loop import EventLoopWatch
from gateway.http.request_ids import RequestRecorder
from gateway.http.resources import Resources
from gateway.oauth import google
from gateway.oauth.pages import PageRefusal, answer_page_refusal
from observability import logs, traces
from observability.health import Health
from observability.probes import show
from operations.fleet_checks import read_clock
from settings import Settings, load


def create() -> FastAPI:
    """The application of this process, from the environment, with its log records redacted.

    Packages with job types of their own are imported, for their payload classes.
    """
    settings = load()
    load_or_end(settings.jobs)
    logs.configure(settings.log_level)
    traces.configure(settings, "postroom-gateway")
    send_server_logs_to_ours()
    return create_app(settings)


def create_app(settings: Settings, *, machine_clock: Callable[[], datetime] = read_clock) -> FastAPI:
    """An application with these settings and this clock of the machine; it connects when the first request needs it."""
    resources = Resources.of(settings, machine_clock)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        watch, healthy = EventLoopWatch(), Health()
        healthy.add("event loop", watch.finding)
        turning = asyncio.create_task(watch.turn())
        probes = show(settings, healthy)
        yield
        turning.cancel()
        await asyncio.to_thread(traces.flush)
        if probes is not None:
            await asyncio.to_thread(probes.end)
        await asyncio.to_thread(resources.bells.stop)
        await asyncio.to_thread(stop_console)
        await asyncio.to_thread(resources.readiness.end)
        resources.database.dispose()

    # A redirect to the path without its slash would lead to whatever the header `Host` names, with a link's signature.
    app = FastAPI(
        title="Postroom",
        lifespan=lifespan,
        routes=[*routes(console=settings.console)],
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    app.state.resources = resources
    stop_console = add_console(app, settings)
    problems.add_handlers(app)
    visitors.add_handlers(app)
    app.add_exception_handler(PageRefusal, answer_page_refusal)
    app.add_middleware(RequestRecorder)
    return app


@cache
def routes(*, console: bool) -> Sequence[BaseRoute]:
    """All routes, with the console's or without, included once.

    For each inclusion FastAPI reads the signatures anew when the first request comes, a fifth of a second of CPU.
    """
    included = APIRouter()
    for router in (
        health.router,
        webhooks.router,
        interactions.router,
        receipts.router,
        unsubscribing.router,
        decision_links.router,
        inbox_stream.router,
        google.router,
        jobs.router,
        *operations.routers(),
        rules.router,
        connecting.router,
        workflows.router,
        artifacts.router,
        artifact_links.router,
        openapi.router,
        *(console_routers() if console else ()),
        documentation.router,
    ):
        included.include_router(router)
    return tuple(included.routes)


def send_server_logs_to_ours() -> None:
    """Send uvicorn's records through the redacting formatter, but for its access log: requests are recorded here."""
    for name in ("uvicorn", "uvicorn.error"):
        server = logging.getLogger(name)
        server.handlers.clear()
        server.propagate = True
    access = logging.getLogger("uvicorn.access")
    access.handlers.clear()
    access.propagate = False
