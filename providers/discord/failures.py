"""The table that turns Discord's answers to the bot into our failures (docs: discord.md#answers). Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import httpx2

from domain.jobs.failures import CallState, Failure, Gone, Permanent, Scope, Throttled, Transient
from providers.retry_after import LONGEST, header_wait

PROVIDER = "discord"

RATE_WAIT = timedelta(minutes=1)
"""For a 429 that names no time."""
KEY_WAIT = timedelta(minutes=15)
"""For a refused token: Discord refuses every call, and bans a caller after 10,000 refusals in ten minutes."""

UNAUTHENTICATED = 401
NOT_FOUND = 404
REQUEST_TIMEOUT = 408
TOO_MANY_REQUESTS = 429
SERVER_ERROR = 500
UNKNOWN_CHANNEL = 10003
UNKNOWN_MESSAGE = 10008
CHANNEL_GONE = "discord.channel_gone"
"""The code of a failure that proves that a channel was deleted."""
_GONE = {UNKNOWN_CHANNEL: CHANNEL_GONE, UNKNOWN_MESSAGE: "discord.message_gone"}


@dataclass(frozen=True, slots=True)
class BotAnswer:
    """An answer to the bot, its body cut."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def document(self) -> Any:  # noqa: ANN401 - whatever JSON says
        """The body as JSON; None for what is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    def word(self, name: str) -> Any:  # noqa: ANN401 - whatever JSON says
        """A field of the body; None when there is none."""
        document = self.document
        return document.get(name) if isinstance(document, dict) else None


def failure_of(answer: BotAnswer, now: datetime) -> Failure | None:
    """Our failure for an answer, None for a 2xx; no reason quotes the body, which may quote what was sent."""
    status = answer.status
    reason = f"discord: status {status}"
    if 200 <= status < 300:  # noqa: PLR2004 - every 2xx
        return None
    if status == TOO_MANY_REQUESTS:
        wait = worded_wait(answer) or header_wait(answer.headers.get("retry-after"), now) or RATE_WAIT
        return _throttled(reason, wait, "rate_limit", _scope_of(answer))
    if status == UNAUTHENTICATED:
        return _throttled("discord: the bot's token is refused", KEY_WAIT, "unauthorised", Scope.PROVIDER)
    if status >= SERVER_ERROR or status == REQUEST_TIMEOUT:
        return Transient(reason, code=f"discord.http_{status}", call_state=CallState.IN_DOUBT)
    if status == NOT_FOUND:
        number = answer.word("code")
        code = _GONE.get(number, "discord.not_found") if isinstance(number, int) else "discord.not_found"
        return Gone(f"{reason}, {code.removeprefix(f'{PROVIDER}.')}", code=code)
    return Permanent(reason, code=f"discord.http_{status}")


def lost(error: httpx2.HTTPError | httpx2.InvalidURL) -> Failure:
    """Our failure for the lack of an answer."""
    if isinstance(error, httpx2.InvalidURL | httpx2.UnsupportedProtocol):
        return Permanent("discord: the address cannot be used", code="discord.bad_address")
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return Transient("discord: unreachable", code="discord.unreachable", call_state=CallState.NOT_DONE)
    word = "timeout" if isinstance(error, httpx2.TimeoutException) else "connection_lost"
    return Transient(f"discord: {word}", code=f"discord.{word}", call_state=CallState.IN_DOUBT)


def unreadable(status: int) -> Failure:
    """For a success whose body is not the documented one."""
    return Transient(
        f"discord: status {status}, unreadable answer", code="discord.unreadable", call_state=CallState.IN_DOUBT
    )


def nonce_elsewhere() -> Failure:
    """For a question that is not posted, because Discord still knows its nonce from another channel."""
    return Transient("discord: the nonce is still known from another channel", code="discord.nonce_elsewhere")


def exhausted(answer: BotAnswer) -> timedelta | None:
    """How long the route's window is used up after this answer; None while there is room."""
    if answer.headers.get("x-ratelimit-remaining") != "0":
        return None
    return _seconds(answer.headers.get("x-ratelimit-reset-after"))


def route_full(wait: timedelta) -> Throttled:
    """For a call that is not made, because its route's window is used up."""
    return _throttled("discord: the route's window is used up", wait, "rate_limit", Scope.ORG)


def worded_wait(answer: BotAnswer) -> timedelta | None:
    """`retry_after` of the body, in seconds with a fraction; the header is rounded up to a second."""
    return _seconds(answer.word("retry_after"))


def _seconds(value: object) -> timedelta | None:
    try:
        seconds = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else 0.0
    except ValueError:
        return None
    return timedelta(seconds=seconds) if 0 < seconds < LONGEST.total_seconds() else None


def _scope_of(answer: BotAnswer) -> Scope:
    """A global limit holds for the bot; any other for a route of one channel, which is one org's."""
    is_global = answer.word("global") is True or answer.headers.get("x-ratelimit-scope") == "global"
    return Scope.PROVIDER if is_global else Scope.ORG


def _throttled(reason: str, wait: timedelta, word: str, scope: Scope) -> Throttled:
    return Throttled(reason, retry_after=wait, scope=scope, provider=PROVIDER, code=f"discord.{word}")
