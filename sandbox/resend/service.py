"""Resend's API: a mail under a key is sent once in 24 hours; a rate, a day's and a month's quota share one status."""

import base64
import binascii
import hashlib
import re
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import getaddresses
from threading import Lock
from uuid import uuid4

from sandbox.emulator.clock import EmulatorClock
from sandbox.emulator.exchange import Answer, ApiFailure, Call, Json, Route
from sandbox.emulator.written_mail import WrittenFile, WrittenMail

KEY_KNOWN_FOR_S = 24 * 3600.0
LONGEST_KEY = 256
MOST_RECIPIENTS = 50
LARGEST_REQUEST = 40_000_000
FIELDS = frozenset(
    {
        "from", "to", "cc", "bcc", "reply_to", "subject", "text", "html", "headers", "attachments", "tags", "template",
        "scheduled_at", "topic_id",
    }
)  # fmt: skip
ADDRESS = re.compile(r"""("(?:[^"\\]|\\.)*"|[^@\s"]+)@[^@\s]+""")


class ResendService:
    """One team; every key is accepted that was not revoked."""

    def __init__(self) -> None:
        """Begin without mails, without quotas."""
        self.clock = EmulatorClock()
        self.emails: list[Json] = []
        self.mails: dict[str, WrittenMail] = {}
        self.revoked: set[str] = set()
        self.per_second: int | None = None
        self.per_day: int | None = None
        self.per_month: int | None = None
        self._keys: dict[str, tuple[float, str, str]] = {}
        """By key: when it was used first, the hash of the body, the mail's id."""
        self._in_flight: set[str] = set()
        self._calls: deque[float] = deque()
        self._lock = Lock()
        self.routes: Sequence[Route] = (
            Route("POST", "/emails", "emails.send", self.send),
            Route("GET", "/emails/{email}", "emails.get", self.get),
        )

    def identify(self, call: Call) -> str | None:
        """The start of the key's hash, so that the journal holds no secret."""
        if not call.headers.get("user-agent"):
            raise ApiFailure(403, "noUserAgent", "error code: 1010")
        scheme, _, key = call.headers.get("authorization", "").partition(" ")
        if scheme != "Bearer" or not key:
            raise ApiFailure(401, "missing_api_key", "Missing API Key")
        if key in self.revoked:
            raise ApiFailure(401, "validation_error", "API key is invalid")
        return f"key-{hashlib.sha256(key.encode()).hexdigest()[:8]}"

    @contextmanager
    def admit(self, call: Call) -> Iterator[None]:
        """Refuse a call over the rate, and a second one under a key while the first is at work."""
        self._count()
        key = call.headers.get("idempotency-key")
        if key is None:
            yield
            return
        with self._lock:
            if key in self._in_flight:
                raise ApiFailure(
                    409,
                    "concurrent_idempotent_requests",
                    "Same idempotency key used while the first is in progress.",
                )
            self._in_flight.add(key)
        try:
            yield
        finally:
            with self._lock:
                self._in_flight.discard(key)

    def render(self, _call: Call, failure: ApiFailure) -> Answer:
        """Resend's error; a firewall's has no JSON."""
        if failure.reason == "noUserAgent":
            return Answer(failure.status, failure.message.encode(), {"Content-Type": "text/plain"})
        body = {"statusCode": failure.status, "name": failure.reason, "message": failure.message}
        return Answer(failure.status, body)

    def send(self, call: Call) -> Answer:
        """`POST /emails`: the mail's id; under a known key the first one's."""
        digest = hashlib.sha256(call.body).hexdigest()
        key = call.headers.get("idempotency-key")
        if key is not None and not 0 < len(key) <= LONGEST_KEY:
            raise ApiFailure(400, "invalid_idempotency_key", "The key must be between 1-256 chars.")
        with self._lock:
            known = self._keys.get(key) if key is not None else None
            if known is not None and self.clock.now() - known[0] < KEY_KNOWN_FOR_S:
                if known[1] != digest:
                    raise ApiFailure(
                        409, "invalid_idempotent_request", "Same idempotency key used with a different request payload."
                    )
                return Answer(body={"id": known[2]}, summary={"email_id": known[2], "made": False})
            request = call.json()
            mail = _checked(request, len(call.body))
            self._need_quota()
            email_id = str(uuid4())
            moment = datetime.fromtimestamp(self.clock.now(), UTC).isoformat()
            self.mails[email_id] = mail
            self.emails.append(
                {
                    **{name: request[name] for name in ("from", "subject")},
                    "to": _listed(request["to"]),
                    "id": email_id,
                    "created_at": moment,
                    "account": call.account,
                    "mail": mail.as_json(),
                }
            )
            if key is not None:
                self._keys[key] = (self.clock.now(), digest, email_id)
        return Answer(body={"id": email_id}, summary={"email_id": email_id, "made": True, "sha256": digest})

    def get(self, call: Call) -> Answer:
        """`GET /emails/{id}`."""
        return Answer(body={"object": "email", **self.email(call.parameters["email"]), "last_event": "sent"})

    def email(self, email_id: str) -> Json:
        """A mail that was taken."""
        with self._lock:
            for one in self.emails:
                if one["id"] == email_id:
                    return one
        raise ApiFailure(404, "not_found", "Email not found")

    def reset(self) -> None:
        """No mails, no keys, no quotas, real time."""
        with self._lock:
            for kept in (self.emails, self.mails, self.revoked, self._keys, self._calls):
                kept.clear()
            self.per_second = self.per_day = self.per_month = None
        self.clock.reset()

    def close(self) -> None:
        """Nothing runs in the background."""

    def _count(self) -> None:
        with self._lock:
            if self.per_second is None:
                return
            now = self.clock.now()
            while self._calls and self._calls[0] <= now - 1:
                self._calls.popleft()
            if len(self._calls) >= self.per_second:
                headers = {"retry-after": "1", "ratelimit-limit": str(self.per_second), "ratelimit-remaining": "0"}
                raise ApiFailure(429, "rate_limit_exceeded", "Too many requests.", headers)
            self._calls.append(now)

    def _need_quota(self) -> None:
        now = datetime.fromtimestamp(self.clock.now(), UTC).isoformat()
        for name, most, length in (("daily", self.per_day, 10), ("monthly", self.per_month, 7)):
            used = sum(one["created_at"][:length] == now[:length] for one in self.emails)
            if most is not None and used >= most:
                raise ApiFailure(429, f"{name}_quota_exceeded", f"You have reached your {name} email quota.")


