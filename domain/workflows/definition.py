"""A workflow's definition: closed types, and a document that has been checked as these types (docs: workflows.md).

`domain.workflows.faults` reads what people write and names every fault of it. `definition_of` reads what was saved.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from domain.instants import read_instant
from domain.jobs.contract import JOB_TYPE_PATTERN, LONGEST_JOB_TYPE, LONGEST_RETRY_S, MOST_ATTEMPTS
from domain.jobs.job import JsonObject
from domain.orgs.access.users import UserRole
from domain.payloads.workflows import WORKFLOW_NAME, WorkflowName

LARGEST_DOCUMENT = 256 * 1024
"""Bytes as JSON."""
MOST_NODES = 1_000
MOST_NEEDS = 100
"""Of a node."""
MOST_ITEMS = 10_000
"""Of a run."""
MOST_RUNS = 10_000
"""Inside a run, at all depths. Advances that count at the same moment may each begin some more."""
DEEPEST_RUN = 5
"""How many runs may be around a run."""
LONGEST_QUESTION = 1_000
LONGEST_WAIT = timedelta(days=366)

NODE_NAME = r"^[a-z][a-z0-9_]{0,62}$"
"""As an expression names it without quotes."""
EVENT_NAME = WORKFLOW_NAME

_DURATION = re.compile(r"P(?=[0-9T])(\d{1,4}W|(\d{1,4}D)?(T(?=[0-9])(\d{1,5}H)?(\d{1,6}M)?(\d{1,8}S)?)?)", re.ASCII)
_AMOUNT = re.compile(r"([0-9]{1,8})([WDHMS])")
_SECONDS = {"W": 604_800, "D": 86_400, "H": 3_600, "M": 60, "S": 1}
NO_DURATION = "is no duration of ISO 8601 in weeks, or in days, hours, minutes and seconds, such as PT12H or P2D"


def read_duration(text: object) -> timedelta:
    """A duration of ISO 8601 without years and months, from a second to a year; raises `ValueError` with the reason."""
    if isinstance(text, timedelta):
        return text
    if not isinstance(text, str) or not _DURATION.fullmatch(text):
        raise ValueError(NO_DURATION)
    lasts = timedelta(seconds=sum(int(number) * _SECONDS[unit] for number, unit in _AMOUNT.findall(text)))
    if not timedelta(seconds=1) <= lasts <= LONGEST_WAIT:
        raise ValueError(f"must be from a second to {LONGEST_WAIT.days} days")
    return lasts


def read_until(text: object) -> datetime | timedelta:
    """An RFC 3339 instant, or a duration; raises `ValueError` with the reason."""
    return read_duration(text) if isinstance(text, str) and text[:1] == "P" else read_instant(text)


class RunIf(StrEnum):
    """How the needs of a node must have ended for it to run; each waits until every need has ended."""

    SUCCEEDED = "succeeded"
    """All of them did."""
    NOT_FAILED = "not_failed"
    """None failed, and one succeeded at least: the join after a branch."""
    FAILED = "failed"
    """One failed at least: an error's branch, a compensation."""
    DONE = "done"
    """However they ended."""


@dataclass(frozen=True, slots=True)
class Retry:
    """How a node's job is tried again; None leaves what its type says."""

    max_attempts: int | None = None
    base_s: int | None = None
    cap_s: int | None = None


@dataclass(frozen=True, slots=True)
class JobWork:
    """A job of a registered type, with `Node.with_` as its payload."""

    job_type: str
    payload_version: int | None = None
    """Of which version `with` is; None is the oldest, as for each caller that names no version."""


@dataclass(frozen=True, slots=True)
class WorkflowWork:
    """A run of another workflow, with `Node.with_` as its input."""

    name: str


@dataclass(frozen=True, slots=True)
class ApprovalWait:
    """A person's decision. A denial fails the node with the code `approval.denied`."""

    question: str
    """A text, or an expression of a text."""
    show: Any = None
    """What the person sees beside the question: a literal or an expression."""
    roles: tuple[UserRole, ...] = ()
    """Who may decide; empty: who may decide about actions."""


@dataclass(frozen=True, slots=True)
class EventWait:
    """An event that somebody sends to the run under this name; its payload becomes the node's output."""

    event: str


@dataclass(frozen=True, slots=True)
class UntilWait:
    """A time: an RFC 3339 instant, a duration of ISO 8601 from the node's turn on, or an expression of either."""

    until: str


Wait = ApprovalWait | EventWait | UntilWait
Work = JobWork | WorkflowWork | Wait


@dataclass(frozen=True, slots=True)
class Node:
    """A step of a workflow. Texts that are `${…}` as a whole are expressions (`domain.workflows.expressions`)."""

    name: str
    work: Work
    needs: tuple[str, ...] = ()
    when: str | None = None
    """An expression that must give true or false; None is true."""
    for_each: Any = None
    """A list, or an expression of a list: the work is done once per item. None: it is done once."""
    limit: int | None = None
    """How many items may be at work at once; None: all."""
    run_if: RunIf = RunIf.SUCCEEDED
    retry: Retry = Retry()
    timeout: timedelta | None = None
    with_: JsonObject = field(default_factory=dict)

    @property
    def has_items(self) -> bool:
        """Whether the work is done once per item of a list."""
        return self.for_each is not None


