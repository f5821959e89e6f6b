"""Google's consent screen and the exchange of its codes (RFC 6749 and RFC 7636), for one OAuth client at a time.

What the real screen refuses outright (an unknown client, a redirect address that is not the client's) it shows on a
page of its own and sends nobody back. A person picks an account and may leave scopes unticked.
"""

import base64
import hashlib
import html
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from urllib.parse import parse_qs, urlencode

from sandbox.emulator.clock import EmulatorClock
from sandbox.emulator.exchange import Answer, ApiFailure, Call, Json
from sandbox.google.api.oauth import Signer, TokenBook

CODE_LIVES_S = 600.0
ID_TOKEN_LIVES_S = 3_600
SIGN_IN = frozenset({"openid", "email", "profile", "https://www.googleapis.com/auth/userinfo.email"})
"""Scopes that the screen grants without a box to tick."""
FULL_NAMES = {name: f"https://www.googleapis.com/auth/userinfo.{name}" for name in ("email", "profile")}
"""Under which names Google grants what was asked for under a short one."""
ISSUER = "https://accounts.google.com"


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """An application as it is registered with Google."""

    client_id: str
    client_secret: str
    redirect_uris: tuple[str, ...]


@dataclass(slots=True)
class AuthorizationCode:
    """What a code stands for until it is exchanged."""

    email: str
    scope: str
    asked: Mapping[str, str]
    expires_at: float
    is_used: bool = False


