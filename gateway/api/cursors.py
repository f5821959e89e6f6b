"""Where a list goes on, as text that a client only hands back."""

import base64
import binascii
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from domain.jobs.contract import parse_time
from domain.jobs.failures import Invalid

FIELD = "cursor"


class Place(NamedTuple):
    """Where a list stands: the last row that was shown."""

    created_at: datetime
    job_id: UUID


def write_cursor(place: Place) -> str:
    """The text for a place."""
    return base64.urlsafe_b64encode(f"{place.created_at.isoformat()} {place.job_id}".encode()).decode().rstrip("=")


def read_cursor(text: str) -> Place:
    """The place that a text stands for; raises `Invalid` for one that is none of ours."""
    try:
        at, _, job_id = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("ascii").partition(" ")
        return Place(_time(at), UUID(job_id))
    except (binascii.Error, ValueError):
        raise Invalid(FIELD, "is no cursor of this list") from None


def _time(text: str) -> datetime:
    try:
        return parse_time(text, FIELD)
    except Invalid as problem:
        raise ValueError(problem.reason) from None
