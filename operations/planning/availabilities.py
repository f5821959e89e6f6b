"""What people of a project say of times."""

from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import Field

from domain.jobs.contract import Instant
from domain.planning.files.imports import BY_HAND
from domain.planning.model import AvailabilityKind, Span
from operations.call import Call
from operations.operation import Record, Route
from operations.pages import Page, Window
from operations.planning.projects import PLANNING, audit_of, ref_of
from storage.planning import projects

AVAILABILITIES = "/projects/{project_id}/collaborators/{collaborator_id}/availabilities"


class AvailabilityView(Record):
    """What a person says of a time."""

    plural: ClassVar = "availabilities"
    columns: ClassVar = ("availability_id", "kind", "starts_at", "ends_at", "source")
    availability_id: UUID
    collaborator_id: UUID
    kind: AvailabilityKind
    starts_at: datetime
    ends_at: datetime
    source: str = Field(description="`hand`, or the file that it was imported from.")


@PLANNING.look("availabilities", Route("GET", AVAILABILITIES))
def list_availabilities(call: Call, window: Window, project_id: UUID, collaborator_id: UUID) -> Page[AvailabilityView]:
    """List what a person says of times, in their order."""
    with call.reading() as tx:
        ref = ref_of(tx, call, project_id)
        projects.collaborator(tx, ref, collaborator_id)
        of_person = {**ref._asdict(), "collaborator_id": collaborator_id}
        return window.records(tx, "list_availabilities", AvailabilityView, **of_person)


@PLANNING.deed(
    "add-availability", Route("POST", AVAILABILITIES, status=201), events=("availability.added",), keyed=True
)
def add_availability(
    call: Call,
    project_id: UUID,
    collaborator_id: UUID,
    *,
    kind: Annotated[AvailabilityKind, Field(description="Available, preferred or busy. Busy wins.")],
    starts_at: Annotated[Instant, Field(description="From then on.")],
    ends_at: Annotated[Instant, Field(description="Until then; the end is no part of it.")],
) -> AvailabilityView:
    """Write down what a person says of a time."""
    span = Span(starts_at, ends_at)
    with call.writing() as tx:

        def make() -> list[UUID]:
            made = projects.add_availability(tx, ref_of(tx, call, project_id), collaborator_id, kind, span)
            facts = {"collaborator_id": str(collaborator_id), "availability_id": str(made.availability_id)}
            audit_of(tx, call, project_id, **facts)
            return [made.availability_id]

        (availability_id,) = call.once(tx, make)
    return AvailabilityView(
        availability_id=availability_id,
        collaborator_id=collaborator_id,
        kind=kind,
        starts_at=span.starts_at,
        ends_at=span.ends_at,
        source=BY_HAND,
    )


@PLANNING.deed(
    "remove-availability", Route("DELETE", AVAILABILITIES + "/{availability_id}"), events=("availability.removed",)
)
def remove_availability(call: Call, project_id: UUID, collaborator_id: UUID, availability_id: UUID) -> AvailabilityView:
    """Take back what a person has said of a time."""
    with call.writing() as tx:
        ref = ref_of(tx, call, project_id)
        removed = projects.remove_availability(tx, ref, collaborator_id, availability_id)
        facts = {"collaborator_id": str(collaborator_id), "availability_id": str(availability_id)}
        audit_of(tx, call, project_id, **facts)
    return AvailabilityView.model_validate(removed)
