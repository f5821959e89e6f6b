"""One bounded POST, and what its answer means (docs: alerts.md#failures); no failure carries the secret address."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self
from urllib.parse import urlsplit, urlunsplit

import httpx2

from domain.jobs.failures import CallState, Failure, Permanent, Scope, Throttled, Transient
from observability.job_spans import call_span
from providers.limited_client import limited, shared_tls
from providers.ports import Meter
from providers.ports.time_limit import TimeLimit
from providers.retry_after import header_wait

PROVIDER = "alerts"
SEND = "alerts.send"

LONGEST_ANSWER = 65_536
"""Bytes of an answer that are read; nobody who takes an alert has more to say."""

RATE_WAIT = timedelta(minutes=1)
"""For a 429 that names no time."""

REQUEST_TIMEOUT = 408
TOO_MANY_REQUESTS = 429
SERVER_ERROR = 500
GONE = frozenset({401, 403, 404, 410})
"""The address or the key is none any more: calling it again cannot help, and Discord bans who goes on."""

Wait = Callable[["PostAnswer"], timedelta | None]


@dataclass(frozen=True, slots=True)
class PostAnswer:
    """An answer, its body cut to `LONGEST_ANSWER`."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def utc_now() -> datetime:
    """The wall clock, aware."""
    return datetime.now(UTC)


class PostClient:
    """Posts to one address; safe to share between threads, built after any fork. Nothing is repeated or redirected."""

    def __init__(self, url: str, *, timeout_s: float, meter: Meter, clock: Callable[[], datetime] = utc_now) -> None:
        """`timeout_s` bounds each call in all; `meter` may raise `Throttled` to forbid it."""
        self._url = url
        self._meter = meter
        self._clock = clock
        self._limit = TimeLimit()
        self._limit_s = timeout_s
        self._client = limited(
            httpx2.Client(verify=shared_tls(), timeout=timeout_s, follow_redirects=False), self._limit
        )

    def __enter__(self) -> Self:
        """Use the client as a context manager to close it."""
        return self

    def __exit__(self, *_exception: object) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def now(self) -> datetime:
        """The present, by the clock that the client was given."""
        return self._clock()

    def post(self, body: bytes, headers: Mapping[str, str], wait: Wait = lambda _: None) -> PostAnswer:
        """Post once; raises for every answer but a 2xx. `wait` reads how long a 429 asks to wait."""
        self._meter(SEND, 1)
        self._limit.begin(self._limit_s)
        try:
            with call_span(PROVIDER, "POST", _origin(self._url)) as traced:
                answer = self._exchange(body, headers)
                traced.note({"http.response.status_code": answer.status})
            failure = failure_of(answer, self._clock(), wait(answer))
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            failure = lost(error)
        # Outside the handler, so that no traceback shows the client's error, which quotes the address.
        if failure is not None:
            raise failure
        return answer

    def _exchange(self, body: bytes, headers: Mapping[str, str]) -> PostAnswer:
        headers = {"Content-Type": "application/json", "User-Agent": "postroom", **headers}
        with self._client.stream("POST", self._url, content=body, headers=headers) as response:
            read = bytearray()
            for chunk in response.iter_bytes(LONGEST_ANSWER):
                read += chunk
                if len(read) >= LONGEST_ANSWER:
                    break
            return PostAnswer(response.status_code, dict(response.headers), bytes(read[:LONGEST_ANSWER]))


def failure_of(answer: PostAnswer, now: datetime, worded: timedelta | None) -> Failure | None:
    """Our failure for an answer, None for a 2xx; pure. `worded` is a wait that the body names."""
    status = answer.status
    reason = f"alert: status {status}"
    if 200 <= status < 300:  # noqa: PLR2004 - every 2xx
        return None
    if status == TOO_MANY_REQUESTS:
        wait = worded or header_wait(answer.headers.get("retry-after"), now) or RATE_WAIT
        return Throttled(reason, retry_after=wait, scope=Scope.PROVIDER, provider=PROVIDER, code="alerts.rate_limit")
    if status >= SERVER_ERROR or status == REQUEST_TIMEOUT:
        return Transient(reason, code=f"alerts.http_{status}", call_state=CallState.IN_DOUBT)
    return Permanent(reason, code="alerts.gone" if status in GONE else "alerts.refused")


def lost(error: httpx2.HTTPError | httpx2.InvalidURL) -> Failure:
    """Our failure for the lack of an answer; pure."""
    if isinstance(error, httpx2.InvalidURL | httpx2.UnsupportedProtocol):
        return Permanent("alert: the address cannot be used", code="alerts.bad_address")
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return Transient("alert: unreachable", code="alerts.unreachable", call_state=CallState.NOT_DONE)
    word = "timeout" if isinstance(error, httpx2.TimeoutException) else "connection_lost"
    return Transient(f"alert: {word}", code=f"alerts.{word}", call_state=CallState.IN_DOUBT)


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], "", "", ""))
