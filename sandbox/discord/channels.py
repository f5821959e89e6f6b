"""The bot's REST API: messages of channels, the memory of nonces, Discord's refusals and limits per channel."""

import hashlib
import json
from collections import deque
from collections.abc import Mapping, Sequence
from threading import Lock

from sandbox.emulator.clock import EmulatorClock
from sandbox.emulator.exchange import Answer, ApiFailure, Call, Json, Route

LONGEST_CONTENT = 2000
LONGEST_NONCE = 25
LONGEST_CUSTOM_ID = 100
LONGEST_LABEL = 80
STYLES = (1, 2, 3, 4)
"""Of buttons that carry a `custom_id`; each button must name one."""
MOST_BUTTONS = 5
MOST_ROWS = 5
LARGEST_PAGE = 100

NONCE_KNOWN_FOR_S = 180.0
"""Discord says "a few minutes"."""
MOST_CALLS = 5
WINDOW_S = 5.0
EPOCH_MS = 1_420_070_400_000
BOT_ID = "900000000000000001"


class Channels:
    """All channels that there are; any id is one, but for those that were closed to the bot."""

    def __init__(self, clock: EmulatorClock, token: str) -> None:
        """Begin without messages."""
        self._clock = clock
        self._token = token
        self._lock = Lock()
        self._number = 0
        self.by_channel: dict[str, list[Json]] = {}
        self._nonces: dict[tuple[str, str], tuple[float, Json]] = {}
        self._calls: dict[str, deque[float]] = {}
        self.deleted: set[str] = set()
        self.forbidden: set[str] = set()
        self.without_history: set[str] = set()
        """Channels whose history the bot may not read: it is shown an empty one."""
        path = "/api/v10/channels/{channel}/messages"
        self.routes: Sequence[Route] = (
            Route("POST", path, "channel.post", self.create),
            Route("GET", path, "channel.list", self.list),
            Route("PATCH", path + "/{message}", "channel.edit", self.edit),
        )

    def identify(self, call: Call) -> str:
        """The bot, by its token."""
        if call.headers.get("authorization") != f"Bot {self._token}":
            raise ApiFailure(401, "unauthorized", "401: Unauthorized")
        channel = call.parameters["channel"]
        if channel in self.deleted:
            raise ApiFailure(404, "unknownChannel", "Unknown Channel")
        if channel in self.forbidden:
            raise ApiFailure(403, "missingAccess", "Missing Access")
        return BOT_ID

    def admit(self, call: Call) -> None:
        """Refuse the sixth call to a channel within five seconds."""
        with self._lock:
            now = self._clock.now()
            calls = self._calls.setdefault(call.parameters["channel"], deque())
            while calls and calls[0] <= now - WINDOW_S:
                calls.popleft()
            if len(calls) >= MOST_CALLS:
                raise ApiFailure(429, "rateLimited", "You are being rate limited.", self.limits(call))
            calls.append(now)

    def limits(self, call: Call) -> Mapping[str, str]:
        """What every answer says of the channel's window."""
        calls = self._calls.get(call.parameters["channel"], deque())
        return {
            "X-RateLimit-Limit": str(MOST_CALLS),
            "X-RateLimit-Remaining": str(max(0, MOST_CALLS - len(calls))),
            "X-RateLimit-Reset-After": f"{self.wait(call):.3f}",
            "X-RateLimit-Bucket": "channel",
        }

    def wait(self, call: Call) -> float:
        """The seconds until the channel's window has room."""
        calls = self._calls.get(call.parameters["channel"])
        return round(max(0.001, calls[0] + WINDOW_S - self._clock.now()), 3) if calls else 0.001

    def create(self, call: Call) -> Answer:
        """`POST /channels/{id}/messages`: a new message, or with `enforce_nonce` the one of that nonce."""
        request = call.json()
        message = _checked(request)
        nonce = request.get("nonce")
        if nonce is not None and (not isinstance(nonce, str | int) or len(str(nonce)) > LONGEST_NONCE):
            raise ApiFailure(400, "invalidForm", "Invalid Form Body")
        channel = call.parameters["channel"]
        with self._lock:
            now = self._clock.now()
            known = self._nonces.get((channel, str(nonce)))
            enforced = nonce is not None and request.get("enforce_nonce") is True
            if enforced and known and now - known[0] < NONCE_KNOWN_FOR_S:
                return self._answer(call, known[1], made=False)
            self._number += 1
            made = {
                "id": str(((int(now * 1000) - EPOCH_MS) << 22) + self._number),
                "channel_id": channel,
                "author": {"id": BOT_ID, "bot": True},
                **message,
            }
            self.by_channel.setdefault(channel, []).append(made)
            if nonce is not None:
                self._nonces[channel, str(nonce)] = (now, made)
        return self._answer(call, made, made=True)

    def list(self, call: Call) -> Answer:
        """`GET /channels/{id}/messages`: those after an id, a page from the oldest on; the newest first."""
        channel = call.parameters["channel"]
        limit = min(call.number("limit", 50), LARGEST_PAGE)
        after = call.number("after", 0)
        with self._lock:
            newer = [one for one in self.by_channel.get(channel, []) if int(one["id"]) > after]
        shown = [] if channel in self.without_history else newer[:limit] if call.first("after") else newer[-limit:]
        return Answer(body=_json(shown[::-1]), headers=self.limits(call), summary={"messages": len(shown)})

    def edit(self, call: Call) -> Answer:
        """`PATCH /channels/{id}/messages/{id}`: replaces what is given."""
        message = _checked(call.json())
        with self._lock:
            for one in self.by_channel.get(call.parameters["channel"], []):
                if one["id"] == call.parameters["message"]:
                    one.update(message)
                    return self._answer(call, one, made=False)
        raise ApiFailure(404, "unknownMessage", "Unknown Message")

    def post(self, channel: str, content: str) -> None:
        """Let a person write into a channel."""
        with self._lock:
            self._number += 1
            message_id = str(((int(self._clock.now() * 1000) - EPOCH_MS) << 22) + self._number)
            message = {"id": message_id, "content": content, "components": [], "author": {"id": "7"}}
            self.by_channel.setdefault(channel, []).append(message | {"channel_id": channel})

    def reset(self) -> None:
        """No messages, no limits used, every channel open."""
        with self._lock:
            for kept in (self.by_channel, self._nonces, self._calls):
                kept.clear()
            for closed in (self.deleted, self.forbidden, self.without_history):
                closed.clear()

    def _answer(self, call: Call, message: Json, *, made: bool) -> Answer:
        digest = hashlib.sha256(str(message["content"]).encode()).hexdigest()
        summary = {"message_id": message["id"], "sha256": digest, "made": made}
        return Answer(body=dict(message), headers=self.limits(call), summary=summary)


