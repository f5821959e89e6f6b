"""A Google refresh token exchanged for a fresh access token, in one request."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from google.auth.exceptions import RefreshError
from google.oauth2.credentials import Credentials

from providers.answers import VendorCall
from providers.google.failures import ERRORS, GMAIL, failure_of
from providers.google.transport import NoReplayHttp

OK = 200
USUAL_LIFETIME = timedelta(hours=1)
"""What Google gives, for an answer that does not say."""


def utc_now() -> datetime:
    """The wall clock, aware."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class FreshToken:
    """What the token endpoint gave.

    `refresh_token` is None unless Google replaced it; `scopes` is empty when the answer does not say.
    """

    access_token: str = field(repr=False)
    expires_at: datetime
    refresh_token: str | None = field(repr=False)
    scopes: frozenset[str]


def refresh(  # noqa: PLR0913  # each is a setting or a fact of the account, by name
    refresh_token: str,
    *,
    account: str,
    client_id: str,
    client_secret: str,
    token_uri: str,
    timeout_s: float,
    clock: Callable[[], datetime] = utc_now,
) -> FreshToken:
    """Refresh once. Only one worker per account may do this at a time (docs: google-oauth.md#refreshing).

    Raises `Unauthorised` (`google.invalid_grant`) when the consent is gone: re-read the stored token first, another
    worker may have replaced it. Where our client is refused (`google.invalid_client`, …), all that needs Google
    is parked until an operator mends it; the rest passes.
    """
    credentials = Credentials(  # type: ignore[no-untyped-call]  # google-auth leaves it untyped
        token=None, refresh_token=refresh_token, token_uri=token_uri, client_id=client_id, client_secret=client_secret
    )
    endpoint = _TokenEndpoint(NoReplayHttp(timeout_s=timeout_s))
    try:
        credentials.refresh(endpoint)  # type: ignore[no-untyped-call]  # google-auth leaves it untyped
        return _fresh(credentials, endpoint.granted, refresh_token, clock())
    except ERRORS as error:
        call = VendorCall("google", clock(), "oauth2.token", account, writes=False, gate=GMAIL)
        failure = failure_of(error, call)
    # Outside the handler, so that no traceback shows the vendor's error with its text.
    raise failure


def _fresh(credentials: Credentials, granted: Mapping[str, Any], old: str, now: datetime) -> FreshToken:
    new = credentials.refresh_token
    expiry = credentials.expiry
    return FreshToken(
        access_token=str(credentials.token),
        expires_at=expiry.replace(tzinfo=UTC) if expiry else now + USUAL_LIFETIME,
        refresh_token=new if new != old else None,
        scopes=frozenset(str(granted.get("scope", "")).split()),
    )


@dataclass(frozen=True, slots=True)
class _Answer:
    """The shape google-auth expects of a response."""

    status: int
    headers: Mapping[str, str]
    data: bytes


class _TokenEndpoint:
    """google-auth's request callable; it ends google-auth's own loop of three attempts at the first refusal."""

    def __init__(self, http: NoReplayHttp) -> None:
        self._http = http
        self.granted: dict[str, Any] = {}

    def __call__(self, url: str, method: str, body: bytes, headers: Mapping[str, str], **_options: object) -> _Answer:
        response, data = self._http.request(url, method, body=body, headers=dict(headers))
        said = _json_object(data)
        if response.status != OK:
            facts = {"error": said.get("error"), "status": response.status, "retry_after": response.get("retry-after")}
            raise RefreshError("refused", facts)  # type: ignore[no-untyped-call]  # google-auth leaves it untyped
        if not said.get("access_token"):
            raise ValueError("the answer holds no access token")
        self.granted = said
        return _Answer(response.status, response, data)


def _json_object(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
