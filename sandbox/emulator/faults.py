"""The ordered faults of an emulator: which calls they hit, and how often still."""

import re
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from threading import Event, Lock
from typing import get_args

from sandbox.emulator.exchange import ApiFailure, Call, Json
from sandbox.emulator.fault_order import Ending, FaultOrder


@dataclass(slots=True)
class Fault:
    """An order with its counters: how many matching calls still pass, and how many are hit then (None: all)."""

    order: FaultOrder
    skip: int
    times: int | None
    cleared: Event = field(default_factory=Event)
    """Ends the waits of the calls that it has hit."""

    def matches(self, call: Call) -> bool:
        """Whether the order matches this call, whatever the counters say."""
        order = self.order
        return (
            (order.operation is None or fnmatchcase(call.operation, order.operation))
            and order.method in (None, call.method)
            and (order.path is None or re.search(order.path, call.path) is not None)
            and order.account in (None, call.account)
            and (order.body_contains is None or order.body_contains.encode() in call.body)
        )

    def failure(self) -> ApiFailure | None:
        """The ordered answer as a failure, or None when the order changes no status."""
        order = self.order
        if order.status is None:
            return None
        return ApiFailure(order.status, order.reason, order.message or f"ordered {order.status}", order.headers)

    def as_json(self) -> Json:
        """The order with its current counters, without fields that have no value."""
        values = self.order.as_json() | {"skip": self.skip, "times": self.times}
        return {name: value for name, value in values.items() if value not in (None, "", 0.0, {}, False, "whole")}


NAMES = frozenset(one.name for one in fields(FaultOrder))


def fault_from_json(order: Json) -> Fault:
    """Read an order; an unknown field is refused with 400, because a mistyped order would hit nothing."""
    unknown = set(order) - NAMES
    if unknown:
        raise ApiFailure(400, "unknownField", f"a fault knows no {sorted(unknown)}; it knows {sorted(NAMES)}")
    if order.get("drop") not in (None, "before", "after"):
        raise ApiFailure(400, "badValue", "drop is 'before' or 'after'")
    if order.get("ending", "whole") not in get_args(Ending):
        raise ApiFailure(400, "badValue", f"ending is one of {', '.join(get_args(Ending))}")
    read = FaultOrder(**order)
    return Fault(read, read.skip, read.times)


class FaultBook:
    """The open orders; thread-safe."""

    def __init__(self) -> None:
        """Begin without orders."""
        self._faults: list[Fault] = []
        self._lock = Lock()

    def order(self, faults: list[Fault]) -> None:
        """Add orders behind those already there."""
        with self._lock:
            self._faults.extend(faults)

    def take(self, call: Call) -> Fault | None:
        """The first fault that hits this call, its counters decreased; None when no order does."""
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
        """The orders that can still hit a call."""
        with self._lock:
            return [fault.as_json() for fault in self._faults if fault.times != 0]

    def clear(self) -> None:
        """Remove every order, and let go the calls that wait by one."""
        with self._lock:
            for fault in self._faults:
                fault.cleared.set()
            self._faults.clear()
