"""Gmail's push notifications through Pub/Sub: who sent one, and what it says (docs: gmail-push.md)."""

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import pydantic_core
from google.auth.exceptions import GoogleAuthError
from google.oauth2 import id_token

from domain.jobs.failures import Forbidden, Invalid
from providers.google.certificates import OK, CertificateStore

Kind = TypeVar("Kind")

ISSUERS = ("https://accounts.google.com", "accounts.google.com")
CLOCK_SKEW_S = 10
LONGEST_TOKEN = 8192
LONGEST_BODY = 262_144
LONGEST_ADDRESS = 320
HIGHEST_HISTORY_ID = 2**64 - 1

_BEARER = re.compile(r"bearer +([\w-]+)\.([\w-]+)\.([\w-]+) *", re.IGNORECASE | re.ASCII)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")


@dataclass(frozen=True, slots=True)
class PushClaims:
    """Who signed a push, after every check passed."""

    email: str
    audience: str
    issued_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class PushNotification:
    """A mailbox has news. `history_id` is a hint, neither the start nor the new cursor of a sync."""

    email: str
    history_id: int
    message_id: str
    publish_time: datetime | None


def verify_push(
    authorization_header: str | None,
    *,
    audience: str,
    service_account: str,
    certs_url: str,
    certificates: CertificateStore,
) -> PushClaims:
    """Check signature, issuer, audience, e-mail and times of a push's bearer token.

    Raises `Forbidden` with the reason, or `Transient` when the certificates cannot be fetched. An empty audience or
    service account refuses every push: a forgotten setting must not let anybody in.
    """
    if not audience or not service_account:
        raise Forbidden("no audience or service account is set", code="push.unset")
    token, key_id = _token(authorization_header)
    claims = _verified(token, audience, certs_url, certificates.certificates(certs_url, key_id))
    if claims.get("iss") not in ISSUERS:
        raise Forbidden("the issuer is not Google", code="push.issuer")
    if claims.get("email") != service_account or claims.get("email_verified") is not True:
        raise Forbidden("the token is not the push service account's", code="push.email")
    return PushClaims(service_account, audience, _time(claims, "iat"), _time(claims, "exp"))


def parse_push(body: bytes) -> PushNotification:
    """Read Pub/Sub's envelope and Gmail's data in it; raises `Invalid` with the field and the reason."""
    message = _member(_object("body", body), "message", dict)
    data = _object("message.data", _decoded(_member(message, "message.data", str)))
    email = _member(data, "emailAddress", str)
    if not 0 < len(email) <= LONGEST_ADDRESS or not email.isprintable():
        raise Invalid("emailAddress", "is no address")
    return PushNotification(
        email=email,
        history_id=_history_id(data.get("historyId")),
        message_id=_member(message, "message.messageId", str),
        publish_time=_publish_time(message.get("publishTime")),
    )


def _token(header: str | None) -> tuple[str, str]:
    if header is None or len(header) > LONGEST_TOKEN:
        raise Forbidden("no bearer token", code="push.token")
    found = _BEARER.fullmatch(header)
    if found is None:
        raise Forbidden("no bearer token", code="push.token")
    try:
        head = _object("header", _decoded(found[1]))
        key_id = _member(head, "kid", str)
    except Invalid:
        # What was sent stays out of the reason: it may be a real token, cut short.
        raise Forbidden("the token has no readable header", code="push.token") from None
    return ".".join(found.groups()), key_id


@dataclass(frozen=True, slots=True)
class _Answer:
    """The shape google-auth expects of a response."""

    status: int
    headers: Mapping[str, str]
    data: bytes


def _verified(token: str, audience: str, certs_url: str, certificates: Mapping[str, str]) -> Mapping[str, Any]:
    held = _Answer(OK, {}, json.dumps(dict(certificates)).encode())
    try:
        return id_token.verify_token(
            token,
            lambda *_arguments, **_options: held,  # type: ignore[arg-type]  # any callable does; the class adds nothing
            audience=audience,
            certs_url=certs_url,
            clock_skew_in_seconds=CLOCK_SKEW_S,
        )
    except (GoogleAuthError, ValueError, TypeError, RecursionError):
        # google-auth quotes the token in its message.
        raise Forbidden("signature, audience or times are wrong", code="push.token") from None


def _time(claims: Mapping[str, Any], name: str) -> datetime:
    return datetime.fromtimestamp(float(claims[name]), UTC)


def _object(field: str, text: bytes) -> dict[str, Any]:
    if len(text) > LONGEST_BODY:
        raise Invalid(field, "is too long")
    try:
        # Unlike the standard library's parser, this one refuses deep nesting with a ValueError.
        found = pydantic_core.from_json(text)
    except ValueError:
        raise Invalid(field, "is no JSON") from None
    if not isinstance(found, dict):
        raise Invalid(field, "is no object")
    return found


def _member(holder: Mapping[str, Any], field: str, kind: type[Kind]) -> Kind:
    found = holder.get(field.rpartition(".")[2])
    if not isinstance(found, kind) or not found:
        raise Invalid(field, f"is missing or no {kind.__name__}")
    return found


def _decoded(text: str) -> bytes:
    if not _BASE64.fullmatch(text):
        raise Invalid("message.data", "is no base64")
    bare = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4))
    except binascii.Error:
        raise Invalid("message.data", "is no base64") from None


def _history_id(value: object) -> int:
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,20}", value):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= HIGHEST_HISTORY_ID:
        raise Invalid("historyId", "is no unsigned 64-bit number")
    return value


def _publish_time(value: object) -> datetime | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise Invalid("message.publishTime", "is no time")
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise Invalid("message.publishTime", "is no time") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