class ConsentScreen:
    """The authorization endpoint, and the token endpoint's `authorization_code`."""

    def __init__(self, tokens: TokenBook, signer: Signer, clock: EmulatorClock) -> None:
        """No client is registered, nobody has consented."""
        self.client: OAuthClient | None = None
        self.subjects: dict[str, str] = {}
        """The accounts' user ids, which stay when an address changes hands."""
        self.accounts: set[str] = set()
        self._tokens, self._signer, self._clock = tokens, signer, clock
        self._codes: dict[str, AuthorizationCode] = {}
        self._lock = Lock()

    def subject_of(self, email: str) -> str:
        """The user's id: 21 digits, the same each time."""
        return self.subjects.setdefault(email, str(10**20 + int(hashlib.sha256(email.encode()).hexdigest()[:15], 16)))

    def show(self, call: Call) -> Answer:
        """`GET /o/oauth2/v2/auth`: who asks for what; a box for each scope that may be left out."""
        asked = {name: values[0] for name, values in call.query.items()}
        self._check(asked)
        boxes = "".join(
            f'<label><input type="checkbox" name="granted" value="{html.escape(scope)}" checked>'
            f"{html.escape(scope)}</label>"
            for scope in asked["scope"].split()
            if scope not in SIGN_IN
        )
        hidden = "".join(
            f'<input type="hidden" name="{html.escape(name)}" value="{html.escape(value)}">'
            for name, value in asked.items()
        )
        hint = html.escape(asked.get("login_hint", ""))
        page = (
            f'<!doctype html><title>Sign in with Google</title><form method="post" action="{call.path}">{hidden}'
            f'<input type="email" name="account" value="{hint}">{boxes}'
            '<button name="decision" value="allow">Continue</button>'
            '<button name="decision" value="deny">Cancel</button></form>'
        )
        return _page(200, page)

    def decide(self, call: Call) -> Answer:
        """The screen's form: sends the browser back with a code, or with `access_denied`."""
        form = parse_qs(call.body.decode(errors="replace"), keep_blank_values=True)
        asked = {name: values[0] for name, values in form.items()}
        granted = set(form.get("granted", ()))
        self._check(asked)
        back: Json = {"state": asked["state"]} if asked.get("state") else {}
        if asked.get("decision") != "allow":
            return self._send_back(asked, {"error": "access_denied"} | back, "denied")
        email = asked.get("account", "").lower()
        if email not in self.accounts:
            raise ApiFailure(400, "invalid_account", "Couldn't find your Google Account")
        given = (one for one in asked["scope"].split() if one in SIGN_IN or one in granted)
        scope = " ".join(FULL_NAMES.get(one, one) for one in given)
        code = f"4/0A{secrets.token_urlsafe(36)}"
        self._codes[code] = AuthorizationCode(email, scope, asked, self._clock.now() + CODE_LIVES_S)
        return self._send_back(
            asked, back | {"code": code, "scope": scope, "authuser": "0", "prompt": "consent"}, scope
        )

    def exchange(self, call: Call) -> Answer:
        """`POST /token` with `grant_type=authorization_code`: a code works once, for who asked, with its verifier."""
        form = {name: values[0] for name, values in parse_qs(call.body.decode(errors="replace")).items()}
        client = self._client(form.get("client_id", ""))
        if not secrets.compare_digest(form.get("client_secret", ""), client.client_secret):
            raise ApiFailure(401, "invalid_client", "The provided client secret is invalid.")
        with self._lock:
            found = self._codes.get(form.get("code", ""))
            if found is None or found.is_used or found.expires_at < self._clock.now():
                raise ApiFailure(400, "invalid_grant", "Malformed auth code.")
            if form.get("redirect_uri") != found.asked["redirect_uri"]:
                raise ApiFailure(400, "redirect_uri_mismatch", "Bad Request")
            _check_verifier(found.asked, form.get("code_verifier"))
            found.is_used = True
        is_offline = found.asked.get("access_type") == "offline"
        wants_refresh = is_offline and (
            "consent" in found.asked.get("prompt", "").split() or not self._tokens.has_consent(found.email)
        )
        answer = self._tokens.issue(found.email, found.scope, with_refresh=wants_refresh)
        if "openid" in found.scope.split():
            answer["id_token"] = self._signer.sign(self._claims(found, client))
        summary = {"email": found.email, "scope": found.scope, "refresh_token": wants_refresh}
        return Answer(body=answer, headers={"Cache-Control": "no-store"}, summary=summary)

    def account_of(self, body: bytes) -> str | None:
        """Whose code a token request carries, for the journal."""
        found = self._codes.get(parse_qs(body.decode(errors="replace")).get("code", [""])[0])
        return found.email if found else None

    def reset(self) -> None:
        """Forget clients, codes and users."""
        self.client = None
        self.subjects.clear()
        self.accounts.clear()
        self._codes.clear()

    def _client(self, client_id: str) -> OAuthClient:
        if self.client is None or client_id != self.client.client_id:
            raise ApiFailure(401, "invalid_client", "The OAuth client was not found.")
        return self.client

    def _check(self, asked: Mapping[str, str]) -> None:
        client = self._client(asked.get("client_id", ""))
        if asked.get("redirect_uri") not in client.redirect_uris:
            raise ApiFailure(400, "redirect_uri_mismatch", "You can't sign in to this app: redirect_uri_mismatch")
        if asked.get("response_type") != "code" or not asked.get("scope"):
            raise ApiFailure(400, "invalid_request", "Required parameter is missing: response_type, scope")
        if asked.get("code_challenge_method", "S256") not in {"S256", "plain"}:
            raise ApiFailure(400, "invalid_request", "Invalid code_challenge_method")

    def _send_back(self, asked: Mapping[str, str], answer: Mapping[str, str], what: str) -> Answer:
        location = f"{asked['redirect_uri']}?{urlencode(answer)}"
        return Answer(302, headers={"Location": location}, summary={"account": asked.get("account"), "granted": what})

    def _claims(self, code: AuthorizationCode, client: OAuthClient) -> Json:
        now = int(self._clock.now())
        claims: Json = {
            "iss": ISSUER,
            "aud": client.client_id,
            "azp": client.client_id,
            "sub": self.subject_of(code.email),
            "email": code.email,
            "email_verified": True,
            "iat": now,
            "exp": now + ID_TOKEN_LIVES_S,
        }
        return claims | ({"nonce": code.asked["nonce"]} if "nonce" in code.asked else {})


def error_page(failure: ApiFailure) -> Answer:
    """What Google shows when it cannot send the browser back."""
    return _page(failure.status, f"<!doctype html><title>Error</title><h1>Access blocked</h1>{failure.reason}")


def _check_verifier(asked: Mapping[str, str], verifier: str | None) -> None:
    challenge = asked.get("code_challenge")
    if challenge is None:
        return
    if verifier is None:
        raise ApiFailure(400, "invalid_grant", "Missing code verifier.")
    made = verifier
    if asked.get("code_challenge_method", "plain") == "S256":
        made = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    if not secrets.compare_digest(made, challenge):
        raise ApiFailure(400, "invalid_grant", "Invalid code verifier.")


def _page(status: int, content: str) -> Answer:
    return Answer(status, content.encode(), {"Content-Type": "text/html; charset=utf-8"})
