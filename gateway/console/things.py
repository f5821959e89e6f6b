"""Which page shows a thing: found from the operations, so that a new area has its links without a line here."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

from operations.areas import areas
from operations.operation import Area, Operation, Record, Route

ANOTHER_NAME: Mapping[str, str] = {
    "replay_job_id": "job_id",
    "replay_of": "job_id",
    "parent_id": "job_id",
    "parent_job_id": "job_id",
    "parent_run": "run_id",
    "action_job_id": "job_id",
    "undo_id": "action_id",
}
"""Fields that name a thing of another field's."""
LIST, SHOW = "list", "show"
ORG = "of_org"
"""The field of an address or a form that names the org; some operations have a parameter `org`."""
OF_ORG = "org_id"
"""The field by which a thing names its org, whose page takes the org that was chosen."""
ONE_OF_MANY = "name"
"""A parameter by which several areas name their things: a link to one stays within its area."""

AnyOperation = Operation[..., Any]


@cache
def operation_of(area: str, command: str) -> AnyOperation | None:
    """The operation of that name; None when there is none."""
    return next(
        (one for found in areas() if found.name == area for one in found.operations if one.command == command), None
    )


@cache
def area_of(name: str) -> Area | None:
    """The area of that name; None when there is none."""
    return next((area for area in areas() if area.name == name), None)


@cache
def looks() -> Mapping[str, AnyOperation]:
    """By the name of a field: the look at the one thing that its value names."""
    found: dict[str, AnyOperation] = {}
    for area in areas():
        for one in area.operations:
            if one.command == SHOW and not one.events and len(one.positional) == 1 and one.positional[0] != ONE_OF_MANY:
                found.setdefault(one.positional[0], one)
    return found


@cache
def look_at(path: str) -> AnyOperation | None:
    """The look whose route this is, such as `/v1/jobs/{job_id}`."""
    wanted = path.removeprefix("/v1")
    return next(
        (
            one
            for area in areas()
            for one in area.operations
            if isinstance(one.route, Route) and one.route.verb == "GET" and one.route.path == wanted
        ),
        None,
    )


@cache
def look_of(area: str, record: type[Record]) -> AnyOperation | None:
    """The look at one thing of an area which such a record names by its fields."""
    found = operation_of(area, SHOW)
    if found is None or found.events or not found.positional:
        return None
    return found if set(found.positional) <= set(record.model_fields) else None


def system_of(area: Area) -> str:
    """The system to which an area belongs: the folder in which it is declared."""
    return area.operations[0].function.__module__.split(".")[1]


@dataclass(frozen=True, slots=True)
class Things:
    """Addresses of pages, below the console's path and for the org that was chosen."""

    base: str
    org_id: str | None

    def page(self, operation: AnyOperation, given: Mapping[str, object], of_org: object = None) -> str:
        """The address of an operation's page with these parameters."""
        said = {name: str(value) for name, value in given.items() if value is not None}
        org_id = of_org or self.org_id
        if org_id:
            said[ORG] = str(org_id)
        path = f"{self.base}/{quote(operation.area)}"
        path += "" if operation.command == LIST else f"/{quote(operation.command)}"
        return path + (f"?{urlencode(said, errors='replace')}" if said else "")

    def address(self, name: str, value: str, beside: Mapping[str, object]) -> str | None:
        """The page of what a field's value names; None where no page shows it."""
        known = ANOTHER_NAME.get(name, name)
        if known == OF_ORG and (shown := operation_of("orgs", SHOW)) is not None:
            return Things(self.base, value).page(shown, {})
        found = looks().get(known)
        if found is None:
            return None
        return self.page(found, {known: value}, beside.get("org_id") if found.org != "never" else None)

    def page_of(self, look: AnyOperation, document: Mapping[str, object]) -> str:
        """The page of the thing that a record is about."""
        return self.page(look, {name: document[name] for name in look.positional}, document.get("org_id"))