def _checked(request: Json) -> Json:
    """The message of a request; refused as Discord refuses it."""
    content = request.get("content", "")
    if not isinstance(content, str) or len(content) > LONGEST_CONTENT:
        raise ApiFailure(400, "invalidForm", "Invalid Form Body")
    if not content.strip():
        raise ApiFailure(400, "emptyMessage", "Cannot send an empty message")
    rows = request.get("components", [])
    if not isinstance(rows, list) or len(rows) > MOST_ROWS:
        raise ApiFailure(400, "invalidForm", "Invalid Form Body")
    seen: set[str] = set()
    for row in rows:
        buttons = row.get("components", [])
        if row.get("type") != 1 or not 1 <= len(buttons) <= MOST_BUTTONS:
            raise ApiFailure(400, "invalidForm", "Invalid Form Body")
        for button in buttons:
            name = button.get("custom_id")
            is_well = isinstance(name, str) and 1 <= len(name) <= LONGEST_CUSTOM_ID and name not in seen
            is_well &= button.get("style") in STYLES and len(str(button.get("label") or "")) <= LONGEST_LABEL
            if button.get("type") != 2 or not is_well:  # noqa: PLR2004 - a button
                raise ApiFailure(400, "invalidForm", "Invalid Form Body")
            seen.add(name)
    parse = request.get("allowed_mentions", {"parse": ["everyone"]}).get("parse", [])
    everyone = "everyone" in parse and any(word in content for word in ("@everyone", "@here"))
    return {"content": content, "components": rows, "mention_everyone": everyone}


def _json(messages: Sequence[Json]) -> bytes:
    return json.dumps(list(messages)).encode()
