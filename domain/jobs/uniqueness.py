"""When a second job of the same key is refused, and how long a key is remembered (docs: life-of-a-job.md#enqueue)."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from domain.jobs.queues import JobCategory


class UniqueMode(StrEnum):
    """In which states of the first job a second one is refused."""

    WHILE_QUEUED = "while_queued"
    """Refused until the first is claimed: what comes in while it runs still gets one follow-up."""
    WHILE_ACTIVE = "while_active"
    """Refused until the first has ended."""
    FOR_TTL = "for_ttl"
    """Refused for a time, however the first ended: once per window."""


@dataclass(frozen=True, slots=True)
class Unique:
    """A job type's rule. Without fields, the whole payload makes the key."""

    mode: UniqueMode
    fields: tuple[str, ...] | None
    keep_for: timedelta | None = None
    """How long the key is remembered; by default the category's time."""


def while_queued(*fields: str) -> Unique:
    """One queued job per key."""
    return Unique(UniqueMode.WHILE_QUEUED, fields or None)


def while_active(*fields: str) -> Unique:
    """One unfinished job per key."""
    return Unique(UniqueMode.WHILE_ACTIVE, fields or None)


def for_ttl(*fields: str, keep_for: timedelta | None = None) -> Unique:
    """One job per key and time."""
    return Unique(UniqueMode.FOR_TTL, fields or None, keep_for)


KEEP_KEY_FOR = {
    JobCategory.NOTIFICATION: timedelta(days=7),
    JobCategory.MAINTENANCE: timedelta(days=7),
}
"""Anything else is remembered for 30 days (docs: seeds.md#004-72)."""

KEEP_KEY_BY_DEFAULT = timedelta(days=30)


def keep_key_for(unique: Unique | None, category: JobCategory) -> timedelta:
    """How long the key of a job of this type is remembered."""
    if unique is not None and unique.keep_for is not None:
        return unique.keep_for
    return KEEP_KEY_FOR.get(category, KEEP_KEY_BY_DEFAULT)
