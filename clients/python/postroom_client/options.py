"""What may be said of a job beside its type, payload and key: the same words by HTTP, in SQL and by Celery."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypedDict, Union
from uuid import UUID

from postroom_client.errors import Invalid

if TYPE_CHECKING:
    from typing_extensions import Unpack  # noqa: F401 - the annotations of other modules name it

Id = Union[UUID, str]


class JobOptions(TypedDict, total=False):
    """What is left out, the job type decides."""

    run_at: datetime
    """When at the earliest; with its offset."""
    expires_at: datetime
    """Canceled when it has not begun by then; with its offset."""
    priority: int
    """-100 to 100; a higher one goes first."""
    project_id: Id
    max_attempts: int
    retry_base_s: int
    """Seconds before the first retry; the wait doubles with each."""
    retry_cap_s: int
    """Seconds between two attempts, at most."""
    payload_version: int
    """Which shape of the payload this is; 1 where it is left out."""
    request_id: str
    correlation_id: str
    traceparent: str


ALL = frozenset(JobOptions.__annotations__)


def checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are given; raises TypeError for an unknown one, and `Invalid` for a time without its offset."""
    unknown = set(options) - ALL
    if unknown:
        raise TypeError(f"there is no option {', '.join(sorted(unknown))}; there are {', '.join(sorted(ALL))}")
    for name, value in options.items():
        if isinstance(value, datetime) and value.tzinfo is None:
            raise Invalid("invalid", "a time needs its offset: datetime.now(timezone.utc)", field=name)
    return {name: value for name, value in options.items() if value is not None}


def as_json(document: object) -> str:
    """A document as JSON; UUIDs and times in it are written as Postroom reads them."""
    return json.dumps(document, default=_written, ensure_ascii=False, allow_nan=False)


def _written(value: object) -> str:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON")
