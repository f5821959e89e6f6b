"""Pages by hand, where a picture or a sentence says more than a derived page: each is a `HandPage` in a module here.

A page is declared once: its address, its template, and the function that fills what it shows by calling operations in
the visitor's name. It takes the address of a derived page, or one of its own. The walk finds it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from importlib import import_module
from pkgutil import walk_packages
from types import SimpleNamespace
from typing import Any, ParamSpec, TypeVar

from fastapi import APIRouter, Request, Response

from domain.jobs.failures import Forbidden
from domain.orgs.access.operators import CONSOLE
from gateway.console.derived import Listing, Step, listing_of, refuse_unknown, typed_in_query
from gateway.console.frame import CURSOR, Frame, Shortcut, frame_of, reading_call, sees
from gateway.console.reading import reads_of
from gateway.console.rendering import page
from gateway.console.things import ORG, AnyOperation
from gateway.console.troubles import ConsoleRoute
from gateway.console.visitors import ConsoleForm, Signed, Visitor, Writing
from operations.operation import Operation, Record
from operations.pages import SHOWN_BY_DEFAULT, Page, Window

P = ParamSpec("P")
Answer = TypeVar("Answer", bound=Record | Page[Any])


@dataclass(frozen=True, slots=True)
class Look:
    """By what a page is filled: its frame, what its address asks for, and operations in the visitor's name."""

    request: Request
    frame: Frame
    asked: Mapping[str, str]
    """The fields of the query which the page knows; several of a name are lines."""

    def call(self, operation: Operation[P, Answer], *arguments: P.args, **options: P.kwargs) -> Answer:
        """What an operation answers for the org that was chosen; raises as the operation does."""
        call = reading_call(self.request, self.frame.visitor, self.frame.org_id)
        return operation(call, *arguments, **options)

    def window(self, most: int = SHOWN_BY_DEFAULT) -> Window:
        """The part of the page's list that its address asks for."""
        return Window(most, self.request.query_params.get(CURSOR) or None)

    def table(self, operation: AnyOperation, answer: Page[Any]) -> Listing:
        """A list's answer as the derived pages show it."""
        return listing_of(self.request, self.frame, operation, answer)

    def may(self, operation: AnyOperation) -> bool:
        """Whether the visitor may call an operation, here and now: a part of a page is left out where not."""
        return sees(self.frame.visitor, operation) and not self.frame.needs_org(operation)

    def href(self, operation: AnyOperation, **given: object) -> str:
        """The page of an operation."""
        return self.frame.things.page(operation, given)

    def link(self, words: str, operation: AnyOperation, **given: object) -> Step:
        """A link to it."""
        return Step(words, self.href(operation, **given))


@dataclass(frozen=True, kw_only=True)
class HandPage:
    """A page by hand. Its template gets `frame`, `here` and `shown`: what `fill` returns, by name."""

    path: str
    """Below the console's path: `jobs`, `jobs/show`; empty for the overview."""
    title: str
    fill: Callable[[Look], Mapping[str, Any]]
    """What the page shows. With `is_refused` it says why it shows nothing of what was asked for."""
    asks: tuple[str, ...] = ()
    """The fields of its query. With another one it is refused."""
    take: Callable[[Look, Mapping[str, str]], Response] | None = None
    """Answers a form of the page's own, in the place of the derived one."""
    needs: AnyOperation | None = None
    """The operation without which the page is nothing: whoever may not call it may not see the page."""
    key: str = ""
    """The letter after `g`. A page that has one is named in the navigation before the areas."""
    order: int = 0
    """Where it is named there."""
    template: str = ""
    """The file of its template; the one with the name of the module's, unless another is named."""

    def __post_init__(self) -> None:
        """Name the template."""
        own = self.fill.__module__.removeprefix(f"{__name__}.").replace(".", "/")
        object.__setattr__(self, "template", self.template or f"pages/{own}.html")

    @property
    def here(self) -> str:
        """What the navigation marks as the current page."""
        return self.path.partition("/")[0]

    def answer(self, request: Request, visitor: Visitor, form: Mapping[str, str] | None = None) -> Response:
        """The page for a visitor, or what it answers to a form; in a thread of the console's, for it reads."""
        if self.needs is not None and not sees(visitor, self.needs):
            raise Forbidden(f"an operator of the role {visitor.role.value} and this scope may not see {self.title}")
        refuse_unknown(self.asks, request)
        asked = {name: value for name, value in typed_in_query(request).items() if value.strip()}
        look = Look(request, frame_of(request, visitor, (form or {}).get(ORG)), asked)
        if self.needs is not None and look.frame.needs_org(self.needs):
            return page("pages/choose.html", frame=look.frame, here=self.here, title=self.title)
        if form is not None and self.take is not None:
            return self.take(look, form)
        return self.page(look, self.fill(look))

    def page(self, look: Look, shown: Mapping[str, Any]) -> Response:
        """The page of what is shown."""
        status = HTTPStatus.UNPROCESSABLE_ENTITY if shown.get("is_refused") else HTTPStatus.OK
        # A template finds what is shown by name, and no method of a dictionary.
        named = SimpleNamespace(**shown)
        return page(self.template, status, frame=look.frame, here=self.here, title=self.title, shown=named)


@cache
def pages() -> Sequence[HandPage]:
    """Every page by hand, in the order of the navigation."""
    modules = [import_module(found.name) for found in walk_packages(__path__, f"{__name__}.")]
    found = {one.path: one for module in modules for one in vars(module).values() if isinstance(one, HandPage)}
    return sorted(found.values(), key=lambda one: (one.order, one.path))


def shortcuts() -> Sequence[Shortcut]:
    """The pages that the navigation names before the areas."""
    return [Shortcut(one.path, one.title, one.key, one.needs) for one in pages() if one.key]


def router() -> APIRouter:
    """The routes of all pages by hand: they go before the derived ones."""
    made = APIRouter(prefix=CONSOLE, route_class=ConsoleRoute, include_in_schema=False)
    for one in pages():
        made.add_api_route(f"/{one.path}".rstrip("/"), _endpoint(one), methods=["GET"])
        if one.take is not None:
            made.add_api_route(f"/{one.path}", _form_endpoint(one), methods=["POST"])
    return made


def _endpoint(shown: HandPage) -> Callable[..., Any]:
    async def show(request: Request, visitor: Signed) -> Response:
        return await reads_of(request).do(request, visitor.operator_id, lambda: shown.answer(request, visitor))

    return show


def _form_endpoint(shown: HandPage) -> Callable[..., Any]:
    async def take(request: Request, visitor: Writing, form: ConsoleForm) -> Response:
        return await reads_of(request).do(request, visitor.operator_id, lambda: shown.answer(request, visitor, form))

    return take
