"""What several pages by hand show: facts with a state, and deeds by a button, as a curl and at a terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from domain.instants import written
from domain.jobs.failures import Invalid
from gateway.console.derived import Step, step_to
from gateway.console.frame import CURSOR, DONE, sees
from gateway.console.pages import Look
from gateway.console.shown import TONES, Line, Shown, columns_of, document_of, line_of
from gateway.console.things import AnyOperation, look_of
from operations.operation import Route
from operations.pages import Page


@dataclass(frozen=True, slots=True)
class Fact:
    """A line of facts: its name, what it says, and the state that it has."""

    name: str
    text: str
    href: str | None = None
    state: str = ""
    more: Shown | None = None

    @property
    def tone(self) -> str:
        """The colour of the state."""
        return TONES.get(self.state, "")


@dataclass(frozen=True, slots=True)
class Deed:
    """What can be done with a thing: by a button, by HTTP, and at a terminal."""

    step: Step
    curl: str | None
    command: str


def deed_of(look: Look, operation: AnyOperation, **given: object) -> Deed:
    """A deed about the thing that is named by these parameters."""
    route, curl = operation.route, None
    if isinstance(route, Route):
        verb, body = (
            ("", "") if route.verb == "GET" else (f"-X {route.verb} ", " -H 'Content-Type: application/json' -d '{}'")
        )
        address = route.path.format(**{name: given[name] for name in route.ids})
        host = str(look.request.base_url).rstrip("/")
        curl = f'curl {verb}{host}/v1{address} -H "Authorization: Bearer $POSTROOM_API_KEY"{body}'
    words = " ".join(str(one) for one in given.values())
    return Deed(
        step_to(look.frame, operation, given), curl, f"celery -A tasks {operation.area} {operation.command} {words}"
    )


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of a list: its columns and lines, the next page, and how far back it looked."""

    columns: Sequence[str]
    lines: Sequence[Line]
    next_href: str | None
    looked_back_to: str | None


def listed(look: Look, operation: AnyOperation, found: Page[Any]) -> Listed:
    """What a list has answered, each line with the page of its thing."""
    shows, things = look_of(operation.area, operation.record), look.frame.things
    seen = shows is not None and sees(look.frame.visitor, shows)
    lines = [
        line_of(one, things, things.page_of(shows, document_of(one)) if shows and seen else None) for one in found.items
    ]
    reached = written(found.looked_back_to) if found.looked_back_to else None
    return Listed(columns_of(operation.record), lines, address_of_next(look, found.next_cursor), reached)


def id_of(asked: Mapping[str, str], name: str) -> UUID:
    """The id that a page was asked for; raises `Invalid` for another text, and without one."""
    try:
        return UUID(asked.get(name, ""))
    except ValueError:
        raise Invalid(name, "is needed: paste the id") from None


def at(said: object) -> str:
    """A time of a JSON document, to the second."""
    return str(said)[:19].replace("T", " ")


def address_of_next(look: Look, cursor: str | None) -> str | None:
    """The same page from a cursor on; None without one."""
    if cursor is None:
        return None
    others = [(name, value) for name, value in look.request.query_params.multi_items() if name not in {CURSOR, DONE}]
    return f"{look.request.url.path}?{urlencode([*others, (CURSOR, cursor)], errors='replace')}"
