"""Orgs in which nothing that is due is fired for a while, as somebody has locked what that needs."""

import time
from collections.abc import Collection
from uuid import UUID

REST_S = 10.0
"""How long what is due in an org rests when some of it had to wait for a key that somebody has locked."""


class RestingOrgs:
    """The orgs that rest, by the monotonic clock."""

    def __init__(self) -> None:
        """Begin with none."""
        self._until: dict[UUID, float] = {}

    def now(self) -> Collection[UUID]:
        """Those that rest; the others are forgotten."""
        now = time.monotonic()
        self._until = {org_id: until for org_id, until in self._until.items() if until > now}
        return self._until.keys()

    def add(self, org_id: UUID) -> None:
        """Let one rest from now on."""
        self._until[org_id] = time.monotonic() + REST_S
