"""The bot that asks for approvals: Discord's REST API behind the port `ApprovalChannel` (docs: discord.md)."""

import json
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from threading import Lock
from typing import Any
from urllib.parse import quote

from pydantic import SecretStr

from domain.approvals.question import Question
from domain.jobs.effects import CannotTell, Finding, Found, NotFound
from domain.jobs.failures import Gone
from providers.discord.failures import (
    CHANNEL_GONE,
    PROVIDER,
    exhausted,
    failure_of,
    nonce_elsewhere,
    route_full,
)
from providers.discord.messages import body_of, ended_content, is_question, outcome_document
from providers.ports import Meter
from providers.ports.approvals import Outcome
from providers.rest_client import RestAnswer, RestClient, unreadable, utc_now

USER_AGENT = "DiscordBot (https://github.com/postroom, 1)"
"""Discord demands this form (https://discord.com/developers/docs/reference#user-agent)."""
PAGE = 100
MOST_PAGES = 10
"""Pages in which a question is looked for: a thousand messages since the attempt."""

EPOCH_MS = 1_420_070_400_000
"""The first moment that Discord's ids know (docs: discord.md#ids)."""
ID_SHIFT = 22

CLOCKS_APART = timedelta(minutes=5)
"""How far our clock may be ahead of Discord's: a question is looked for from so long before its attempt."""

NONCE_KNOWN_FOR = timedelta(minutes=2)
"""How long Discord surely knows a nonce; it says "a few minutes" (docs: discord.md#nonce)."""


class DiscordBot(RestClient):
    """Implements `providers.ports.approvals.ApprovalChannel`; safe to share between threads, built after any fork."""

    def __init__(
        self,
        token: SecretStr,
        *,
        api_url: str,
        timeout_s: float,
        meter: Meter,
        clock: Callable[[], datetime] = utc_now,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`timeout_s` bounds each call in all; `meter` may raise `Throttled` to forbid it."""
        super().__init__(PROVIDER, timeout_s=timeout_s, meter=meter)
        self._token = token
        self._api_url = api_url.rstrip("/")
        self._clock = clock
        self._monotonic = monotonic
        self._full_until: dict[str, float] = {}
        """By route: when its window has room again, by the monotonic clock."""
        self._lock = Lock()

    def post_question(self, channel_id: str, question: Question) -> str:
        """Post the question; a repeat within minutes returns the message that there is, by its nonce."""
        answer = self._call("POST", _messages(channel_id), body_of(question))
        if answer.field("channel_id") not in {None, channel_id}:
            raise nonce_elsewhere()
        return _id_of(answer)

    def find_question(
        self, channel_id: str, question: Question, *, since: datetime, repeat_at: datetime | None
    ) -> Finding:
        """Look through the channel's messages since the attempt; `CannotTell` where there are too many.

        A bot that may not read a channel's history is shown an empty one (docs: discord.md#history), so where the
        channel shows nothing at all, older messages either, it cannot be told. While Discord knows the nonce that does
        not matter: a repeat makes no second message. With a channel that was deleted, its messages are gone.
        """
        try:
            return self._find_question(channel_id, question, since, repeat_at)
        except Gone as gone:
            if gone.code != CHANNEL_GONE:
                raise
            return NotFound()

    def _find_question(
        self, channel_id: str, question: Question, since: datetime, repeat_at: datetime | None
    ) -> Finding:
        after, seen = id_at(since - CLOCKS_APART), 0
        for _ in range(MOST_PAGES):
            page = self._page(channel_id, f"limit={PAGE}&after={after}")
            for message in page:
                if is_question(message, question):
                    return Found({"message_id": str(message["id"]), "channel_id": channel_id})
            seen += len(page)
            if len(page) < PAGE:
                known = repeat_at is not None and repeat_at - since < NONCE_KNOWN_FOR
                is_proof = seen or known or self._shows_messages(channel_id)
                return NotFound() if is_proof else CannotTell("the channel shows no messages at all")
            after = max(int(message["id"]) for message in page)
        return CannotTell(f"the channel has more than {PAGE * MOST_PAGES} newer messages")

    def show_outcome(self, channel_id: str, message_id: str, outcome: Outcome) -> None:
        """Edit the message: the same words, how it ended, no buttons."""
        document = outcome_document(ended_content(outcome.question, outcome.words))
        self._call("PATCH", f"{_messages(channel_id)}/{quote(message_id, safe='')}", json.dumps(document).encode())

    def _shows_messages(self, channel_id: str) -> bool:
        """Whether the bot may read the channel's history, as any message of it proves."""
        return bool(self._page(channel_id, "limit=1"))

    def _page(self, channel_id: str, which: str) -> list[dict[str, Any]]:
        answer = self._call("GET", f"{_messages(channel_id)}?{which}")
        page = answer.document
        if not isinstance(page, list) or not all(_is_message(one) for one in page):
            raise unreadable(PROVIDER, answer.status)
        return page

    def _call(self, method: str, path: str, body: bytes | None = None) -> RestAnswer:
        """Make one call; raises for every answer but a 2xx. Nothing is repeated or redirected."""
        route = f"{method} {path.partition('?')[0]}"
        self._need_room(route)
        headers = {"Authorization": f"Bot {self._token.get_secret_value()}", "User-Agent": USER_AGENT}
        if body is not None:
            headers["Content-Type"] = "application/json"
        answer = self.call(method.lower(), method, self._api_url + path, headers=headers, body=body)
        self._note_room(route, answer)
        failure = failure_of(answer, self._clock())
        if failure is not None:
            raise failure
        return answer

    def _need_room(self, route: str) -> None:
        with self._lock:
            left = self._full_until.get(route, 0.0) - self._monotonic()
        if left > 0:
            raise route_full(timedelta(seconds=left))

    def _note_room(self, route: str, answer: RestAnswer) -> None:
        wait = exhausted(answer)
        now = self._monotonic()
        with self._lock:
            for over in [one for one, until in self._full_until.items() if until <= now]:
                del self._full_until[over]
            if wait is not None:
                self._full_until[route] = now + wait.total_seconds()


def id_at(moment: datetime) -> int:
    """The least id that Discord gives at that moment."""
    return max(0, int(moment.timestamp() * 1000) - EPOCH_MS) << ID_SHIFT


def _messages(channel_id: str) -> str:
    return f"/channels/{quote(channel_id, safe='')}/messages"


def _id_of(answer: RestAnswer) -> str:
    found = answer.field("id")
    if not isinstance(found, str) or not found.isdigit():
        raise unreadable(PROVIDER, answer.status)
    return found


def _is_message(one: object) -> bool:
    return isinstance(one, dict) and isinstance(one.get("id"), str) and one["id"].isdigit()
