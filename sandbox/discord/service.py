"""Discord: incoming webhooks with their limit of five in two seconds, and the bot's channels."""

import hashlib
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

from sandbox.discord.channels import Channels
from sandbox.emulator.clock import EmulatorClock
from sandbox.emulator.exchange import Answer, ApiFailure, Call, Json, Route

LONGEST_CONTENT = 2000
MOST_CALLS = 5
WINDOW_S = 2.0
MENTION_EVERYONE = ("@everyone", "@here")

CODES = {
    "unknownChannel": 10003,
    "unknownMessage": 10008,
    "unknownWebhook": 10015,
    "missingAccess": 50001,
    "emptyMessage": 50006,
    "invalidForm": 50035,
}
"""Discord's numbers for what it refuses."""


class DiscordService:
    """One application's webhooks, any id with the token is one that exists, and its bot."""

    def __init__(self, token: str = "token", bot_token: str = "bot-token") -> None:  # noqa: S107 - an emulator's
        """Begin without messages."""
        self.clock = EmulatorClock()
        self.messages: list[Json] = []
        self._token = token
        self.channels = Channels(self.clock, bot_token)
        self._calls: deque[float] = deque()
        self._lock = Lock()
        self.routes: Sequence[Route] = (
            Route("POST", "/api/webhooks/{webhook}/{token}", "webhooks.execute", self.execute),
            *self.channels.routes,
        )

    def identify(self, call: Call) -> str | None:
        """The webhook's id, whose token is its password, or the bot."""
        if "channel" in call.parameters:
            return self.channels.identify(call)
        if call.parameters["token"] != self._token:
            raise ApiFailure(404, "unknownWebhook", "Unknown Webhook")
        return call.parameters["webhook"]

    @contextmanager
    def admit(self, call: Call) -> Iterator[None]:
        """Refuse the sixth call within two seconds; `retry_after` is exact, the header a whole second."""
        if "channel" in call.parameters:
            self.channels.admit(call)
            yield
            return
        with self._lock:
            now = self.clock.now()
            while self._calls and self._calls[0] <= now - WINDOW_S:
                self._calls.popleft()
            if len(self._calls) >= MOST_CALLS:
                raise ApiFailure(429, "rateLimited", "You are being rate limited.", self._limits(now))
            self._calls.append(now)
        yield

    def render(self, call: Call, failure: ApiFailure) -> Answer:
        """Discord's error: a message and a number, for a 429 the seconds to wait."""
        if failure.status == 429:  # noqa: PLR2004 - too many requests
            wait = self.channels.wait(call) if "channel" in call.parameters else self._wait(self.clock.now())
            body: Json = {"message": failure.message, "retry_after": wait, "global": False}
            return Answer(429, body, {"Retry-After": str(int(body["retry_after"]) + 1), "X-RateLimit-Scope": "shared"})
        return Answer(failure.status, {"message": failure.message, "code": CODES.get(failure.reason, 0)})

    def execute(self, call: Call) -> Answer:
        """`POST /webhooks/{id}/{token}`: 204, or with `wait=true` the stored message."""
        request = call.json()
        content = request.get("content", "")
        if not isinstance(content, str) or len(content) > LONGEST_CONTENT:
            raise ApiFailure(400, "invalidForm", "Invalid Form Body")
        if not content.strip():
            raise ApiFailure(400, "emptyMessage", "Cannot send an empty message")
        parse = request.get("allowed_mentions", {"parse": ["everyone"]}).get("parse", [])
        everyone = "everyone" in parse and any(word in content for word in MENTION_EVERYONE)
        with self._lock:
            number = len(self.messages) + 1
            message = {"id": str(10**18 + number), "content": content, "mention_everyone": everyone}
            self.messages.append(message)
        summary = {"message_id": message["id"], "sha256": hashlib.sha256(content.encode()).hexdigest()}
        if call.first("wait") != "true":
            return Answer(204, summary=summary)
        return Answer(body=message, headers=self._limits(self.clock.now()), summary=summary)

    def reset(self) -> None:
        """No messages, real time, the whole limit."""
        with self._lock:
            self.messages.clear()
            self._calls.clear()
        self.channels.reset()
        self.clock.reset()

    def close(self) -> None:
        """Nothing runs in the background."""

    def _limits(self, now: float) -> dict[str, str]:
        return {
            "X-RateLimit-Limit": str(MOST_CALLS),
            "X-RateLimit-Remaining": str(max(0, MOST_CALLS - len(self._calls))),
            "X-RateLimit-Reset-After": f"{self._wait(now):.3f}",
            "X-RateLimit-Bucket": "webhook",
        }

    def _wait(self, now: float) -> float:
        return round(max(0.001, self._calls[0] + WINDOW_S - now), 3) if self._calls else 0.001
