"""What Postroom answers, as values. Each has the fields that a service needs; `document` has all that was answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from postroom_client.errors import OutputLeftOut, PostroomError

Document = Mapping[str, Any]
Record = TypeVar("Record")
Json = TypeVar("Json")

ENDED = frozenset({"succeeded", "failed", "dead", "canceled"})
"""The states in which a job or a run stays."""


@dataclass(frozen=True)
class Enqueued:
    """What became of a request to enqueue."""

    job_id: UUID
    job_type: str
    created: bool
    """False when the job was there already."""
    replayed: bool
    """True when an earlier request with the same key made the job."""


@dataclass(frozen=True)
class Job:
    """A job, as it was when it was looked at."""

    job_id: UUID
    job_type: str
    state: str
    """`queued`, `claimed`, `running`; or one of `ENDED`, for good."""
    attempt: int
    max_attempts: int
    created_at: datetime
    run_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    progress: Document | None
    output: Document | None
    error: Document | None
    """`code` and `reason`."""
    cancel_reason: str | None
    left_out: Sequence[str]
    """Fields that are null because they are larger than an answer may carry."""
    document: Document = field(repr=False, compare=False)

    @property
    def ended(self) -> bool:
        """Whether the state is final."""
        return self.state in ENDED

    def result(self) -> Document:
        """The output of a job that has succeeded; raises `JobNotSucceeded` or `OutputLeftOut`."""
        if self.state != "succeeded":
            raise JobNotSucceeded(self)
        if "output" in self.left_out:
            raise OutputLeftOut(f"{self.job_type} {self.job_id} has an output that is larger than an answer may carry")
        return self.output or {}


@dataclass(frozen=True)
class Canceled:
    """What a request to cancel a job did."""

    job_id: UUID
    state: str
    """`canceled` for a job that waited; a running one stops at its next step."""
    descendants: int
    """How many of the jobs that it has enqueued were asked to stop, too."""


@dataclass(frozen=True)
class StartedRun:
    """A run of a workflow that was started."""

    run_id: UUID
    workflow: str


@dataclass(frozen=True)
class RunNode:
    """Where a node of a run stands, or an item of a node."""

    node: str
    item: int
    """-1 is the node itself; its items count from 0."""
    state: str
    """`pending`, `running`, `waiting`, `succeeded`, `failed`, `skipped` or `canceled`."""
    job_id: UUID | None
    error: Document | None
    wait_name: str | None
    """The event that it waits for."""
    wait_until: datetime | None
    approval_id: UUID | None
    document: Document = field(repr=False, compare=False)


@dataclass(frozen=True)
class Run:
    """A run of a workflow, as it was when it was looked at."""

    run_id: UUID
    workflow: str
    version: int
    state: str
    """`running`; or one of `ENDED`, until it is resumed."""
    round: int
    """1, and one more with each resume."""
    nodes_left: int
    failure: Document | None
    """`code`, `reason`, and the `nodes` that led to it."""
    created_at: datetime
    finished_at: datetime | None
    output: Any
    nodes: Sequence[RunNode]
    document: Document = field(repr=False, compare=False)

    @property
    def ended(self) -> bool:
        """Whether the run goes on by itself no more."""
        return self.state in ENDED

    def result(self) -> Any:  # noqa: ANN401 - whatever the workflow's output is
        """The output of a run that has succeeded; raises `RunNotSucceeded`."""
        if self.state != "succeeded":
            raise RunNotSucceeded(self)
        return self.output


@dataclass(frozen=True)
class SentEvent:
    """An event that a run keeps until a node of it waits for it."""

    event_id: UUID
    run_id: UUID
    name: str


@dataclass(frozen=True)
class RunEvent:
    """An event that was sent to a run."""

    event_id: UUID
    run_id: UUID
    name: str
    payload: Any
    sent_by: str
    at: datetime
    taken_by_node: str | None
    """None as long as no node has waited for it."""


@dataclass(frozen=True)
class RunEventPage:
    """Some of the events that were sent to a run, and where the next page begins."""

    events: Sequence[RunEvent]
    next_cursor: str | None


class JobNotSucceeded(PostroomError):
    """A job ended otherwise than by success: `failed`, `dead` or `canceled`; `code` and `reason` say why."""

    def __init__(self, job: Job) -> None:
        """Read the reason from the job."""
        error = job.error or {}
        self.job = job
        self.code = str(error.get("code", job.state))
        self.reason = str(error.get("reason") or job.cancel_reason or job.state)
        super().__init__(f"{job.job_type} {job.job_id} is {job.state}: {self.reason}")


class RunNotSucceeded(PostroomError):
    """A run of a workflow ended otherwise than by success: `failed` or `canceled`; `code` and `reason` say why."""

    def __init__(self, run: Run) -> None:
        """Read the reason from the run."""
        failure = run.failure or {}
        self.run = run
        self.code = str(failure.get("code", run.state))
        self.reason = str(failure.get("reason") or run.state)
        super().__init__(f"{run.workflow} {run.run_id} is {run.state}: {self.reason}")


class NotEnded(PostroomError, TimeoutError):
    """The time to wait was over before the job or the run had ended; it goes on. `last` is what was seen last."""

    def __init__(self, last: Job | Run) -> None:
        """Keep what was seen last."""
        super().__init__(f"it is {last.state}, and goes on")
        self.last = last


def read(kind: Callable[..., Record], answer: object) -> Record:
    """A record of what was answered; fields that this release does not know are in `document` alone.

    Raises `ValueError` for an answer that lacks a field, or has it as another kind of value.
    """
    document = _json(dict, answer)
    values = {
        one.name: document if one.name == "document" else _value(str(one.type), document.get(one.name))
        for one in fields(kind)  # type: ignore[arg-type]  # each kind is a dataclass
    }
    return kind(**values)


def _value(kind: str, value: object) -> object:
    """A value of JSON as its field's type has it; raises `ValueError`."""
    if value is None and kind.endswith(" | None"):
        return None
    return READERS[kind.replace(" | None", "")](value)


def _json(kind: type[Json], value: object) -> Json:
    """A value that must be of this kind; raises `ValueError`."""
    if not isinstance(value, kind):
        raise ValueError(f"a {type(value).__name__} is no {kind.__name__}")  # noqa: TRY004 - whoever reads JSON expects it
    return value


def _instant(value: object) -> datetime:
    """An instant of RFC 3339 with its offset; Python reads the `Z` since 3.11 only."""
    text = _json(str, value)
    return datetime.fromisoformat(f"{text[:-1]}+00:00" if text.endswith("Z") else text)


READERS: Mapping[str, Callable[[object], object]] = {
    "Any": lambda value: value,
    "str": lambda value: _json(str, value),
    "int": lambda value: _json(int, value),
    "bool": lambda value: _json(bool, value),
    "Document": lambda value: _json(dict, value),
    "UUID": lambda value: UUID(_json(str, value)),
    "datetime": _instant,
    "Sequence[str]": lambda value: tuple(_json(str, one) for one in _json(list, value)),
    "Sequence[RunNode]": lambda value: tuple(read(RunNode, one) for one in _json(list, value)),
    "Sequence[RunEvent]": lambda value: tuple(read(RunEvent, one) for one in _json(list, value)),
}
"""How a field's value is read, by its annotation, which is a text in this module."""
