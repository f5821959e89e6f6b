"""Orgs: made and set without a mailbox. An org sees and sets its own."""

from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import Field

from domain.jobs.contract import LONGEST_REASON
from domain.jobs.failures import Forbidden, Invalid
from domain.jobs.job import JsonObject
from domain.orgs.access.operators import OperatorRole
from domain.orgs.privacy.redaction import redact
from operations.call import Call
from operations.operation import WORDS, Area, OperatorsOnly, Record, Route, changes_of
from operations.pages import Page, Window
from storage.orgs import orgs
from storage.orgs.orgs import LONGEST_NAME

ORGS = Area("orgs", "Make orgs, list them, and set what holds for one.")
FLEET = OperatorsOnly("an API key is of one org")

MOST_SETTINGS = 100
LONGEST_SETTING = LONGEST_REASON
"""Characters of a setting that is a text: what is longer is a document, and has a table of its own."""

Settings = Annotated[
    JsonObject | None, Field(description="Fields to set, as a JSON object; null takes a field away. No secrets.")
]
Weight = Annotated[
    int | None, Field(ge=1, le=100, description="Its share of a queue that others fill too, 1 to 100 times another's.")
]


class OrgView(Record):
    """One org."""

    plural: ClassVar = "orgs"
    org_id: UUID
    name: str
    settings: JsonObject
    weight: int = Field(description="Its share of a queue that others fill too.")
    created_at: datetime


@ORGS.look("list", FLEET)
def list_orgs(call: Call, window: Window) -> Page[OrgView]:
    """List orgs, the oldest first; the system org does the fleet's own work."""
    with call.reading() as tx:
        return window.records(tx, "list_orgs", OrgView)


@ORGS.look("show", Route("GET", "/org"), org="required")
def show_org(call: Call) -> OrgView:
    """Show an org."""
    with call.reading() as tx:
        return OrgView.model_validate(orgs.get(tx, call.org))


@ORGS.deed("add", OperatorsOnly(FLEET.reason, OperatorRole.ADMIN), events=("org.added",))
def add_org(
    call: Call,
    name: Annotated[str, Field(pattern=WORDS, max_length=LONGEST_NAME, description="The org's name.")],
    *,
    settings: Settings = None,
    weight: Weight = None,
) -> OrgView:
    """Make an org; mailboxes, keys and senders are added to it later."""
    given = _checked(settings)
    with call.writing() as tx:
        made = orgs.add(tx, name, settings=given, weight=weight or 1)
        call.audit(tx, made.org_id, {"name": name, "settings": sorted(given), "weight": made.weight})
    return OrgView.model_validate(made)


@ORGS.deed("set", Route("PATCH", "/org"), org="required", events=("org.changed",))
def set_org(call: Call, *, settings: Settings = None, weight: Weight = None) -> OrgView:
    """Set fields of an org's settings, or its weight, which only operators of the fleet may."""
    changes_of(settings=settings, weight=weight)
    if weight is not None and not call.is_of_fleet:
        raise Forbidden("weight: an org does not set its own share")
    given = _checked(settings)
    with call.writing() as tx:
        changed = orgs.change(tx, call.org, settings=given, weight=weight)
        call.audit(tx, call.org, {"settings": sorted(given), "weight": weight})
    return OrgView.model_validate(changed)


def _checked(settings: JsonObject | None) -> JsonObject:
    """The fields that are given; raises `Invalid` with the field."""
    given = settings or {}
    if len(given) > MOST_SETTINGS:
        raise Invalid("settings", f"have more than {MOST_SETTINGS} fields")
    for name, value in given.items():
        if not isinstance(value, str | int | float | bool | None):
            raise Invalid(f"settings.{name}", "is neither a text, a number, true, false nor null")
        if isinstance(value, str) and len(value) > LONGEST_SETTING:
            raise Invalid(f"settings.{name}", f"has more than {LONGEST_SETTING} characters")
    if redact(given) != given:
        raise Invalid("settings", "carry what looks like a secret: keep it as a secret of the org")
    return given