def _checked(request: Json, size: int) -> WrittenMail:
    """The mail of a request; refused as Resend refuses it."""
    if size > LARGEST_REQUEST:
        raise ApiFailure(413, "validation_error", "Request body too large.")
    unknown = set(request) - FIELDS
    if unknown:
        raise ApiFailure(422, "validation_error", f"Unrecognized key: {min(unknown)}")
    for name in ("from", "to", "subject"):
        if not request.get(name):
            raise ApiFailure(422, "missing_required_field", f"Missing `{name}` field.")
    if request.get("text") is None and request.get("html") is None:
        raise ApiFailure(422, "validation_error", "Missing `html` or `text` field.")
    to = _addresses("to", request["to"])
    if len(to) > MOST_RECIPIENTS:
        raise ApiFailure(422, "validation_error", "The `to` field has a maximum of 50 recipients.")
    return WrittenMail(
        sender=_addresses("from", request["from"])[0],
        to=to,
        subject=_line("subject", request["subject"]),
        text=request.get("text"),
        html=request.get("html"),
        cc=_addresses("cc", request.get("cc", [])),
        bcc=_addresses("bcc", request.get("bcc", [])),
        reply_to=_addresses("reply_to", request.get("reply_to", [])),
        headers={name: _line("headers", value) for name, value in request.get("headers", {}).items()},
        files=[_file(one) for one in request.get("attachments", [])],
    )


def _addresses(field: str, given: object) -> list[tuple[str, str]]:
    texts = _listed(given)
    if not all(isinstance(one, str) and "\n" not in one and "\r" not in one for one in texts):
        raise ApiFailure(422, "validation_error", f"Invalid `{field}` field.")
    found = [pair for text in texts for pair in getaddresses([text])]
    if len(found) != len(texts) or not all(ADDRESS.fullmatch(address) for _, address in found):
        raise ApiFailure(422, "validation_error", f"Invalid `{field}` field.")
    return found


def _listed(given: object) -> list[str]:
    return list(given) if isinstance(given, list) else [str(given)]


def _line(field: str, text: object) -> str:
    if not isinstance(text, str) or "\n" in text or "\r" in text:
        raise ApiFailure(422, "validation_error", f"Invalid `{field}` field.")
    return text


def _file(given: Json) -> WrittenFile:
    try:
        data = base64.b64decode(str(given["content"]), validate=True)
        return WrittenFile(str(given["filename"]), str(given.get("content_type") or "application/octet-stream"), data)
    except (KeyError, TypeError, binascii.Error) as error:
        raise ApiFailure(422, "invalid_attachment", "Attachment must have either a `content` or `path`.") from error
