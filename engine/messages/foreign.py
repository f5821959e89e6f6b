"""Task messages of foreign Celery clients, read into one closed type; whatever is odd is refused by its field."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from domain.jobs.contract import LONGEST_JOB_TYPE, JobContract
from domain.jobs.failures import Invalid
from domain.jobs.job import NewJob
from engine.broker.hints import JOB_TYPE, PRIORITIES, Unreadable
from engine.messages.documents import check_depth, read_body
from engine.messages.envelope import LONGEST_NAME

TEXTS = ("lang", "root_id", "parent_id", "group", "shadow", "origin", "argsrepr", "kwargsrepr")
"""Headers of Celery's that the fleet has no use for; another kind of value shows a client that is not Celery's."""

STAMPS = ("stamped_headers", "stamps")

NO_LIMITS = ([None, None], (None, None), None)

AFTERWARDS = ("callbacks", "errbacks", "chain", "chord")
"""What Celery calls when a task has ended. A job ends in the ledger, where nobody calls Celery's tasks."""


@dataclass(frozen=True, slots=True)
class RefusedMessage:
    """A message that is refused: its own names, as far as they are fit to be kept, the field and the reason."""

    task: str
    task_id: str
    field: str
    reason: str
    wants_result: bool
    """Whether the refusal is the result of the task id, for the client that sent the message."""


@dataclass(frozen=True, slots=True)
class ForeignMessage:
    """What a foreign client asks for."""

    task: str
    task_id: str
    contract: JobContract | None
    """With what the message's own options add. None: the message has no arguments, and its task id names a job that is
    in the ledger."""
    wants_result: bool
    is_checked: bool = False
    """Whether the contract's payload stands as its class writes it."""

    def new_job(self) -> NewJob | None:
        """The job as the ledger takes it; None where the message only names one."""
        if self.contract is None:
            return None
        return self.contract.new_job()._replace(is_checked=self.is_checked)

    def refused(self, field: str, reason: str) -> RefusedMessage:
        """The refusal of the message; a reason that begins with its field says it once."""
        problem = Unreadable(field, reason.removeprefix(f"{field}: "))
        return RefusedMessage(self.task, self.task_id, problem.field, problem.reason, self.wants_result)


def read_foreign(message: Any) -> ForeignMessage:  # noqa: ANN401 - a kombu message
    """Read a message of Celery's second protocol; raises `Unreadable`.

    kombu's own reading is not used: it takes other kinds of content than JSON, and unpacks compressed ones to any size.
    """
    headers = message.headers
    check_depth(headers, "headers")  # a broker other than Redis hands them over as they came
    body = read_body(message.body, message.content_type, message.content_encoding, headers.get("compression") or None)
    task, task_id = _read_names(headers)
    contract = _read_arguments(body)
    _refuse_wishes(headers)
    eta, expires = _read_time(headers, "eta"), _read_time(headers, "expires")
    if contract is None:
        _check_uuid(task_id)
    else:
        contract = _with_options(contract, eta, expires, message)
    return ForeignMessage(task, task_id, contract, wants_result(headers))


def wants_result(headers: Mapping[str, Any]) -> bool:
    """Whether the client may ask for the result of the message's task id."""
    return headers.get("ignore_result") is not True


def is_storable(text: str) -> bool:
    """Whether a text can be a column's value: neither empty nor long, and of characters that PostgreSQL keeps."""
    return 0 < len(text) <= LONGEST_NAME and "\0" not in text and text.isprintable()


def _read_names(headers: Mapping[str, Any]) -> tuple[str, str]:
    if "task" not in headers:
        raise Unreadable("headers", "name no task: only messages of Celery's protocol 2 are read")
    task, task_id = headers.get("task"), headers.get("id")
    if not isinstance(task, str) or len(task) > LONGEST_JOB_TYPE or not JOB_TYPE.fullmatch(task):
        raise Unreadable("task", "is no job type")
    if not isinstance(task_id, str) or not is_storable(task_id):
        raise Unreadable("id", f"is no printable text of 1 to {LONGEST_NAME} characters")
    return task, task_id


def _read_arguments(body: object) -> JobContract | None:
    """The job contract in a body of Celery's; None without keyword arguments."""
    match body:
        case [list(positional), dict(keywords), None | dict() as embedded]:
            pass
        case _:
            raise Unreadable("body", "is not [arguments, keyword arguments, options]")
    if positional:
        raise Unreadable("args", "must be empty")
    for name, wanted in (embedded or {}).items():
        if name not in AFTERWARDS:
            raise Unreadable("embed", "has options that are not Celery's")
        if wanted:
            raise Unreadable(f"embed.{name}", "a job calls no Celery task when it has ended")
    if not keywords:
        return None
    try:
        return JobContract.parse(keywords)
    except Invalid as problem:
        raise Unreadable(problem.field, problem.reason.removeprefix(f"{problem.field}: ")) from None


def _with_options(
    contract: JobContract,
    eta: datetime | None,
    expires: datetime | None,
    message: Any,  # noqa: ANN401 - a kombu message
) -> JobContract:
    """The contract with what the options of `send_task` say: when at the earliest, until when, how urgent, which trace.

    The contract's own priority and trace count before the message's, and of two ends the earlier one.
    """
    if eta and contract.scheduled_for:
        raise Unreadable("eta", "is given, and so is scheduled_for")
    priority, trace = message.properties.get("priority"), message.headers.get("traceparent")
    is_known = type(priority) is int and priority in PRIORITIES  # True and 5.0 are in a range, too
    if contract.priority is None and priority is not None and not is_known:
        raise Unreadable("priority", f"is no whole number from {PRIORITIES.start} to {PRIORITIES[-1]}")
    said = {
        "scheduled_for": eta or contract.scheduled_for,
        "expires_at": min(filter(None, (expires, contract.expires_at)), default=None),
        "priority": priority if contract.priority is None else contract.priority,
        "traceparent": contract.traceparent or (trace if isinstance(trace, str) and is_storable(trace) else None),
    }
    return contract.model_copy(update=said)


def _refuse_wishes(headers: Mapping[str, Any]) -> None:
    """Refuse headers of no shape, and the wishes among them that the fleet does not grant.

    Headers that are not Celery's mean nothing to a job: brokers, tracers and clients add them to whatever they send.
    """
    for name in TEXTS:
        if not isinstance(headers.get(name), str | None):
            raise Unreadable(name, "is no text")
    if headers.get("timelimit") not in NO_LIMITS:
        raise Unreadable("timelimit", "a job's deadline is its type's")
    retries = headers.get("retries")
    if retries is not None and not (type(retries) is int and retries >= 0):
        raise Unreadable("retries", "is no number of retries")
    if not isinstance(headers.get("ignore_result"), bool | None):
        raise Unreadable("ignore_result", "is neither true nor false")
    for name in STAMPS:
        if headers.get(name):
            raise Unreadable(name, "a job keeps no stamps")


def _read_time(headers: Mapping[str, Any], name: str) -> datetime | None:
    """A time of Celery's: ISO 8601, in UTC where it names no zone."""
    text = headers.get(name)
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (OverflowError, TypeError, ValueError) as error:
        raise Unreadable(name, "is no time in ISO 8601") from error


def _check_uuid(task_id: str) -> None:
    try:
        UUID(task_id)
    except ValueError as error:
        raise Unreadable("id", "is no UUID") from error
