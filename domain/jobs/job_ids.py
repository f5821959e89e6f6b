"""Ids of jobs: made by who enqueues, so that a lost statement can be sent again; and where a time stands among them."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

NOISE = 8
"""Random bytes for each id."""

MILLISECOND = timedelta(milliseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

MOST = 1 << 12
"""Ids that one call makes, at most: so many fit into the counter that keeps them in order."""


def make_job_ids(count: int, at: datetime, noise: bytes) -> Sequence[UUID]:
    """UUIDs of version 7 in the order of the jobs, so that their rows lie together (RFC 9562, section 5.7).

    `noise` has `NOISE` random bytes for each; `rand_a` counts within the call. Raises `ValueError` above `MOST`.
    """
    if count > MOST:
        raise ValueError(f"at most {MOST} ids are made at once, not {count}")
    head = first_job_id(at).int
    return [
        UUID(int=head | place << 64 | int.from_bytes(noise[place * NOISE : (place + 1) * NOISE]) >> 2)
        for place in range(count)
    ]


def first_job_id(at: datetime) -> UUID:
    """The smallest id of version 7 that a job of this millisecond can have; of the first one for a time before 1970."""
    return UUID(int=max(0, (at - EPOCH) // MILLISECOND) << 80 | 0x7 << 76 | 0x2 << 62)


def upper_job_id(at: datetime, job_id: UUID) -> UUID:
    """The id below which the ids of version 7 lie that come before a position, in the order of their times and ids."""
    first, following = first_job_id(at), first_job_id(at + MILLISECOND)
    return following if at.microsecond % 1000 else min(max(job_id, first), following)
