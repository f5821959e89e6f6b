"""The statement that enqueues a job, `select postroom.enqueue(…)`, and what PostgreSQL says when it refuses one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from postroom_client import options
from postroom_client.errors import Invalid
from postroom_client.options import Id, JobOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

KINDS = {
    "org_id": "uuid",
    "payload": "jsonb",
    "project_id": "uuid",
    "run_at": "timestamptz",
    "expires_at": "timestamptz",
    "priority": "integer",
    "max_attempts": "integer",
    "retry_base_s": "integer",
    "retry_cap_s": "integer",
    "payload_version": "integer",
}
"""The types of the function's parameters; all others are texts. Drivers do not agree on the type of what they send."""

REFUSALS = {"PR002": "invalid", "PR003": "secret", "23503": "unknown_org"}
"""The SQLSTATEs by which the function refuses, and a short word for each."""


class SqlOptions(JobOptions, total=False):
    """What may be said of a job in SQL, beside what may be said everywhere."""

    actor_type: str
    """`system`, `user` or `api_key`."""
    actor_id: str
    """Who enqueues, for the audit log."""


Parameters = Mapping[str, Any]


def parameters(
    job_type: str, payload: Mapping[str, Any], org_id: Id, key: str | None, **said: Unpack[SqlOptions]
) -> Parameters:
    """What the function is given, by its parameters' names; raises as `options.checked` does."""
    who: dict[str, Any] = {name: said[name] for name in ("actor_type", "actor_id") if name in said}
    others = options.checked({name: value for name, value in said.items() if name not in who})
    if "project_id" in others:
        others["project_id"] = str(others["project_id"])
    given: dict[str, Any] = {"job_type": job_type, "org_id": str(org_id), "payload": options.as_json(payload)}
    given.update(who, **others)
    return given if key is None else given | {"idempotency_key": key}


def text(given: Parameters, mark: str) -> str:
    """The statement for these parameters; `mark` is how the driver marks one, such as `%({})s`."""
    arguments = (f"{name} => cast({mark.format(name)} as {KINDS.get(name, 'text')})" for name in given)
    return f"select postroom.enqueue({', '.join(arguments)}) as job_id"


class Refusals:
    """A block in which a refusal of the function's is raised as `Invalid`, whichever driver and framework said it."""

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Raise `Invalid` in place of a refusal; any other error goes on."""
        for cause in _causes(error):
            code = REFUSALS.get(str(getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)))
            if code is not None:
                field, reason = _field_and_reason(cause)
                raise Invalid(code, reason, field=field) from error


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what it wraps: SQLAlchemy keeps the driver's error as `orig`, Django as its cause."""
    while error is not None:
        yield error
        error = getattr(error, "orig", None) or error.__cause__


def _field_and_reason(error: BaseException) -> tuple[str | None, str]:
    """What the first line of PostgreSQL's message says: `<field>: <reason>`."""
    line = getattr(getattr(error, "diag", None), "message_primary", None) or str(error).partition("\n")[0]
    field, colon, reason = line.partition(": ")
    return (field, reason) if colon else (None, line)
