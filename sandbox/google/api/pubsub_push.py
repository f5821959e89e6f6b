"""Pub/Sub's push delivery: sign, post, and post again until the endpoint accepts the notification."""

import base64
import heapq
import json
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from http.client import HTTPException
from itertools import count
from random import Random
from threading import Condition, Thread

from sandbox.emulator.exchange import Json
from sandbox.emulator.journal import Journal, JournalEntry
from sandbox.google.api.oauth import Signer

ISSUER = "https://accounts.google.com"
ACKNOWLEDGED = frozenset({102, 200, 201, 202, 204})
LONGEST_PAUSE_S = 60.0
FIRST_MESSAGE_ID = 10_000_000_000_000_001


@dataclass(slots=True)
class PushConfig:
    """Where to push, and as which service account; `loss` is the share of pushes that are lost."""

    url: str = ""
    audience: str = ""
    service_account: str = "push@postroom-emulator.iam.gserviceaccount.com"
    subscription: str = "projects/postroom/subscriptions/gmail"
    enabled: bool = True
    loss: float = 0.0
    min_interval_s: float = 0.0
    """Gmail's own is 1.0: a push that comes sooner after the last one of the same user is dropped."""
    delay_s: float = 0.0
    retry_initial_s: float = 0.2
    timeout_s: float = 10.0
    seed: int = 0


@dataclass(order=True, slots=True)
class Delivery:
    """One attempt that is due; compared by time."""

    due: float
    order: int
    envelope: Json = field(compare=False)
    account: str = field(compare=False)
    attempt: int = field(compare=False, default=1)


class PushService:
    """Delivers in a thread of its own; every attempt is a journal entry `push.deliver`."""

    def __init__(self, signer: Signer, journal: Journal) -> None:
        """Pushes nothing before it is configured."""
        self.config = PushConfig()
        self._signer = signer
        self._journal = journal
        self._random = Random(0)  # noqa: S311  # repeatable losses, not a secret
        self._queue: list[Delivery] = []
        self._order = count()
        self._message_ids = count()
        self._last: dict[str, float] = {}
        self._changed = Condition()
        self._closed = False
        self._thread = Thread(target=self._loop, name="pubsub-push", daemon=True)
        self._thread.start()

    def configure(self, config: PushConfig) -> None:
        """Push from now on as said; without a URL nothing is pushed, and waiting pushes are dropped."""
        with self._changed:
            self.config = config
            if not config.url:
                self._queue.clear()
            self._random = Random(config.seed)  # noqa: S311  # repeatable losses, not a secret

    def next_message_id(self) -> str:
        """Pub/Sub's id of a message; a redelivery keeps it."""
        return str(FIRST_MESSAGE_ID + next(self._message_ids))

    def notify(self, account: str, envelope: Json, *, watch_start: bool = False) -> None:
        """Queue a notification, unless it is lost as configured; the push of a new watch is never lost."""
        with self._changed:
            now, config = time.monotonic(), self.config
            if not config.url or not config.enabled:
                return
            soon = not watch_start and now - self._last.get(account, -1e9) < config.min_interval_s
            if soon or self._random.random() < config.loss:
                self._note(account, envelope, None, 0, "lost")
                return
            if not watch_start:
                self._last[account] = now
            heapq.heappush(self._queue, Delivery(now + config.delay_s, next(self._order), envelope, account))
            self._changed.notify_all()

    def token(self, audience: str, service_account: str, age_s: float = 0.0, kid: str | None = None) -> str:
        """The JWT of a push; `age_s` above an hour makes it expired, a foreign `kid` unverifiable."""
        issued = int(time.time() - age_s)
        claims = {
            "iss": ISSUER, "aud": audience, "azp": "112233445566778899000", "sub": "112233445566778899000",
            "email": service_account, "email_verified": True, "iat": issued, "exp": issued + 3_600,
        }  # fmt: skip
        return self._signer.sign(claims, kid)

    def post(self, envelope: Json, token: str, account: str, attempt: int = 1) -> int | None:
        """Post once and journal it; the status, or None when there was no answer."""
        config = self.config
        if not config.url:
            return None
        request = urllib.request.Request(  # noqa: S310  # the address is configured by the test
            config.url,
            json.dumps(envelope).encode(),
            {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        status: int | None = None
        try:
            with urllib.request.urlopen(request, timeout=config.timeout_s) as response:  # noqa: S310  # as above
                status = response.status
        except urllib.error.HTTPError as error:
            status = error.code
            error.close()
        except (OSError, HTTPException):
            pass  # no server or no answer in time: the journal shows no status, and the push is repeated
        self._note(account, envelope, status, attempt, "answered" if status else "unanswered")
        return status

    def pending(self) -> int:
        """How many deliveries still wait."""
        with self._changed:
            return len(self._queue)

    def reset(self) -> None:
        """Forget configuration and queue."""
        with self._changed:
            self.config = PushConfig()
            self._queue.clear()
            self._last.clear()

    def close(self) -> None:
        """Stop; waiting pushes are dropped."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(timeout=self.config.timeout_s)

    def _loop(self) -> None:
        while (delivery := self._next()) is not None:
            token = self.token(self.config.audience, self.config.service_account)
            status = self.post(delivery.envelope, token, delivery.account, delivery.attempt)
            if status not in ACKNOWLEDGED:
                self._again(delivery)

    def _next(self) -> Delivery | None:
        with self._changed:
            while not self._closed:
                now = time.monotonic()
                if self._queue and self._queue[0].due <= now:
                    return heapq.heappop(self._queue)
                self._changed.wait(self._queue[0].due - now if self._queue else None)
        return None

    def _again(self, delivery: Delivery) -> None:
        with self._changed:
            pause = min(self.config.retry_initial_s * 2 ** (delivery.attempt - 1), LONGEST_PAUSE_S)
            delivery.due = time.monotonic() + pause
            delivery.attempt += 1
            if self.config.url:
                heapq.heappush(self._queue, delivery)

    def _note(self, account: str, envelope: Json, status: int | None, attempt: int, outcome: str) -> None:
        summary = {
            "outcome": outcome,
            "attempt": attempt,
            "pubsub_message_id": envelope.get("message", {}).get("messageId"),
            "history_id": _history_id(envelope),
        }
        self._journal.append(JournalEntry("push.deliver", "POST", self.config.url, status, account, summary))


def _history_id(envelope: Json) -> int | None:
    """The history id that a push tells of; None where its data is no notification of Gmail's."""
    try:
        told = json.loads(base64.b64decode(envelope["message"]["data"]))
        return int(told["historyId"])
    except (KeyError, TypeError, ValueError):
        return None
