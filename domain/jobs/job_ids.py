"""Ids made by who enqueues: with them, a statement whose answer was lost can be sent again without a second job."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

NOISE = 8
"""Random bytes for each id."""

MOST = 1 << 12
"""Ids that one call makes, at most: so many fit into the counter that keeps them in order."""


def make_job_ids(count: int, at: datetime, noise: bytes) -> Sequence[UUID]:
    """UUIDs of version 7 in the order of the jobs, so that their rows lie together (RFC 9562, section 5.7).

    `noise` has `NOISE` random bytes for each; `rand_a` counts within the call. Raises `ValueError` above `MOST`.
    """
    if count > MOST:
        raise ValueError(f"at most {MOST} ids are made at once, not {count}")
    head = int(at.timestamp() * 1000) << 80 | 0x7 << 76 | 0x2 << 62
    return [
        UUID(int=head | place << 64 | int.from_bytes(noise[place * NOISE : (place + 1) * NOISE]) >> 2)
        for place in range(count)
    ]
