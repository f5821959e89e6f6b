"""What a rule says of an event, and which version of the rules says it."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from domain.jobs.job import JsonObject

RULE_VERSION = 1
"""Raise it when a rule changes: each event that the log still has is enriched anew, and earlier details stay."""


@dataclass(frozen=True, slots=True)
class Details:
    """What an event changed, for people to read."""

    subject: str
    subject_id: UUID | None = None
    revision: int | None = None
    changes: Sequence[JsonObject] = ()
    sentences: Sequence[str] = ()
