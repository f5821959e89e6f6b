"""What every emulator's control API offers, over HTTP, so that it works on an emulator in another process."""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass, field, fields
from typing import Any, Literal
from urllib.parse import urlencode

TIMEOUT_S = 60.0


class ControlRefused(Exception):
    """The emulator refused an order; the message says what and why."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultOrder:
    """One fault; see `sandbox.emulator.faults.Fault`, which reads it, for the order of effects."""

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
    body: dict[str, Any] | None = None
    answer: dict[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        """Everything that was said."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


class EmulatorControl:
    """Journal, faults and reset of any emulator."""

    def __init__(self, url: str) -> None:
        """`url` is what the emulator printed, without a slash at the end."""
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
        """Block until the journal holds `count` such calls; raises TimeoutError when it does not come to it.

        A call is in the journal as soon as its deed is done, before a hang or a drop.
        """
        extra = {"count": str(count), "wait_s": str(timeout_s)}
        entries = self._entries(operation, account, since, extra)
        if len(entries) < count:
            raise TimeoutError(f"{len(entries)} of {count} calls of {operation} within {timeout_s} s")
        return entries

    def order(self, *faults: FaultOrder) -> None:
        """Let calls go wrong."""
        self.post("/_control/faults", {"faults": [fault.as_json() for fault in faults]})

    def open_faults(self) -> list[dict[str, Any]]:
        """Orders that can still hit."""
        return list(self.get("/_control/faults")["faults"])

    def clear_faults(self) -> None:
        """Withdraw every order."""
        self.request("DELETE", "/_control/faults")

    def clear_journal(self) -> None:
        """Forget the calls so far."""
        self.request("DELETE", "/_control/journal")

    def reset(self) -> None:
        """As if just started."""
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
