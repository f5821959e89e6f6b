"""An owner's consent: the address of Google's screen, and the one exchange of the code that comes back."""

import base64
import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from domain.jobs.failures import Permanent
from providers.answers import ErrorAnswer, VendorCall
from providers.google.failures import ERRORS, GMAIL, failure_by_table, failure_of
from providers.google.oauth import OK, USUAL_LIFETIME, utc_now
from providers.google.transport import NoReplayHttp

ISSUERS = frozenset({"https://accounts.google.com", "accounts.google.com"})
LONGEST_LIFETIME_S = 86_400


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """This installation as it is registered with Google."""

    client_id: str
    client_secret: str = field(repr=False)
    redirect_uri: str


@dataclass(frozen=True, slots=True)
class ConsentGiven:
    """What a code was exchanged for. `refresh_token` is None when Google gave no lasting access."""

    access_token: str = field(repr=False)
    refresh_token: str | None = field(repr=False)
    expires_at: datetime
    scopes: frozenset[str]
    subject: str
    """The Google user's id, which stays when the address changes."""


def challenge_of(verifier: str) -> str:
    """The S256 code challenge of a verifier (RFC 7636)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def screen_address(  # noqa: PLR0913  # each is a field of the request, by name
    authorize_url: str,
    *,
    client_id: str,
    redirect_uri: str,
    scopes: Collection[str],
    state: str,
    verifier: str,
    nonce: str,
    email: str,
) -> str:
    """Where the owner's browser goes. `prompt=consent` has Google give a refresh token each time."""
    return f"{authorize_url}?" + urlencode(
        {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": redirect_uri,
            "scope": " ".join(scopes),
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge_of(verifier),
            "code_challenge_method": "S256",
            "access_type": "offline",
            "prompt": "consent",
            "login_hint": email,
        }
    )


def exchange(  # noqa: PLR0913  # each is a field of the request or a setting, by name
    code: str,
    client: OAuthClient,
    *,
    verifier: str,
    nonce: str,
    token_uri: str,
    timeout_s: float,
    clock: Callable[[], datetime] = utc_now,
) -> ConsentGiven:
    """Exchange a code, in one request: a second one would be refused, whatever became of the first.

    Raises `Unauthorised` (`google.invalid_grant`) for a code that is too old, used, or another's; a growing `Throttled`
    for a client that Google does not know; `Permanent` for an identity token that is not for us; the rest passes.
    """
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "client_id": client.client_id,
        "client_secret": client.client_secret,
        "redirect_uri": client.redirect_uri,
        "code_verifier": verifier,
    }
    call = VendorCall("google", clock(), "oauth2.code", "", gate=GMAIL)
    try:
        said = _ask(NoReplayHttp(timeout_s=timeout_s), token_uri, form, call)
        lifetime = min(int(said.get("expires_in") or USUAL_LIFETIME.total_seconds()), LONGEST_LIFETIME_S)
        given = ConsentGiven(
            access_token=_text(said, "access_token"),
            refresh_token=_text(said, "refresh_token") if said.get("refresh_token") else None,
            expires_at=clock() + timedelta(seconds=lifetime),
            scopes=frozenset(_text(said, "scope").split()),
            subject=_subject(_text(said, "id_token"), client.client_id, nonce, clock()),
        )
    except ERRORS as error:
        failure = failure_of(error, call)
    else:
        return given
    # Outside the handler, so that no traceback shows what was sent.
    raise failure


def _ask(http: NoReplayHttp, token_uri: str, form: Mapping[str, str], call: VendorCall) -> dict[str, Any]:
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    response, data = http.request(token_uri, "POST", body=urlencode(form), headers=headers)
    if response.status != OK:
        raise failure_by_table(_refusal(response.status, data, response.get("retry-after"), call.now), call)
    found = json.loads(data)
    if not isinstance(found, dict):
        raise ValueError("the answer is no object")  # noqa: TRY004 - one kind for all that cannot be read
    return found


def _refusal(status: int, data: bytes, retry_after: str | None, now: datetime) -> ErrorAnswer:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    return ErrorAnswer.read(status, (found.get("error"),) if isinstance(found, dict) else (), "", retry_after, now)


def _subject(id_token: str, client_id: str, nonce: str, now: datetime) -> str:
    """Whose identity token it is.

    Its signature is not checked: it came from the token endpoint itself, over TLS (OpenID Connect Core, 3.1.3.7).
    """
    body = id_token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    is_ours = claims["iss"] in ISSUERS and claims["aud"] == client_id and claims["nonce"] == nonce
    if not is_ours or claims["exp"] <= now.timestamp():
        raise Permanent("the identity token is not for this request", code="google.foreign_identity")
    return _text(claims, "sub")


def _text(said: Mapping[str, Any], name: str) -> str:
    found = said[name]
    if not isinstance(found, str) or not found:
        raise ValueError(f"{name} is no text")
    return found
