"""The journal of an emulator: every call, what it did, for which account, and how it was answered."""

import time
from dataclasses import asdict, dataclass, field, replace
from threading import Condition

from sandbox.emulator.exchange import Json


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One call. `status` is None when the connection was dropped; `time` is seconds since the epoch."""

    operation: str
    method: str
    path: str
    status: int | None
    account: str | None = None
    summary: Json = field(default_factory=dict)
    query: Json = field(default_factory=dict)
    fault: Json | None = None
    sequence: int = 0
    time: float = 0.0

    def as_json(self) -> Json:
        """The entry as the control API shows it."""
        return asdict(self)


class Journal:
    """A thread-safe list of entries that can be waited on."""

    def __init__(self) -> None:
        """Begin empty."""
        self._entries: list[JournalEntry] = []
        self._changed = Condition()
        self._next = 1
        self._closed = False

    def append(self, entry: JournalEntry) -> None:
        """Number and stamp the entry, and wake waiting threads."""
        with self._changed:
            self._entries.append(replace(entry, sequence=self._next, time=time.time()))
            self._next += 1
            self._changed.notify_all()

    def entries(self, operation: str | None = None, account: str | None = None, since: int = 0) -> list[JournalEntry]:
        """Entries after the sequence number `since`, oldest first."""
        with self._changed:
            return self._select(operation, account, since)

    def wait(
        self, count: int, wait_s: float, operation: str | None = None, account: str | None = None, since: int = 0
    ) -> list[JournalEntry]:
        """The entries once there are `count`, or what there is after `wait_s` seconds."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or len(self._select(operation, account, since)) >= count, timeout=wait_s
            )
            return self._select(operation, account, since)

    def clear(self) -> None:
        """Forget the entries; sequence numbers go on."""
        with self._changed:
            self._entries.clear()

    def close(self) -> None:
        """Wake every waiting thread; later calls of `wait` return at once."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _select(self, operation: str | None, account: str | None, since: int) -> list[JournalEntry]:
        return [
            entry
            for entry in self._entries
            if entry.sequence > since and operation in (None, entry.operation) and account in (None, entry.account)
        ]
