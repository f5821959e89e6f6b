"""Failures of jobs by their kind: what fails, since when, how often, and what is known of it."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import Field

from domain.jobs.contract import Instant
from domain.jobs.failures import Invalid
from domain.jobs.job import SYSTEM_ORG
from domain.orgs.privacy.redaction import redact_text
from operations.call import Call
from operations.operation import WITHOUT_SECRET, WORDS, Area, OperatorsOnly, Record
from operations.pages import Page, Window
from storage.jobs.audit_log import failure_groups

FAILURES = Area("failures", "See which kinds of failure jobs ended by, and say what is known of them.")
FLEET = OperatorsOnly("a kind of failure is of the jobs of all orgs, and an API key is of one")


class FailureState(StrEnum):
    """What is known of a kind of failure."""

    NEW = "new"
    KNOWN = "known"
    MENDED = "mended"


class FailureGroup(Record):
    """Jobs that failed or died in the same way: by one code, at one job type, in the same words."""

    plural: ClassVar = "failures"
    columns: ClassVar = ("fingerprint", "code", "job_type", "words", "failures", "last_seen", "state", "note")
    fingerprint: str
    code: str
    job_type: str
    words: str = Field(description="What their errors say, without ids, numbers and quotes.")
    first_seen: datetime
    last_seen: datetime
    failures: int
    seen_in: str | None = Field(description="The latest release in which it was seen.")
    state: FailureState = Field(description="A mended kind that comes again is new.")
    note: str | None
    mended_in: str | None = Field(description="The release that mends it, as it was marked.")
    marked_by: str | None
    marked_at: datetime | None
    reopened_at: datetime | None = Field(description="When it was seen again, though it was mended.")
    job_ids: list[UUID] = Field(description="The newest 20, the newest first. Some may be past their retention.")


@FAILURES.look("list", FLEET)
def list_failure_groups(
    call: Call,
    window: Window,
    *,
    state: Annotated[FailureState | None, Field(description="Only this state.")] = None,
    code: Annotated[str | None, Field(max_length=200, description="Only this code.")] = None,
    job_type: Annotated[str | None, Field(max_length=100, description="Only this job type.")] = None,
    since: Annotated[Instant | None, Field(description="Only those that were seen then or later.")] = None,
) -> Page[FailureGroup]:
    """List the kinds of failure by which jobs ended, those that were seen last first. Kept for 90 days after that."""
    with call.reading() as tx:
        asked = {"state": state, "code": code, "job_type": job_type, "since": since}
        return window.records(tx, "list_failure_groups", FailureGroup, **asked)


@FAILURES.look("show", FLEET)
def show_failure_group(call: Call, fingerprint: str) -> FailureGroup:
    """Show a kind of failure, and the newest jobs that ended by it."""
    with call.reading() as tx:
        found = failure_groups.read(tx, fingerprint)
    return FailureGroup.model_validate(found)


@FAILURES.deed("mark", FLEET, events=("failure.marked",), many=True)
def mark_failure_group(
    call: Call,
    fingerprint: str,
    *,
    state: Annotated[FailureState, Field(description="`mended` becomes `new` when it comes again.")],
    note: Annotated[
        str | None,
        Field(pattern=WORDS, max_length=1000, description="What is known of it, such as a link to a report."),
    ] = None,
    mended_in: Annotated[
        str | None,
        Field(
            pattern=r"^\d{1,9}(\.\d{1,9})*$",
            max_length=100,
            description="The release that mends it, such as `1.4`: seen in an older one, it stays mended.",
        ),
    ] = None,
) -> FailureGroup:
    """Say that a kind of failure is known, or mended, or new again; the note takes the place of the one before."""
    if mended_in is not None and state is not FailureState.MENDED:
        raise Invalid("mended_in", f"is for what is mended, and not for what is {state.value}")
    if note is not None and redact_text(note) != note:
        raise Invalid("note", WITHOUT_SECRET)
    with call.writing() as tx:
        marked = failure_groups.mark(tx, fingerprint, state=state.value, note=note, by=call.name, mended_in=mended_in)
        said = {"fingerprint": fingerprint, "state": state.value, "note": note, "mended_in": mended_in}
        call.audit(tx, SYSTEM_ORG, said)
    return FailureGroup.model_validate(marked)
