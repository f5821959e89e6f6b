"""When a request is tried again: decided from what came of it. The package's README has the policy as a table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from enum import Enum
from http import HTTPStatus
from typing import Union

import httpx

Outcome = Union[httpx.Response, httpx.RequestError]
"""What comes of a request that was sent: an answer, or a fault of the connection."""

CONNECTION_FAULTS = (
    httpx.TimeoutException,
    httpx.NetworkError,
    httpx.RemoteProtocolError,
    httpx.ProxyError,
    httpx.DecodingError,  # the answer came, and cannot be unpacked
)
NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)

NEVER_DONE = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}


class Doubt(Enum):
    """What is known of a request that got no definite answer."""

    NOT_DONE = "not done"
    MAYBE_DONE = "maybe done"


@dataclass(frozen=True)
class Retries:
    """How often and for how long a request is tried. Times are in seconds."""

    tries: int = 8
    within_s: float = 60.0
    """No wait begins that would end later than this after the first try."""
    first_wait_s: float = 0.5
    longest_wait_s: float = 30.0

    def wait_after(self, tried: int, outcome: Outcome, luck: float) -> float:
        """How long to wait after that many tries: what `Retry-After` says, else twice as long as before, and a bit.

        `luck` is from 0 to 1 and spreads what many clients do at the same time.
        """
        asked = None if isinstance(outcome, httpx.RequestError) else retry_after_s(outcome)
        if asked is not None:
            return asked + luck * self.first_wait_s
        return min(self.longest_wait_s, self.first_wait_s * 2.0 ** (tried - 1)) * (0.5 + luck / 2)


def doubt_of(outcome: Outcome) -> Doubt | None:
    """What is not known of the request; None where the answer is definite."""
    if isinstance(outcome, httpx.RequestError):
        return Doubt.NOT_DONE if isinstance(outcome, NEVER_SENT) else Doubt.MAYBE_DONE
    if outcome.status_code in NEVER_DONE:
        return Doubt.NOT_DONE
    # Postroom may have failed after it had committed, or in the middle of it, and a proxy may have lost the answer.
    failed = outcome.is_server_error and outcome.status_code != HTTPStatus.NOT_IMPLEMENTED
    return Doubt.MAYBE_DONE if failed else None


def retry_after_s(answer: httpx.Response) -> float | None:
    """What the answer's `Retry-After` says, in seconds, from a number or a date; None without one that can be read."""
    said = answer.headers.get("Retry-After", "").strip()
    if said.isascii() and said.isdigit():
        return float(said)
    try:
        at = parsedate_to_datetime(said)
    except (TypeError, ValueError):
        return None
    aware = at if at.tzinfo else at.replace(tzinfo=timezone.utc)
    return max(0.0, (aware - datetime.now(timezone.utc)).total_seconds())
