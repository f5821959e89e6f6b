"""One bounded POST, and what its answer means (docs: alerts.md#failures); no failure carries the secret address."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from domain.jobs.failures import CallState, Failure, Permanent, Scope, Throttled, Transient
from providers.ports import Meter
from providers.rest_client import RestAnswer, RestClient, utc_now
from providers.retry_after import header_wait

PROVIDER = "alerts"

RATE_WAIT = timedelta(minutes=1)
"""For a 429 that names no time."""

REQUEST_TIMEOUT = 408
TOO_MANY_REQUESTS = 429
SERVER_ERROR = 500
GONE = frozenset({401, 403, 404, 410})
"""The address or the key is none any more: calling it again cannot help, and Discord bans who goes on."""

Wait = Callable[[RestAnswer], timedelta | None]


class PostClient(RestClient):
    """Posts to one address; safe to share between threads, built after any fork. Nothing is repeated or redirected."""

    def __init__(self, url: str, *, timeout_s: float, meter: Meter, clock: Callable[[], datetime] = utc_now) -> None:
        """`timeout_s` bounds each call in all; `meter` may raise `Throttled` to forbid it."""
        super().__init__(PROVIDER, timeout_s=timeout_s, meter=meter)
        self._url = url
        self._clock = clock

    def now(self) -> datetime:
        """The present, by the clock that the client was given."""
        return self._clock()

    def post(self, body: bytes, headers: Mapping[str, str], wait: Wait = lambda _: None) -> RestAnswer:
        """Post once; raises for every answer but a 2xx. `wait` reads how long a 429 asks to wait."""
        answer = self.call(
            "send", "POST", self._url, headers={"Content-Type": "application/json", **headers}, body=body
        )
        failure = failure_of(answer, self._clock(), wait(answer))
        if failure is not None:
            raise failure
        return answer


def failure_of(answer: RestAnswer, now: datetime, worded: timedelta | None) -> Failure | None:
    """Our failure for an answer, None for a 2xx; pure. `worded` is a wait that the body names."""
    status = answer.status
    reason = f"alert: status {status}"
    if answer.is_success:
        return None
    if status == TOO_MANY_REQUESTS:
        wait = worded or header_wait(answer.headers.get("retry-after"), now) or RATE_WAIT
        return Throttled(reason, retry_after=wait, scope=Scope.PROVIDER, provider=PROVIDER, code="alerts.rate_limit")
    if status >= SERVER_ERROR or status == REQUEST_TIMEOUT:
        return Transient(reason, code=f"alerts.http_{status}", call_state=CallState.IN_DOUBT)
    return Permanent(reason, code="alerts.gone" if status in GONE else "alerts.refused")
