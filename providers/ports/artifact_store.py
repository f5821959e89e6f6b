"""The port behind which the bytes of artifacts lie: a local folder, or a bucket of S3's kind.

A place is written once and never changed. Nothing here knows orgs or rows: what a place is for, and who may read it,
the row says (docs: artifacts.md#bytes-first).
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol


class StoredBytes(NamedTuple):
    """What lies at a place."""

    place: str
    size: int
    stored_at: datetime
    """By the store's clock."""


class ArtifactStore(Protocol):
    """The store as jobs and commands use it; each call is bounded in time.

    Raises `Throttled` for a store that is away or takes nothing, and `Transient` for what passes otherwise. Threads may
    share it, processes may not.
    """

    def put(self, place: str, pieces: Iterable[bytes]) -> None:
        """Write all the pieces to a new place, or nothing; raises `Conflict` where something lies there."""
        ...

    def read(self, place: str, start: int, end: int) -> bytes:
        """The bytes from `start` up to `end`, fewer where they end before; raises `Gone` where nothing lies."""
        ...

    def delete(self, places: Sequence[str]) -> None:
        """Remove what lies at these places; where nothing lies, nothing is to be done."""
        ...

    def listed(self, *, after: str, limit: int) -> Sequence[StoredBytes]:
        """What lies at the places after this one, in the order of their names."""
        ...


class AsyncArtifactStore(Protocol):
    """The store as an event loop uses it. Waiting takes no thread. Raises as `ArtifactStore`."""

    async def put(self, place: str, data: bytes) -> None:
        """Write to a new place."""
        ...

    async def read(self, place: str, start: int, end: int) -> bytes:
        """The bytes from `start` up to `end`."""
        ...
