"""One bounded HTTP call to a vendor's API, and what the lack of an answer means; each vendor's table says the rest.

No failure and no span carries an address with its path, which may name a person or grant access by itself.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from domain.jobs.failures import CallState, Failure, Permanent, Transient
from observability.job_spans import call_span
from providers.connections import CONNECTIONS, BadAddress, NeverConnected
from providers.ports import Meter
from providers.ports.time_limit import TimeLimit
from providers.vendor_client import VendorClient

LONGEST_ANSWER = 2 * 1024 * 1024
"""Bytes of an answer that are read."""
USER_AGENT = "postroom/1"
"""Some vendors refuse a request that names no client (docs: resend.md#sending)."""


def utc_now() -> datetime:
    """The wall clock, aware."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class RestAnswer:
    """An answer, its body cut to `LONGEST_ANSWER`. Names of headers are lower-case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_success(self) -> bool:
        """Whether the status is a 2xx."""
        return 200 <= self.status < 300  # noqa: PLR2004 - every 2xx

    @property
    def document(self) -> Any:  # noqa: ANN401 - whatever JSON says
        """The body as JSON; None for what is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    def field(self, name: str) -> Any:  # noqa: ANN401 - whatever JSON says
        """A field of the body; None when there is none."""
        document = self.document
        return document.get(name) if isinstance(document, dict) else None

    def word(self, name: str) -> str:
        """A field of the body that is text; empty for anything else."""
        value = self.field(name)
        return value if isinstance(value, str) else ""


class RestClient(VendorClient):
    """Calls one vendor; safe to share between threads. Nothing is repeated or redirected."""

    def __init__(self, provider: str, *, timeout_s: float, meter: Meter) -> None:
        """`timeout_s` bounds each call in all; `meter` may raise `Throttled` to forbid it."""
        self._provider = provider
        self._meter = meter
        self._limit = TimeLimit()
        self._limit_s = timeout_s

    def call(
        self, operation: str, method: str, url: str, *, headers: Mapping[str, str], body: bytes | None = None
    ) -> RestAnswer:
        """Make one call, counted as `operation`; raises `Transient` or `Permanent` where no answer came."""
        self._meter(f"{self._provider}.{operation}", 1)
        self._limit.begin(self._limit_s)
        try:
            with call_span(self._provider, method, _origin(url)) as traced:
                sent = {"User-Agent": USER_AGENT, **headers}
                answer = CONNECTIONS.exchange(method, url, sent, body, limit=self._limit, longest=LONGEST_ANSWER)
                traced.note({"http.response.status_code": answer.status})
                return RestAnswer(*answer)
        except (OSError, BadAddress) as error:
            failure = _lost(self._provider, error)
        # Outside the handler, so that no traceback shows the error, which may quote the request and its secrets.
        raise failure


def _lost(provider: str, error: OSError | BadAddress) -> Failure:
    """Our failure for the lack of an answer; pure."""
    if isinstance(error, BadAddress):
        return Permanent(f"{provider}: the address cannot be used", code=f"{provider}.bad_address")
    if isinstance(error, NeverConnected):
        return Transient(f"{provider}: unreachable", code=f"{provider}.unreachable", call_state=CallState.NOT_DONE)
    word = "timeout" if isinstance(error, TimeoutError) else "connection_lost"
    return Transient(f"{provider}: {word}", code=f"{provider}.{word}", call_state=CallState.IN_DOUBT)


def unreadable(provider: str, status: int) -> Failure:
    """Our failure for a success whose body is not the documented one; pure."""
    return Transient(
        f"{provider}: status {status}, unreadable answer", code=f"{provider}.unreadable", call_state=CallState.IN_DOUBT
    )


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], "", "", ""))
