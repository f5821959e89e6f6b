"""What every page has around it: who looks, for which org, where they can go, and how it shall look."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from urllib.parse import parse_qsl
from uuid import UUID

from fastapi import Request

from domain.jobs.failures import Invalid
from domain.orgs.access.operators import CONSOLE
from gateway.console.pulse import Counter, Pulse, counters_of
from gateway.console.reading import reads_of
from gateway.console.things import ORG, AnyOperation, Things, system_of
from gateway.console.visitors import Visitor
from gateway.http.resources import resources_of
from operations.areas import areas
from operations.call import Call
from storage.orgs import orgs

CURSOR, DONE, VALUES = "cursor", "done", "show_values"
FRAME_FIELDS = frozenset({ORG, CURSOR, DONE, VALUES})
"""What the query of a page may say beside the operation's own parameters."""
THEME = "postroom-theme"
THEMES = ("light", "dark")
MOST_ORGS = 200
"""Orgs to choose from; of more than these, the id is typed."""
KEYS = {
    "accounts": "m", "approvals": "a", "audit": "l", "deadletters": "d", "effects": "f", "jobs": "j",
    "orgs": "t", "reminders": "r", "schedules": "s", "workflows": "w", "notifications": "n",
}  # fmt: skip
"""The letter after `g` that leads to an area."""


def sees(visitor: Visitor, operation: AnyOperation) -> bool:
    """Whether the visitor may call an operation: an operator of some orgs calls nothing that is about the fleet."""
    return visitor.role.includes(operation.least) and not (operation.is_of_fleet and visitor.org_ids is not None)


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A page that the navigation names before the areas."""

    path: str
    title: str
    key: str
    """The letter after `g` that leads to it."""
    needs: AnyOperation | None
    """The operation without which the page is nothing."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What a page is shown with."""

    visitor: Visitor
    things: Things
    path: str
    """The page's own address, with its query."""
    theme: str
    environment: str
    orgs: Sequence[tuple[str, str]] = ()
    """Ids and names to choose from."""
    org_id: UUID | None = None
    counters: Sequence[Counter] = ()
    """Of the fleet, for whoever is of all orgs."""
    shortcuts: Sequence[Shortcut] = ()

    @property
    def base(self) -> str:
        """The console's path."""
        return self.things.base

    @property
    def asked(self) -> Sequence[tuple[str, str]]:
        """The query of the page, which stays as it is when another org is chosen."""
        query = parse_qsl(self.path.partition("?")[2])
        return [(name, text) for name, text in query if name not in {ORG, CURSOR, DONE}]

    @property
    def org_name(self) -> str:
        """The name of the org that was chosen; empty for all orgs."""
        return dict(self.orgs).get(str(self.org_id), "")

    def needs_org(self, operation: AnyOperation) -> bool:
        """Whether an operation can be called for a chosen org only; an operator of several orgs always chooses."""
        return self.org_id is None and (operation.org == "required" or self.visitor.org_ids is not None)

    @property
    def systems(self) -> Sequence[tuple[str, Sequence[str]]]:
        """The areas of each system of which the visitor sees something."""
        return [
            (system, shown)
            for system, names in systems()
            if (shown := [name for name, operations in names if self._is_named(name, operations)])
        ]

    def _is_named(self, area: str, operations: Sequence[AnyOperation]) -> bool:
        named = {one.path for one in self.shortcuts}
        return area not in named and any(sees(self.visitor, one) for one in operations)

    def key(self, area: str) -> str:
        """The letter that leads to an area; empty for most."""
        return KEYS.get(area, "")

    def address(self, area: str) -> str:
        """The first page of an area, or a page by its path, for the org that was chosen."""
        org = f"?{ORG}={self.org_id}" if self.org_id else ""
        return f"{self.base}/{area}".rstrip("/") + org


@cache
def systems() -> Sequence[tuple[str, Sequence[tuple[str, Sequence[AnyOperation]]]]]:
    """Every system with its areas, and the operations of each."""
    ordered = sorted(areas(), key=lambda area: (system_of(area), area.name))
    return [
        (system, [(area.name, tuple(area.operations)) for area in of_system])
        for system, of_system in groupby(ordered, key=system_of)
    ]


def pulse_of(request: Request) -> Pulse:
    """What keeps the numbers of the head."""
    pulse: Pulse = request.app.state.pulse
    return pulse


def shortcuts_of(request: Request) -> Sequence[Shortcut]:
    """The pages that the navigation of this application names first."""
    shortcuts: Sequence[Shortcut] = request.app.state.shortcuts
    return shortcuts


def chosen_org(visitor: Visitor, said: str | None) -> UUID | None:
    """The org that a page is about: the one that is named, or the only one of the visitor's.

    Raises `Invalid` for what is no id, and `Forbidden` for an org outside of the scope.
    """
    if said:
        try:
            return visitor.rights.org_of(UUID(said))
        except ValueError:
            raise Invalid(ORG, "is no id of an org") from None
    only = visitor.org_ids or ()
    return next(iter(only)) if len(only) == 1 else None


def frame_of(request: Request, visitor: Visitor, said_org: str | None = None) -> Frame:
    """The frame of a request's page, with the orgs to choose from and the numbers of the head; it reads them."""
    org_id = chosen_org(visitor, said_org or request.query_params.get(ORG))
    resources = resources_of(request)
    theme = request.cookies.get(THEME, "")
    path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    with reads_of(request).database.ledger() as tx:
        known = orgs.named(tx, None if visitor.org_ids is None else sorted(visitor.org_ids), limit=MOST_ORGS)
    choices = [(str(one.org_id), one.name) for one in known]
    if org_id is not None and str(org_id) not in dict(choices):
        choices.append((str(org_id), str(org_id)))
    return Frame(
        visitor,
        Things(CONSOLE, str(org_id) if org_id else None),
        path,
        theme if theme in THEMES else "",
        resources.settings.environment,
        choices,
        org_id,
        counters_of(pulse_of(request).attention()) if visitor.org_ids is None else (),
        [one for one in shortcuts_of(request) if one.needs is None or sees(visitor, one.needs)],
    )


def reading_call(request: Request, visitor: Visitor, org_id: UUID | None) -> Call:
    """A call that only looks, by the console's own connections; that somebody saw values is written by the API's."""
    call = visitor.call(request, org_id, shows_values=bool(request.query_params.get(VALUES)))
    call.database, call.written_by = reads_of(request).database, call.database
    return call
