"""Gmail's quota: units per method, counted per user and minute, and a limit of calls in flight per user."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Lock

from sandbox.emulator.clock import EmulatorClock
from sandbox.emulator.exchange import ApiFailure
from sandbox.google.mailbox.mailbox import Knobs

UNITS = {
    # stated by Google (docs: gmail.md#quotas)
    "attachments.get": 20, "drafts.create": 10, "drafts.send": 100, "drafts.update": 15, "getProfile": 1,
    "history.list": 2, "labels.create": 5, "labels.delete": 5, "labels.get": 1, "labels.list": 1, "labels.update": 5,
    "messages.batchModify": 50, "messages.get": 20, "messages.list": 5, "messages.modify": 5, "messages.send": 100,
    "threads.get": 40,
    # not confirmed there
    "drafts.delete": 10, "drafts.get": 5, "drafts.list": 5, "messages.delete": 10, "messages.trash": 5,
    "messages.untrash": 5, "sendAs.list": 1, "stop": 50, "threads.list": 10, "threads.modify": 10, "watch": 100,
}  # fmt: skip
MINUTE = 60.0
TOO_FAST = "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute per user'"


class Quota:
    """What each account used in the last minute, and how many of its calls are in flight."""

    def __init__(self, clock: EmulatorClock) -> None:
        """Begin without used units."""
        self._clock = clock
        self._used: dict[str, deque[tuple[float, int]]] = {}
        self._in_flight: dict[str, int] = {}
        self._lock = Lock()

    @contextmanager
    def hold(self, account: str, operation: str, knobs: Knobs) -> Iterator[None]:
        """Count the call, as in flight for the length of the block; raises Gmail's answer when a limit is exceeded."""
        with self._lock:
            if knobs.concurrency is not None and self._in_flight.get(account, 0) >= knobs.concurrency:
                raise ApiFailure(429, "rateLimitExceeded", "Too many concurrent requests for user.")
            self._spend(account, UNITS.get(operation, 1), knobs)
            self._in_flight[account] = self._in_flight.get(account, 0) + 1
        try:
            yield
        finally:
            with self._lock:
                self._in_flight[account] -= 1

    def used(self, account: str) -> int:
        """Units used in the last minute."""
        with self._lock:
            return sum(units for _, units in self._recent(account))

    def reset(self) -> None:
        """Forget used units; calls in flight still count."""
        with self._lock:
            self._used.clear()

    def _recent(self, account: str) -> deque[tuple[float, int]]:
        used = self._used.setdefault(account, deque())
        while used and used[0][0] <= self._clock.now() - MINUTE:
            used.popleft()
        return used

    def _spend(self, account: str, units: int, knobs: Knobs) -> None:
        used = self._recent(account)
        if knobs.quota_per_minute is not None and sum(each for _, each in used) + units > knobs.quota_per_minute:
            until = (used[0][0] if used else self._clock.now()) + MINUTE
            raise too_fast(knobs.quota_status, until)
        used.append((self._clock.now(), units))


def too_fast(status: int, until: float) -> ApiFailure:
    """Google's two answers: 403, or 429 with the time in its text and in no header."""
    if status == 403:  # noqa: PLR2004  # an HTTP status
        return ApiFailure(403, "rateLimitExceeded", TOO_FAST)
    moment = datetime.fromtimestamp(until, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return ApiFailure(status, "rateLimitExceeded", f"User-rate limit exceeded.  Retry after {moment}")
