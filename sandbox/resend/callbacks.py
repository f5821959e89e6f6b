"""Resend's callbacks, signed as Svix signs them: sent when they are ordered, doubled and out of order if so ordered."""

import base64
import hashlib
import hmac
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any

from sandbox.emulator.exchange import Json
from sandbox.emulator.journal import Journal, JournalEntry

TIMEOUT_S = 10.0
SECRET = "whsec_" + base64.b64encode(b"a secret of the emulator's own").decode()

MORE: Mapping[str, Json] = {
    "email.bounced": {"bounce": {"type": "Permanent", "subType": "General", "message": "no such mailbox"}},
    "email.failed": {"failed": {"reason": "reached_daily_quota"}},
    "email.suppressed": {"suppressed": {"type": "OnAccountSuppressionList", "message": "it bounced before"}},
}
"""What an event has beside the facts of its mail."""


@dataclass(frozen=True, slots=True)
class CallbackOrder:
    """Which events of a mail to send, and how.

    | field | meaning |
    |---|---|
    | `types` | `email.sent`, `email.delivered`, `email.bounced`, …, in the order in which they happened |
    | `copies` | how often each is sent; copies have one id |
    | `order` | `as_is`, `reversed`, or `shuffled` by `seed` |
    | `forged` | signed with another secret |
    | `age_s` | signed so many seconds ago |
    | `data` | more facts of the event |
    """

    email_id: str
    types: tuple[str, ...]
    copies: int = 1
    order: str = "as_is"
    seed: int = 0
    forged: bool = False
    age_s: float = 0.0
    data: Json | None = None


@dataclass(frozen=True, slots=True)
class SignedCallback:
    """A body with the headers that sign it."""

    body: bytes
    headers: dict[str, str]


class Callbacks:
    """Sends to one address; every post is a journal entry `callbacks.post`."""

    def __init__(self, journal: Journal) -> None:
        """Nowhere to send to."""
        self.url = ""
        self.secret = SECRET
        self._journal = journal
        self._number = 0

    def send(self, order: CallbackOrder, email: Json, now: float) -> list[int | None]:
        """Send what was ordered; returns the statuses, None where no answer came."""
        if not self.url:
            raise ValueError("no address for callbacks is configured")
        events = []
        for position, kind in enumerate(order.types):
            self._number += 1
            at = now - order.age_s
            event = event_of(kind, email, at + position, order.data)
            secret = "whsec_" + base64.b64encode(b"another").decode() if order.forged else self.secret
            events += [signed(event, secret, f"msg_{self._number:08}", at)] * order.copies
        if order.order == "reversed":
            events.reverse()
        elif order.order == "shuffled":
            Random(order.seed).shuffle(events)  # noqa: S311  # repeatable, not a secret
        return [self._post(one) for one in events]

    def _post(self, callback: SignedCallback) -> int | None:
        request = urllib.request.Request(self.url, callback.body, callback.headers, method="POST")  # noqa: S310  # the tester's own address
        status: int | None
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310  # as above
                status = answer.status
        except urllib.error.HTTPError as error:
            with error:
                status = error.code
        except OSError:
            status = None
        event = json.loads(callback.body)
        summary = {"type": event["type"], "email_id": event["data"]["email_id"], "id": callback.headers["svix-id"]}
        self._journal.append(JournalEntry("callbacks.post", "POST", self.url, status, summary=summary))
        return status


def event_of(kind: str, email: Json, at: float, data: Json | None = None) -> Json:
    """An event as Resend writes it."""
    moment = datetime.fromtimestamp(at, UTC).isoformat()
    facts: dict[str, Any] = {
        "email_id": email["id"],
        "created_at": email["created_at"],
        "from": email["from"],
        "to": email["to"],
        "subject": email["subject"],
    }
    return {"type": kind, "created_at": moment, "data": facts | dict(MORE.get(kind, {})) | (data or {})}


def signed(event: Json, secret: str, message_id: str, at: float) -> SignedCallback:
    """The event, signed at that time."""
    body, timestamp = json.dumps(event).encode(), str(int(at))
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Svix-Webhooks/1.0",
        "svix-id": message_id,
        "svix-timestamp": timestamp,
        "svix-signature": f"v1,{base64.b64encode(digest).decode()}",
    }
    return SignedCallback(body, headers)
