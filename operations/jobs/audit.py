"""The audit log: what happened besides the moves of jobs, what a request caused, and what changed a thing."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, ClassVar, NamedTuple
from uuid import UUID

from pydantic import BaseModel, Field

from domain.jobs.audit.event_names import OF_NO_OPERATION, OTHER_EVENT_NAMES, check_event
from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject
from domain.orgs.access.api_keys import Role
from operations.areas import areas
from operations.call import Call
from operations.operation import Area, Record, Route
from operations.pages import Page, Window
from storage.jobs import job_types
from storage.jobs.audit_log import details, events
from storage.jobs.audit_log.events import JOB_EVENTS, LAST
from storage.postgres.database import Transaction
from storage.postgres.execution import Row

AUDIT = Area("audit", "Look up what happened, and write the audit log to files.")
ROUTE = "/audit"


class EventPosition(NamedTuple):
    """Where a list is: the last event that was shown."""

    id: int


class EventView(Record):
    """One event of the audit log."""

    values: ClassVar[tuple[str, ...]] = ("data.*", "sentences")
    plural: ClassVar = "events"
    columns: ClassVar = (
        "id",
        "at",
        "event",
        "known_as",
        "actor_id",
        "job_type",
        "job_id",
        "attempt",
        "sentences",
        "data",
    )
    id: int
    at: datetime
    event: str
    known_as: str | None = Field(description="The event's name in a source document, if it has another there.")
    org_id: UUID
    actor_type: str
    actor_id: str
    job_type: str | None
    job_id: UUID | None
    attempt: int | None
    correlation_id: str
    sentences: list[str] = Field(default=[], description="What a change of a thing was, by the newest rules.")
    data: JsonObject | None = Field(description="In a list without the documents before and after a change.")


class DetailsView(BaseModel):
    """What an event changed, by the rules of a version."""

    rule_version: int
    subject: str
    subject_id: UUID | None
    revision: int | None
    changes: list[JsonObject] = Field(
        description="A JSON Patch (RFC 6902) of what is shown of the thing; each operation has `was`, too."
    )
    sentences: list[str]
    made_at: datetime


class EventDocument(EventView):
    """One event with its details."""

    values: ClassVar = (*EventView.values, "details.changes.value", "details.changes.was", "details.sentences")
    details: list[DetailsView] = Field(description="Those by the newest rules first.")


@AUDIT.look("list", Route("GET", ROUTE), role=Role.OPERATOR, org="optional")
def list_events(
    call: Call,
    window: Window,
    *,
    correlation: Annotated[
        str | None, Field(max_length=200, description="All events of the jobs that this request caused, in order.")
    ] = None,
    subject_id: Annotated[
        UUID | None, Field(description="What changed this thing, such as a run sheet, as far as it has been enriched.")
    ] = None,
    event: Annotated[
        str | None,
        Field(
            max_length=100,
            description="Only the org's events of this name, or of a source document's: `email.sent`, `EMAIL_SENT`.",
        ),
    ] = None,
) -> Page[EventView]:
    """List what people did and what happened besides the moves of jobs, the newest first; or what a request caused."""
    asked = {"correlation": correlation, "subject_id": subject_id, "event": event}
    first, *others = [name for name, value in asked.items() if value is not None] or [""]
    if others:
        raise Invalid(first, f"cannot be given together with {others[0]}")
    last = window.after(EventPosition)
    number = last and last.id
    with call.reading() as tx:
        if correlation is not None:
            found = events.of_correlation(tx, correlation, after=number, limit=window.rows)
        elif subject_id is not None:
            found = events.of_subject(tx, call.org, subject_id, before=number, limit=window.rows)
        elif event is not None:
            found = events.named(tx, call.org, event, before=number, limit=window.rows)
            if not found:
                # Events of a release that is gone are listed; where there are none, the name is a mistake.
                check_event(event, known_events(tx))
        else:
            found = events.besides_moves(tx, before=number, limit=window.rows)
        views = _views(tx, found)
    return window.page(views, lambda view: view, lambda view: EventPosition(view.id))


@AUDIT.look("show", Route("GET", ROUTE + "/{event_id}"), role=Role.OPERATOR, org="optional")
def show_event(call: Call, event_id: Annotated[int, Field(ge=1, le=LAST)]) -> EventDocument:
    """Show what happened besides the moves of jobs with all that was kept of it, and what it changed."""
    with call.reading() as tx:
        event = call.found(events.find(tx, event_id, org_id=call.org_id), "such event")
        kept = details.of_event(tx, event.org_id, event_id)
        (view,) = _views(tx, [event])
    return EventDocument(
        **view.model_dump(), details=[DetailsView.model_validate(one, from_attributes=True) for one in kept]
    )


def known_events(tx: Transaction) -> frozenset[str]:
    """The names of all events but the moves of jobs: those of operations, of job types, and of what is kept."""
    of_operations = (name for area in areas() for one in area.operations for name in one.events)
    own = {*of_operations, *job_types.audited(tx), *OF_NO_OPERATION}
    moves = {name for name in own if name.startswith("job.")}
    return frozenset((own - moves).union(JOB_EVENTS, OTHER_EVENT_NAMES, OTHER_EVENT_NAMES.values()))


def _views(tx: Transaction, found: Sequence[Row]) -> list[EventView]:
    """The events, each with the sentences of its newest details."""
    known = details.newest(tx, [(one.org_id, one.id) for one in found])
    return [
        EventView(
            **one._asdict(),
            known_as=OTHER_EVENT_NAMES.get(one.event),
            sentences=known[one.id].sentences if one.id in known else [],
        )
        for one in found
    ]
