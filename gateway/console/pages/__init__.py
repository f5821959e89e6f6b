"""Pages by hand, where a picture or a sentence says more than a derived page: each is a `HandPage` in a module here.

A page is declared once: its address, its template, and the function that fills what it shows by calling operations in
the visitor's name. It takes the address of a derived page, or one of its own. The walk finds it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Generic, ParamSpec, TypeVar

from fastapi import APIRouter, Request, Response

from domain.jobs.failures import Forbidden, Invalid
from domain.orgs.access.operators import CONSOLE
from gateway.console.frame import FRAME_FIELDS, Frame, Shortcut, frame_of, reading_call, reads_of, sees
from gateway.console.rendering import page
from gateway.console.things import AnyOperation
from gateway.console.troubles import ConsoleRoute
from gateway.console.visitors import Signed, Visitor
from operations.operation import Operation, Record
from operations.pages import Page

P = ParamSpec("P")
Answer = TypeVar("Answer", bound=Record | Page[Any])
Shown = TypeVar("Shown")


@dataclass(frozen=True, slots=True)
class Look:
    """By what a page is filled: its frame, what its address asks for, and operations in the visitor's name."""

    request: Request
    frame: Frame
    asked: Mapping[str, str]
    """The fields of the query which the page knows."""

    def ask(self, operation: Operation[P, Answer], *arguments: P.args, **options: P.kwargs) -> Answer:
        """What an operation answers for the org that was chosen; raises as the operation does."""
        call = reading_call(self.request, self.frame.visitor, self.frame.org_id)
        return operation(call, *arguments, **options)

    def may(self, operation: AnyOperation) -> bool:
        """Whether the visitor may call an operation, here and now: a part of a page is left out where not."""
        return sees(self.frame.visitor, operation) and not self.frame.needs_org(operation)

    def href(self, operation: AnyOperation, **given: object) -> str:
        """The page of an operation."""
        return self.frame.things.page(operation, given)


@dataclass(frozen=True, kw_only=True)
class HandPage(Generic[Shown]):
    """A page by hand. Its template gets `frame`, `here` and `shown`: what `fill` returns, a frozen dataclass."""

    path: str
    """Below the console's path: `jobs`, `jobs/show`; empty for the overview."""
    title: str
    shown: type[Shown]
    fill: Callable[[Look], Shown]
    asks: tuple[str, ...] = ()
    """The fields of its query. With another one it is refused."""
    needs: AnyOperation | None = None
    """The operation without which the page is nothing: whoever may not call it may not see the page."""
    key: str = ""
    """The letter after `g`. A page that has one is named in the navigation before the areas."""
    order: int = 0
    """Where it is named there."""

    @property
    def template(self) -> str:
        """The file of its template."""
        return f"pages/{self.fill.__module__.rpartition('.')[2]}.html"

    @property
    def here(self) -> str:
        """What the navigation marks as the current page."""
        return self.path.partition("/")[0]

    def answer(self, request: Request, visitor: Visitor) -> Response:
        """The page for a visitor; in a thread of the console's, for it reads."""
        if self.needs is not None and not sees(visitor, self.needs):
            raise Forbidden(f"an operator of the role {visitor.role.value} and this scope may not see {self.title}")
        for name in request.query_params:
            if name not in {*self.asks, *FRAME_FIELDS}:
                raise Invalid(name, f"is no field of this page: it has {', '.join(self.asks) or 'none'}")
        asked = {name: value for name in self.asks if (value := request.query_params.get(name))}
        look = Look(request, frame_of(request, visitor), asked)
        return page(self.template, frame=look.frame, here=self.here, title=self.title, shown=self.fill(look))


@cache
def pages() -> Sequence[HandPage[Any]]:
    """Every page by hand, in the order of the navigation."""
    modules = [import_module(found.name) for found in iter_modules(__path__, f"{__name__}.")]
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
    return made


def _endpoint(shown: HandPage[Any]) -> Callable[..., Any]:
    async def show(request: Request, visitor: Signed) -> Response:
        return await reads_of(request).do(request, visitor.operator_id, lambda: shown.answer(request, visitor))

    return show