@dataclass(frozen=True, slots=True)
class Definition:
    """A workflow as data. A run keeps to the definition that it began with."""

    name: str
    input_schema: JsonObject
    """JSON Schema of a run's input, which is an object."""
    nodes: Mapping[str, Node]
    """By name, in the order of the document."""
    deadline: timedelta | None = None
    """How long a run may take, from its start or its latest resume on."""
    output: Any = None
    """A literal or an expression, evaluated when the run succeeds."""

    @property
    def dependants(self) -> Mapping[str, Sequence[str]]:
        """By node: those that need it."""
        found: dict[str, list[str]] = {name: [] for name in self.nodes}
        for upstream, downstream in self.edges:
            found[upstream].append(downstream)
        return found

    @property
    def edges(self) -> Iterator[tuple[str, str]]:
        """Each need of each node: upstream, downstream."""
        return ((need, node.name) for node in self.nodes.values() for need in node.needs)

    @property
    def workflows(self) -> frozenset[str]:
        """The names of the workflows that it runs itself."""
        return frozenset(node.work.name for node in self.nodes.values() if isinstance(node.work, WorkflowWork))


NO_INPUT: JsonObject = {"type": "object", "additionalProperties": False}
"""The schema of a workflow that says nothing of its input."""

Duration = Annotated[timedelta, BeforeValidator(read_duration)]
NodeName = Annotated[str, StringConstraints(pattern=NODE_NAME)]


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RetryDocument(_Document):
    """`retry` of a node, in the words of the job contract."""

    max_retries: int | None = Field(None, ge=0, lt=MOST_ATTEMPTS)
    base_s: int | None = Field(None, ge=1, le=LONGEST_RETRY_S)
    cap_s: int | None = Field(None, ge=1, le=LONGEST_RETRY_S)


class WaitDocument(_Document):
    """`wait` of a node: exactly one of `approval`, `event` and `until`."""

    approval: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_QUESTION)] | None = None
    show: Any = None
    roles: Annotated[list[UserRole], Field(min_length=1, max_length=len(UserRole))] | None = None
    event: Annotated[str, StringConstraints(pattern=EVENT_NAME)] | None = None
    until: str | None = None


class NodeDocument(_Document):
    """A node as people write it: exactly one of `job`, `workflow` and `wait`."""

    job: Annotated[str, StringConstraints(pattern=f"^{JOB_TYPE_PATTERN}$", max_length=LONGEST_JOB_TYPE)] | None = None
    payload_version: int | None = Field(None, ge=1, le=1000)
    workflow: WorkflowName | None = None
    wait: WaitDocument | None = None
    needs: Annotated[list[NodeName], Field(max_length=MOST_NEEDS)] = Field(default_factory=list)
    when: Any = None
    for_each: Any = None
    limit: int | None = Field(None, ge=1, le=MOST_ITEMS)
    with_: JsonObject | None = Field(None, alias="with")
    retry: RetryDocument | None = None
    timeout: Duration | None = None
    run_if: RunIf = RunIf.SUCCEEDED


class DefinitionDocument(_Document):
    """A definition as people write it; its nodes are read one by one."""

    name: WorkflowName
    input: JsonObject | None = None
    deadline: Duration | None = None
    nodes: Annotated[dict[NodeName, Any], Field(min_length=1, max_length=MOST_NODES)]
    output: Any = None


def read_head(document: object) -> DefinitionDocument:
    """The document without a look at its nodes; raises pydantic's `ValidationError`."""
    return DefinitionDocument.model_validate_json(json.dumps(document), strict=True)


def read_node(document: object) -> NodeDocument:
    """One node; raises pydantic's `ValidationError`."""
    return NodeDocument.model_validate_json(json.dumps(document), strict=True)


def hash_of(document: object) -> bytes:
    """The SHA-256 of a document, whatever the order of its keys: documents with the same hash are one version."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).digest()


def definition_of(document: object) -> Definition:
    """The definition that a saved document means: it was checked when it was saved."""
    head = read_head(document)
    return Definition(
        name=head.name,
        input_schema=NO_INPUT if head.input is None else head.input,
        nodes={name: _node(name, read_node(node)) for name, node in head.nodes.items()},
        deadline=head.deadline,
        output=head.output,
    )


def _node(name: str, read: NodeDocument) -> Node:
    return Node(
        name=name,
        work=_work(read),
        needs=tuple(read.needs),
        when=read.when,
        for_each=read.for_each,
        limit=read.limit,
        run_if=read.run_if,
        retry=_retry(read.retry),
        timeout=read.timeout,
        with_=read.with_ or {},
    )


def _work(read: NodeDocument) -> Work:
    if read.job is not None:
        return JobWork(read.job, read.payload_version)
    if read.workflow is not None:
        return WorkflowWork(read.workflow)
    wait = read.wait or WaitDocument()
    if wait.approval is not None:
        return ApprovalWait(wait.approval, wait.show, tuple(wait.roles or ()))
    return UntilWait(wait.until) if wait.until is not None else EventWait(wait.event or "")


def _retry(read: RetryDocument | None) -> Retry:
    if read is None:
        return Retry()
    attempts = None if read.max_retries is None else read.max_retries + 1
    return Retry(attempts, read.base_s, read.cap_s)
