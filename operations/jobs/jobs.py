"""Jobs: lists, one with its result, what it enqueued; cancel it, or do it again."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, ClassVar, Unpack
from uuid import UUID

from pydantic import AfterValidator, Field

from domain.jobs.audit.event_names import with_other_names
from domain.jobs.failures import Gone, Invalid
from domain.jobs.job import SYSTEM_ORG, ActorType, JsonObject, State
from domain.jobs.monitoring.why import WaitCause, why
from domain.jobs.queues import Queue
from domain.orgs.access.api_keys import Role
from domain.payloads import payload_types
from operations.call import Call
from operations.jobs import cancellations, replays
from operations.jobs.job_filters import AskedJobs, filter_of
from operations.operation import Area, OperatorsOnly, Reason, Record, Route
from operations.pages import Page, Window
from storage.jobs import job_views, refusals
from storage.jobs.job_views import JobPosition
from storage.orgs.secrets.sealing import REFUSED_MESSAGE, SealedToken, Sealer

JOBS = Area("jobs", "Enqueue, look at, cancel and retry jobs.")
FLEET = OperatorsOnly("it tells of the fleet's workers and claims; an org reads its job by `GET /v1/jobs/{job_id}`")
NO_ORG = OperatorsOnly("a message that could not become a job belongs to no org")
OF_SERVICES = OperatorsOnly("services find the job types, each with its payload, in `/v1/openapi.json`")
NO_REASON = "no reason was given"


class JobLine(Record):
    """One job in a list."""

    plural: ClassVar = "jobs"
    columns: ClassVar = ("job_id", "job_type", "queue", "state", "attempt", "reason", "created_at", "run_at")
    job_id: UUID
    job_type: str
    queue: Queue
    state: State
    org_id: UUID
    priority: int
    attempt: int
    max_attempts: int
    created_at: datetime
    run_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    reason: str | None = Field(description="Its error, or why it was canceled.")


class JobView(Record):
    """Everything that an org may know of one of its jobs; what looks like a secret is taken out."""

    values: ClassVar = ("payload", "progress", "output")
    job_id: UUID
    job_type: str
    queue: Queue
    state: State
    priority: int
    payload: JsonObject | None
    payload_version: int
    attempt: int
    max_attempts: int
    project_id: UUID | None
    parent_id: UUID | None
    replay_of: UUID | None = Field(description="The job that this one does again.")
    actor_type: ActorType
    actor_id: str
    request_id: str
    correlation_id: str
    created_at: datetime
    run_at: datetime
    expires_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    cancel_requested_at: datetime | None
    cancel_reason: str | None
    progress: JsonObject | None
    output: JsonObject | None
    error: JsonObject | None
    left_out: list[str] = Field(description="Fields that are null because they are larger than an answer may carry.")


class JobTimeline(Record):
    """What the ledger knows of one job; `job` is null when its row is past its retention."""

    values: ClassVar = (
        "job.payload", "job.progress", "job.output", "steps.result", "effects.result", "events.data.*",
    )  # fmt: skip
    job: dict[str, Any] | None
    events: Annotated[list[JsonObject], AfterValidator(with_other_names)] = Field(description="The newest, in order.")
    steps: list[JsonObject]
    effects: list[JsonObject]
    children: list[JsonObject]
    children_by_state: dict[str, int]
    dead_letter: JsonObject | None
    more: list[str] = Field(description="Those of which there are more than are shown.")


class JobWhy(Record):
    """Why a job is where it is."""

    job_id: UUID
    state: State
    cause: WaitCause = Field(description="What keeps it from going on; of one that has ended, how.")
    sentence: str = Field(description="The whole answer, for people.")
    since: datetime | None
    until: datetime | None = Field(description="When that should change; null where nobody knows.")


class ChildView(Record):
    """A job that another has enqueued."""

    plural: ClassVar = "children"
    job_id: UUID
    job_type: str
    state: State


class JobTypeView(Record):
    """A kind of job that workers have published."""

    plural: ClassVar = "job_types"
    columns: ClassVar = ("job_type", "package", "queue", "payload_version", "max_attempts", "deadline_s", "seen_at")
    job_type: str
    package: str = Field(description="Whose it is: the fleet's own are `postroom`'s.")
    queue: Queue
    aliases: list[str]
    payload_version: int
    max_attempts: int
    deadline_s: float
    asked_by: str | None = Field(description="How services ask for what its jobs do; null where they enqueue them.")
    seen_at: datetime = Field(description="When a process with the job type last began.")


class RefusedMessage(Record):
    """A message that could not become a job."""

    columns: ClassVar = ("id", "at", "task", "task_id", "field", "reason")
    id: int
    at: datetime
    task: str
    task_id: str
    field: str
    reason: str


class RefusedContent(Record):
    """What a refused message said."""

    id: int
    content: str = Field(description="A line of JSON with its kind and headers; then its body, up to 2 MiB in all.")


class CanceledJob(Record):
    """What a request to cancel did."""

    job_id: UUID
    state: State = Field(description="`canceled` for a job that waited; a running one stops at its next step.")
    descendants: int = Field(description="How many of the jobs that descend from it were asked to stop, too.")


class RetriedJob(Record):
    """The new job that does an ended one again."""

    job_id: UUID
    replay_of: UUID


@JOBS.look("list", Route("GET", "/jobs"), org="optional", looks_back=True)
def list_jobs(call: Call, window: Window, **asked: Unpack[AskedJobs]) -> Page[JobLine]:
    """List jobs, the newest first. A page may have few or none: see `looked_back_to`."""
    wanted = filter_of(asked)
    with call.reading() as tx:
        found = job_views.listed(tx, wanted, after=window.after(JobPosition), limit=window.limit)
    unknown = [name for name in wanted.job_types if payload_types.find(name) is None]
    if unknown and not found.rows and call.is_of_fleet:
        # Jobs of a type that this release no longer knows are listed; where there are none, the name is a mistake.
        names = ", ".join(one.declaration.job_type for one in payload_types)
        raise Invalid("job_type", f"{unknown[0]} is no known job type; known are {names}")
    return window.page(
        found.rows, JobLine.model_validate, lambda line: JobPosition(line.at, line.job_id), reached=found.reached
    )


@JOBS.look("read", Route("GET", "/jobs/{job_id}"))
def read_job(call: Call, job_id: UUID) -> JobView:
    """Look at one job as its org may."""
    with call.reading() as tx:
        row = job_views.read(tx, job_id)
    if row is None:
        raise Gone(f"there is no job {job_id}")
    return JobView.model_validate(row)


@JOBS.look("show", FLEET)
def show_job(call: Call, job_id: UUID) -> JobTimeline:
    """Show a job: row, timeline, steps, effects, children, dead letter."""
    with call.reading() as tx:
        found = job_views.timeline(tx, job_id)
    if found is None:
        raise Gone(f"there is no job {job_id}")
    return JobTimeline.model_validate(found)


@JOBS.look("why", Route("GET", "/jobs/{job_id}/why"))
def explain_job(call: Call, job_id: UUID) -> JobWhy:
    """Say in a sentence why a job waits, what it does, or how it ended."""
    with call.reading() as tx:
        facts = job_views.facts(tx, job_id)
    if facts is None:
        raise Gone(f"there is no job {job_id}")
    found = why(facts)
    return JobWhy(job_id=job_id, state=facts.state, **asdict(found))


@JOBS.look("children", Route("GET", "/jobs/{job_id}/children"))
def list_children(call: Call, job_id: UUID, window: Window) -> Page[ChildView]:
    """List the jobs that a job has enqueued, by their ids."""
    with call.reading() as tx:
        if job_views.state(tx, job_id) is None:
            raise Gone(f"there is no job {job_id}")
        return window.records(tx, "list_children", ChildView, parent_id=job_id)


@JOBS.look("types", OF_SERVICES)
def list_job_types(call: Call, window: Window) -> Page[JobTypeView]:
    """List the job types that workers have published, the fleet's own and those of packages."""
    with call.reading() as tx:
        return window.records(tx, "list_job_types", JobTypeView)


