"""One bounded POST, and what its answer means (docs: alerts.md#failures); no failure carries the secret address."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from domain.jobs.failures import Failure, Scope
from providers.answers import EVERY, UNPROVEN, AnswerRow, ErrorAnswer, Now, Request, VendorCall
from providers.answers import failure_of as failure_by
from providers.ports import Meter
from providers.rest_client import RestAnswer, RestClient, utc_now
from providers.retry_after import header_wait

PROVIDER = "alerts"

TABLE = (
    AnswerRow((429,), Now(Scope.PROVIDER, timedelta(minutes=1)), code="rate_limit"),
    AnswerRow(UNPROVEN, Now(Scope.PROVIDER)),
    # The address or the key is none any more: calling it again cannot help, and Discord bans who goes on. No alert can
    # say so; `doctor` does.
    AnswerRow((401, 403, 404, 410), Request(), code="gone"),
    AnswerRow(EVERY, Request(), code="refused"),
)

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
    if answer.is_success:
        return None
    asked = worded or header_wait(answer.headers.get("retry-after"), now)
    return failure_by(TABLE, ErrorAnswer(answer.status, asked=asked), VendorCall(PROVIDER, now, "alert"))
