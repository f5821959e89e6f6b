"""The payloads of the imports family: which file, and how what it says is meant."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StringConstraints

from domain.payloads.file_fields import OwnZone
from domain.payloads.payload import Payload

ImportFormat = Literal["csv", "icalendar"]
Counted = Literal["ignore", "busy"]
SourceName = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"\S")]


class AvailabilityPayload(Payload, job_type="imports.availability", serial_by="project_id"):
    """The project, and the artifact with the times; without a format the artifact's name or media type says which.

    `collaborator_id` is whose times all are: a calendar needs it, a table names people itself. `source` is what the
    file is called in the rows, by default as the artifact: the same event of a source is one row. `dry_run` writes
    nothing. `free_events` and `whole_days` say how a calendar's events count that do not say that they are busy.
    """

    project_id: UUID
    artifact_id: UUID
    format: ImportFormat | None = None
    collaborator_id: UUID | None = None
    zone: OwnZone = None
    encoding: Annotated[str, StringConstraints(min_length=1, max_length=40), Field(examples=["utf-8"])] = "utf-8"
    source: SourceName | None = None
    dry_run: bool = False
    free_events: Counted = "ignore"
    whole_days: Counted = "busy"
