"""The routes of the console: its files, its pulse, and the pages of every area."""

from collections.abc import Callable, Sequence
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, FastAPI, Path, Request, Response, status
from fastapi.responses import RedirectResponse

from domain.jobs.failures import Gone, Invalid
from domain.orgs.access.operators import CONSOLE, page_after
from gateway.console import derived, pages, provider_sign_in, sign_in
from gateway.console.frame import THEME, THEMES, pulse_of
from gateway.console.pulse import Pulse, PulseStream, Viewer
from gateway.console.reading import ConsoleReads, reads_of
from gateway.console.rendering import static_answer
from gateway.console.troubles import ConsoleRoute
from gateway.console.visitors import ConsoleForm, Signed, Writing
from settings import Settings

YEAR_S = 365 * 86_400
Name = Annotated[str, Path(max_length=60)]

router = APIRouter(prefix=CONSOLE, route_class=ConsoleRoute, include_in_schema=False)


def console_routers() -> Sequence[APIRouter]:
    """The console's routes, in the order in which they are looked through."""
    return sign_in.router, provider_sign_in.router, pages.router(), router


def add_console(app: FastAPI, settings: Settings) -> Callable[[], None]:
    """Add what the console's routes need to an application, unless a setting leaves it out; returns what ends it."""
    if not settings.console:
        return _nothing
    reads = ConsoleReads(settings)
    app.state.console, app.state.pulse, app.state.shortcuts = reads, Pulse(reads), pages.shortcuts()

    def stop() -> None:
        app.state.pulse.stop()
        reads.stop()

    return stop


def _nothing() -> None:
    return


@router.get("/static/{digest}/{name}")
async def static_file(digest: Name, name: Name) -> Response:
    """A file that pages load; its address names its bytes."""
    return static_answer(digest, name)


@router.get("/pulse")
async def pulse(request: Request, visitor: Signed, watch: UUID | None = None) -> Response:
    """What changes in the head of a page and in the thing it is about, as server-sent events.

    Whoever is of some orgs sees no numbers of the fleet in the head: without a thing, nothing.
    """
    if visitor.org_ids is not None and watch is None:
        return Response(status_code=status.HTTP_204_NO_CONTENT)
    viewer = Viewer(visitor.session_id, visitor.org_ids, watch)
    return PulseStream(pulse_of(request), visitor.operator_id, viewer)


@router.post("/theme")
async def choose_theme(request: Request, _visitor: Writing, form: ConsoleForm) -> Response:
    """Keep whether pages are light or dark, and go back to the page."""
    theme = form.get("theme", "")
    if theme not in {"", *THEMES}:
        raise Invalid("theme", f"is one of {', '.join(THEMES)}, or empty")
    answer = RedirectResponse(page_after(form.get("back", "")), status.HTTP_303_SEE_OTHER)
    answer.set_cookie(
        THEME, theme, max_age=YEAR_S if theme else 0, path=CONSOLE, httponly=True, samesite="lax",
        secure=request.url.scheme == "https",
    )  # fmt: skip
    return answer


@router.get("/{area}")
async def area_page(request: Request, visitor: Signed, area: Name) -> Response:
    """The list of an area, or what can be done in it."""
    return await reads_of(request).do(request, visitor.operator_id, lambda: derived.area_page(request, visitor, area))


@router.get("/{area}/{command}")
async def operation_page(request: Request, visitor: Signed, area: Name, command: Name) -> Response:
    """A list, a look, or the form of a deed."""
    return await reads_of(request).do(
        request, visitor.operator_id, lambda: derived.operation_page(request, visitor, area, command)
    )


@router.post("/{area}/{command}")
async def deed(request: Request, visitor: Writing, form: ConsoleForm, area: Name, command: Name) -> Response:
    """Say what a deed will do, or do it."""

    def do() -> Response:
        operation = derived.found_operation(visitor, area, command)
        if not operation.events:
            raise Gone(f"{area}/{command} takes no form")
        return derived.do_deed(request, visitor, operation, form)

    return await reads_of(request).do(request, visitor.operator_id, do)


@router.get("/{area}/{command}/{rest:path}")
async def no_page(_visitor: Signed, area: Name, command: Name, rest: str) -> Response:
    """Nothing is there; a page says so."""
    raise Gone(f"there is no page {area}/{command}/{rest[:100]}")
