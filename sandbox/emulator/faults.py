"""Faults on order: which calls go wrong, how often, and how."""

import re
from dataclasses import asdict, dataclass, field, fields
from fnmatch import fnmatchcase
from threading import Lock
from typing import Literal

from sandbox.emulator.exchange import ApiFailure, Call, Json


@dataclass(slots=True)
class Fault:
    """One order. Everything given must match; the first matching order is taken, and one order only.

    Matching: `operation` (exact or with `*`), `method`, `path` (regular expression, searched), `account`,
    `body_contains`; the first `skip` matching calls pass, then `times` calls are hit (None: until cleared).
    Effect, in this order: `delay_s` before the deed; `drop` before it; `status` instead of the deed, or after it with
    `after_deed`; the journal entry; `hang_s` after the deed; `drop` after it. `answer` is handed to the service.
    """

    operation: str | None = None
    method: str | None = None
    path: str | None = None
    account: str | None = None
    body_contains: str | None = None
    skip: int = 0
    times: int | None = 1
    delay_s: float = 0.0
    hang_s: float = 0.0
    drop: Literal["before", "after"] | None = None
    status: int | None = None
    after_deed: bool = False
    reason: str = ""
    message: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: Json | None = None
    answer: Json | None = None

    def matches(self, call: Call) -> bool:
        """Whether the order speaks of this call; counts are not looked at."""
        return (
            (self.operation is None or fnmatchcase(call.operation, self.operation))
            and self.method in (None, call.method)
            and (self.path is None or re.search(self.path, call.path) is not None)
            and self.account in (None, call.account)
            and (self.body_contains is None or self.body_contains.encode() in call.body)
        )

    def failure(self) -> ApiFailure | None:
        """The ordered answer as a failure, or None when the order changes no status."""
        if self.status is None:
            return None
        return ApiFailure(self.status, self.reason, self.message or f"ordered {self.status}", self.headers)

    def as_json(self) -> Json:
        """The order without what was not said."""
        return {name: value for name, value in asdict(self).items() if value not in (None, "", 0.0, {}, False)}


NAMES = frozenset(field.name for field in fields(Fault))


def fault_from_json(order: Json) -> Fault:
    """Read an order; an unknown word is refused with 400, for a mistyped fault would silently do nothing."""
    unknown = set(order) - NAMES
    if unknown:
        raise ApiFailure(400, "unknownField", f"a fault knows no {sorted(unknown)}; it knows {sorted(NAMES)}")
    if order.get("drop") not in (None, "before", "after"):
        raise ApiFailure(400, "badValue", "drop is 'before' or 'after'")
    return Fault(**order)


class FaultBook:
    """The orders still open, thread-safe."""

    def __init__(self) -> None:
        """No faults."""
        self._faults: list[Fault] = []
        self._lock = Lock()

    def order(self, faults: list[Fault]) -> None:
        """Add orders behind those already there."""
        with self._lock:
            self._faults.extend(faults)

    def take(self, call: Call) -> Fault | None:
        """The fault that hits this call, counted down."""
        with self._lock:
            for fault in self._faults:
                if fault.times != 0 and fault.matches(call):
                    if fault.skip > 0:
                        fault.skip -= 1
                        continue
                    if fault.times is not None:
                        fault.times -= 1
                    return fault
        return None

    def open(self) -> list[Json]:
        """The orders that can still hit."""
        with self._lock:
            return [fault.as_json() for fault in self._faults if fault.times != 0]

    def clear(self) -> None:
        """Withdraw every order."""
        with self._lock:
            self._faults.clear()
