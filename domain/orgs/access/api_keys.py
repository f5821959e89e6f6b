"""API keys: how one looks, what is kept of it, and what its role allows."""

import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from uuid import UUID

from domain.jobs.failures import Forbidden
from domain.jobs.job import SYSTEM_ORG
from domain.payloads.declaration import Declaration

PREFIX_BYTES = 6
"""Finds the row of a key. Two keys with one prefix are refused by the table; a million keys make that unlikely."""

SECRET_BYTES = 32
"""Nobody guesses 256 bits, so that a fast hash is enough: a slow one protects words that people choose."""

NOISE = PREFIX_BYTES + SECRET_BYTES
"""Random bytes for one key."""

KEY = re.compile(rf"sk-postroom-([0-9a-f]{{{2 * PREFIX_BYTES}}})-([0-9a-f]{{{2 * SECRET_BYTES}}})", re.ASCII)
"""It begins as other vendors' secrets do, so that the redaction of logs and payloads knows it."""

NOTE_USE_EVERY = timedelta(minutes=5)
"""How old `last_used_at` may become: to write it with each request would make each reading request a writing one."""

HOUSEKEEPING = frozenset(
    {"maintenance", "deadletter", "budgets", "audit", "bulk_actions"}
    | {"approvals.expire", "notifications.close_overdue"}
)
"""Families and job types whose jobs the fleet makes for itself. They look across orgs, or end another job's work."""


class Role(StrEnum):
    """What a key may do; each role includes those before it."""

    READER = "reader"
    """Look at jobs."""
    WRITER = "writer"
    """Enqueue and cancel jobs, too."""
    OPERATOR = "operator"
    """Decide what a person has to answer for, too: retries, approvals, dead letters, schedules, settings."""

    def includes(self, needed: "Role") -> bool:
        """Whether this role may do what the other may."""
        order = list(Role)
        return order.index(self) >= order.index(needed)


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was just made: `text` is for its owner alone, the rest is kept."""

    text: str
    prefix: str
    digest: bytes


def make_key(noise: bytes) -> NewKey:
    """The key of `NOISE` random bytes; raises `ValueError` for another number of them."""
    if len(noise) != NOISE:
        raise ValueError(f"a key takes {NOISE} random bytes, not {len(noise)}")
    prefix = noise[:PREFIX_BYTES].hex()
    text = f"sk-postroom-{prefix}-{noise[PREFIX_BYTES:].hex()}"
    return NewKey(text, prefix, digest_of(text))


def prefix_of(text: str) -> str | None:
    """The prefix by which a key is found; None for what is no key."""
    found = KEY.fullmatch(text)
    return found[1] if found else None


def digest_of(text: str) -> bytes:
    """What is kept of a key."""
    return hashlib.sha256(text.encode()).digest()


def matches(text: str, digest: bytes) -> bool:
    """Whether a key is the one of that digest; takes the same time wherever they differ."""
    return hmac.compare_digest(digest_of(text), digest)


def check_org(org_id: UUID) -> None:
    """Raise `Forbidden` for the system org: its jobs may look across orgs, so no key outside the fleet may make one."""
    if org_id == SYSTEM_ORG:
        raise Forbidden("the system org has no API keys; its jobs are enqueued by the schedule and the command line")


def check_job_type(declared: Declaration) -> None:
    """Raise `Forbidden` for a job type that only the fleet itself enqueues."""
    if declared.asked_by is not None:
        raise Forbidden(f"job_type: {declared.job_type} is enqueued by the fleet itself: ask by {declared.asked_by}")
    if is_housekeeping(declared.job_type):
        raise Forbidden(f"job_type: {declared.job_type} is housekeeping, which the fleet enqueues for itself")


def is_internal(declared: Declaration) -> bool:
    """Whether no service enqueues jobs of that type."""
    return declared.asked_by is not None or is_housekeeping(declared.job_type)


def is_housekeeping(job_type: str) -> bool:
    """Whether only the fleet itself enqueues jobs of that type."""
    return not HOUSEKEEPING.isdisjoint({job_type, job_type.partition(".")[0]})
