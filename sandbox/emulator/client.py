"""A client of the control API that every emulator has; it works over HTTP, on emulators in any process."""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from sandbox.emulator.fault_order import FaultOrder

TIMEOUT_S = 60.0


class ControlRefused(Exception):
    """The emulator refused a control call; the message says which and why."""


@dataclass(frozen=True, slots=True)
class JournalledCall:
    """One call as the emulator recorded it. `status` is None when the connection was dropped."""

    operation: str
    method: str
    path: str
    status: int | None
    account: str | None
    summary: dict[str, Any]
    query: dict[str, list[str]]
    fault: dict[str, Any] | None
    sequence: int
    time: float


class EmulatorControl:
    """Journal, faults and reset of any emulator."""

    def __init__(self, url: str) -> None:
        """`url` is the emulator's base URL."""
        self.url = url.rstrip("/")

    def journal(self, operation: str | None = None, account: str | None = None, since: int = 0) -> list[JournalledCall]:
        """Calls so far after the sequence number `since`, oldest first."""
        return self._entries(operation, account, since, {})

    def wait_for(
        self,
        operation: str,
        count: int = 1,
        *,
        account: str | None = None,
        since: int = 0,
        timeout_s: float = 10.0,
    ) -> list[JournalledCall]:
        """Wait until the journal holds `count` such calls; `TimeoutError` when it does not after `timeout_s` seconds.

        A call is in the journal as soon as it is executed, before a hang or a drop.
        """
        extra = {"count": str(count), "wait_s": str(timeout_s)}
        entries = self._entries(operation, account, since, extra)
        if len(entries) < count:
            raise TimeoutError(f"{len(entries)} of {count} calls of {operation} within {timeout_s} s")
        return entries

    def order(self, *faults: FaultOrder) -> None:
        """Order faults."""
        self.post("/_control/faults", {"faults": [fault.as_json() for fault in faults]})

    def open_faults(self) -> list[dict[str, Any]]:
        """Orders that can still hit a call."""
        return list(self.get("/_control/faults")["faults"])

    def clear_faults(self) -> None:
        """Withdraw every order."""
        self.request("DELETE", "/_control/faults")

    def reset(self) -> None:
        """Reset the emulator to its state after the start."""
        self.post("/_control/reset", {})

    def get(self, path: str) -> dict[str, Any]:
        """A control call that reads."""
        return self.request("GET", path)

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """A control call that orders."""
        return self.request("POST", path, body)

    def request(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """One control call; raises `ControlRefused` with the emulator's reason."""
        answer: dict[str, Any] = json.loads(self.fetch(method, path, body))
        return answer

    def fetch(self, method: str, path: str, body: dict[str, Any] | None = None) -> bytes:
        """The bytes of an answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, method=method)  # noqa: S310  # the tester's own address
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:  # noqa: S310  # as above
                content: bytes = response.read()
                return content
        except urllib.error.HTTPError as error:
            with error:
                raise ControlRefused(f"{method} {path}: {error.code} {error.read().decode()}") from error

    def _entries(
        self, operation: str | None, account: str | None, since: int, extra: dict[str, str]
    ) -> list[JournalledCall]:
        chosen = {"operation": operation, "account": account, "since": str(since), **extra}
        query = urlencode({name: value for name, value in chosen.items() if value})
        return [JournalledCall(**entry) for entry in self.get(f"/_control/journal?{query}")["entries"]]