@JOBS.look("refused", NO_ORG)
def list_refused_messages(call: Call, window: Window) -> Page[RefusedMessage]:
    """List the messages of foreign clients that were refused, the newest first: which field, and why."""
    with call.reading() as tx:
        return window.records(tx, "list_refused_messages", RefusedMessage)


@JOBS.deed("refused-content", NO_ORG, events=("message.content_shown",))
def show_refused_content(call: Call, refusal_id: int) -> RefusedContent:
    """Show what a refused message said, a secret in it too: it is sealed in the database, and kept for 30 days."""
    with call.writing() as tx:
        sealed = refusals.sealed_content(tx, refusal_id)
        call.audit(tx, SYSTEM_ORG, {"refusal_id": refusal_id})
    if sealed is None:
        raise Gone(f"of the refused message {refusal_id} only field and reason are kept: there were too many that day")
    content = Sealer.of(call.settings).open(SealedToken(sealed), REFUSED_MESSAGE)
    return RefusedContent(id=refusal_id, content=content.get_secret_value())


@JOBS.deed(
    "cancel",
    Route("POST", "/jobs/{job_id}/cancel"),
    role=Role.WRITER,
    events=("job.canceled", "job.cancel_requested"),
    ledger_audits=True,
    many=True,
)
def cancel_job(
    call: Call,
    job_id: UUID,
    *,
    reason: Reason = None,
    children: Annotated[
        bool, Field(strict=True, description="Also cancel the unfinished jobs that descend from it.")
    ] = True,
) -> CanceledJob:
    """Cancel a job and its descendants. A waiting job is canceled at once, a running job at its next step.

    Refused when the job has ended otherwise. One that was canceled before has its descendants looked for again.
    """
    # As the tenant first: a job of another org must look like none. The ledger's own statement names the org again.
    with call.reading() as tx:
        if job_views.state(tx, job_id) is None:
            raise Gone(f"there is no job {job_id}")
    why = reason or NO_REASON
    done = cancellations.cancel(call.database, [job_id], why, by=call.origin, org_id=call.org_id, children=children)
    if job_id not in done.asked:
        with call.reading() as tx:
            cancellations.check_cancel(job_id, job_views.state(tx, job_id))  # somebody else may have canceled it
    state = State(done.asked.get(job_id, State.CANCELED))
    return CanceledJob(job_id=job_id, state=state, descendants=len(done.descendants))


@JOBS.deed(
    "retry",
    Route("POST", "/jobs/{job_id}/retry", location="/v1/jobs/{job_id}"),
    events=("job.replayed", "deadletter.replayed"),
    ledger_audits=True,
    keyed=True,
    many=True,
)
def retry_job(call: Call, job_id: UUID, *, reason: Reason = None) -> RetriedJob:
    """Do a failed, canceled or dead job again, as a new job that names it. Refused when it cannot be or was retried.

    A dead job's letter is closed. A mended payload, or a decision about an effect, goes by its dead letter.
    """
    with call.reading() as tx:
        if job_views.state(tx, job_id) is None:
            raise Gone(f"there is no job {job_id}")
    why = reason or NO_REASON
    with call.writing() as tx:
        (made,) = call.once(tx, lambda: [replays.retry(tx, job_id, by=call.origin, reason=why, org_id=call.org_id)])
    return RetriedJob(job_id=made, replay_of=job_id)
