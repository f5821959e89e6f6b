"""The parameters by which jobs are filtered, the same for their list and for what is done to all that match."""

from datetime import datetime
from typing import Annotated, TypedDict
from uuid import UUID

from pydantic import BeforeValidator, Field

from domain.instants import read_bound
from domain.jobs.job import State
from domain.jobs.monitoring.job_filter import MOST_IDS, MOST_MATCHES, JobFilter
from domain.jobs.queues import Queue
from domain.payloads import payload_types

Bound = Annotated[datetime, BeforeValidator(read_bound)]


class AskedJobs(TypedDict, total=False):
    """Which jobs a person asks for."""

    job_type: Annotated[list[str] | None, Field(max_length=100, description="Only these job types or aliases.")]
    state: Annotated[list[State] | None, Field(max_length=len(State), description="Only jobs in these states.")]
    queue: Annotated[Queue | None, Field(description="Only this queue.")]
    error_code: Annotated[str | None, Field(max_length=200, description="Only jobs whose error has this code.")]
    since: Annotated[Bound | None, Field(description="Only jobs, or letters, created then or later.")]
    before: Annotated[Bound | None, Field(description="Only jobs, or letters, created earlier than that.")]
    account_id: Annotated[UUID | None, Field(description="Only jobs about this account.")]
    payload: Annotated[
        list[str] | None,
        Field(
            max_length=MOST_MATCHES,
            description="Only jobs whose payload has this value, such as `account_id=0197…`; a path has dots.",
        ),
    ]
    job_id: Annotated[list[UUID] | None, Field(max_length=MOST_IDS, description="Only these jobs.")]


def filter_of(asked: AskedJobs, org_id: UUID | None = None) -> JobFilter:
    """The filter that is asked for; raises `Invalid` with the field and the reason."""
    account_id = asked.get("account_id")
    known = [(name, payload_types.find(name)) for name in asked.get("job_type") or ()]
    return JobFilter(
        org_id=org_id,
        job_types=tuple(one.declaration.job_type if one else name for name, one in known),
        states=tuple(asked.get("state") or ()),
        queue=asked.get("queue"),
        error_code=asked.get("error_code"),
        since=asked.get("since"),
        before=asked.get("before"),
        payload=(*(asked.get("payload") or ()), *([f"account_id={account_id}"] if account_id else [])),
        job_ids=tuple(asked.get("job_id") or ()),
    )
