"""Error answers as vendors give them, and what our tables make of them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httplib2
from google.auth.exceptions import RefreshError
from googleapiclient.errors import HttpError

from domain.jobs.failures import Failure
from providers.answers import VendorCall
from providers.anthropic import failures as anthropic
from providers.discord import failures as discord
from providers.fcm import failures as fcm
from providers.google import failures as google
from providers.microsoft import failures as microsoft
from providers.resend import failures as resend
from providers.rest_client import RestAnswer
from providers.twilio import failures as twilio
from providers.webhooks import post

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
SENT = "Dear Ada, lunch?"
"""What was sent: every text of a vendor's may quote it, and no reason of ours does."""

Reader = Callable[[int, Any, Mapping[str, str]], Failure]


@dataclass(frozen=True)
class Said:
    """An error answer of a vendor's; names of headers may have underscores."""

    vendor: str
    status: int
    body: Any = None
    headers: Mapping[str, str] | None = None

    def failure(self) -> Failure:
        """What we make of it."""
        headers = {name.lower().replace("_", "-"): value for name, value in (self.headers or {}).items()}
        return VENDORS[self.vendor](self.status, self.body, headers)


def of_anthropic(*, of_installation: bool) -> Reader:
    return of_rest(
        lambda answer: anthropic.failure_of(answer, NOW, "claude-haiku-5-5", of_installation=of_installation)
    )


def of_rest(read: Callable[[RestAnswer], Failure | None]) -> Reader:
    def failure(status: int, body: object, headers: Mapping[str, str]) -> Failure:
        found = read(RestAnswer(status, headers, content_of(body)))
        assert found is not None
        return found

    return failure


def of_gmail(*, writes: bool) -> Reader:
    def failure(status: int, body: object, headers: Mapping[str, str]) -> Failure:
        try:
            answer = httplib2.Response({"status": str(status), **headers})
            error: Exception = HttpError(answer, content_of(body), uri="http://gmail/?q=secret")
        except google.ERRORS as raised:
            error = raised  # the package itself fails at some bodies
        return google.failure_of(error, VendorCall("gmail", NOW, "drafts.send", "account-1", writes))

    return failure


def of_google_tokens(status: int, body: object, headers: Mapping[str, str]) -> Failure:
    word = body.get("error") if isinstance(body, dict) else None
    facts = {"error": word, "status": status, "retry_after": headers.get("retry-after")}
    error = RefreshError("refused", facts)  # type: ignore[no-untyped-call]  # untyped library
    call = VendorCall("google", NOW, "oauth2.token", "account-1", writes=False, gate=google.GMAIL)
    return google.failure_of(error, call)


def of_graph(*, is_token_fresh: bool) -> Reader:
    facts = microsoft.CallFacts("desk@example.com", NOW, is_token_fresh)
    return of_rest(lambda answer: microsoft.failure_of(answer, facts))


def content_of(body: object) -> bytes:
    """A body's bytes."""
    return body if isinstance(body, bytes) else json.dumps(body).encode()


VENDORS: Mapping[str, Reader] = {
    "anthropic": of_anthropic(of_installation=True),
    "anthropic of a profile": of_anthropic(of_installation=False),
    "gmail": of_gmail(writes=True),
    "gmail reads": of_gmail(writes=False),
    "google tokens": of_google_tokens,
    "graph": of_graph(is_token_fresh=True),
    "graph with a kept token": of_graph(is_token_fresh=False),
    "graph tokens": of_rest(lambda answer: microsoft.failure_of_tokens(answer, NOW)),
    "resend": of_rest(lambda answer: resend.failure_of(answer, NOW, "an org")),
    "twilio": of_rest(lambda answer: twilio.failure_of(answer, NOW)),
    "fcm": of_rest(lambda answer: fcm.failure_of(answer, NOW, is_token_fresh=True)),
    "fcm with a kept token": of_rest(lambda answer: fcm.failure_of(answer, NOW, is_token_fresh=False)),
    "fcm tokens": of_rest(lambda answer: fcm.failure_of_tokens(answer, NOW)),
    "discord": of_rest(lambda answer: discord.failure_of(answer, NOW)),
    "alerts": of_rest(lambda answer: post.failure_of(answer, NOW, discord.worded_wait(answer))),
}


def claude(status: int, kind: str, text: str = SENT, code: str | None = None, **headers: str) -> Said:
    error = {"type": kind, "message": text} | ({"details": {"error_code": code}} if code else {})
    return Said("anthropic", status, {"error": error}, headers)


def gmail(status: int, reason: str, text: str = SENT, vendor: str = "gmail", **headers: str) -> Said:
    return Said(vendor, status, {"error": {"message": text, "errors": [{"reason": reason}]}}, headers)


def detailed(status: int, reason: str, limit: str = "") -> Said:
    info = {"reason": reason, "metadata": {"quota_limit": limit}}
    return Said("gmail", status, {"error": {"status": "PERMISSION_DENIED", "details": [info]}})


def tokens(status: int, word: str, vendor: str = "google tokens", **headers: str) -> Said:
    return Said(vendor, status, {"error": word}, headers)


def graph(status: int, word: str, vendor: str = "graph", **headers: str) -> Said:
    return Said(vendor, status, {"error": {"code": word, "message": SENT}}, headers)


def mail(status: int, name: str, text: str = SENT, **headers: str) -> Said:
    return Said("resend", status, {"name": name, "message": text}, headers)


def sms(status: int, number: int, **headers: str) -> Said:
    return Said("twilio", status, {"code": number, "message": SENT}, headers)


def push(status: int, word: str, detail: str = "", text: str = SENT, vendor: str = "fcm", **headers: str) -> Said:
    error = {"status": word, "message": text} | ({"details": [{"errorCode": detail}]} if detail else {})
    return Said(vendor, status, {"error": error}, headers)
