"""Google's token endpoint, and the certificates for the signatures of Pub/Sub's pushes."""

import base64
import json
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Lock
from urllib.parse import parse_qs

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from sandbox.emulator.clock import EmulatorClock
from sandbox.emulator.exchange import Answer, ApiFailure, Call, Json

SCOPE = "https://www.googleapis.com/auth/gmail.modify"
LIFETIME_S = 3_599


@dataclass(slots=True)
class Grant:
    """One account's consent."""

    email: str
    refresh_token: str
    expires_in_s: int = LIFETIME_S
    rotate: bool = False
    """Whether each refresh replaces the refresh token and invalidates the old one."""
    revoked: bool = False
    scope: str = SCOPE


class TokenBook:
    """All access and refresh tokens, by account."""

    def __init__(self, clock: EmulatorClock) -> None:
        """No account has consented."""
        self._clock = clock
        self._access: dict[str, tuple[Grant, float]] = {}
        self._grants: dict[str, list[Grant]] = {}
        self._lock = Lock()

    def grant(self, email: str, access_token: str, refresh_token: str, expires_in_s: int = LIFETIME_S) -> None:
        """Consent, or consent again: the refresh token is valid, and the access token's lifetime begins."""
        with self._lock:
            grant = Grant(email, refresh_token, expires_in_s)
            self._grants[email] = [grant]
            self._access[access_token] = (grant, self._clock.now() + expires_in_s)

    def has_consent(self, email: str) -> bool:
        """Whether the account's person has let the client in and not revoked that."""
        return any(not grant.revoked for grant in self._grants.get(email, ()))

    def issue(self, email: str, scope: str, *, with_refresh: bool) -> Json:
        """Tokens for one more consent of the account; those of earlier consents stay valid, with their own scopes."""
        refresh_token = f"1//{secrets.token_urlsafe(24)}"
        with self._lock:
            grant = Grant(email, refresh_token if with_refresh else "", scope=scope)
            self._grants.setdefault(email, []).append(grant)
            return self._fresh(grant) | ({"refresh_token": refresh_token} if with_refresh else {})

    def whose(self, access_token: str) -> str | None:
        """The account of a valid access token."""
        with self._lock:
            grant, expires_at = self._access.get(access_token, (None, 0.0))
            return grant.email if grant and expires_at > self._clock.now() else None

    def scope_of(self, access_token: str) -> str:
        """What an access token lets its holder do; empty for an unknown one."""
        grant, _ = self._access.get(access_token, (None, 0.0))
        return grant.scope if grant else ""

    def grant_of(self, email: str) -> Grant:
        """An account's latest consent, to be changed by tests; 404 when there is none."""
        try:
            return self._grants[email][-1]
        except KeyError:
            raise ApiFailure(404, "notFound", f"no account {email}") from None

    def expire_access(self, email: str) -> None:
        """Invalidate every access token of the account."""
        with self._lock:
            self._access = {token: entry for token, entry in self._access.items() if entry[0].email != email}

    def revoke(self, email: str) -> None:
        """The consent is gone: access tokens become invalid and a refresh answers `invalid_grant`."""
        self.grant_of(email)
        for grant in self._grants[email]:
            grant.revoked = True
        self.expire_access(email)

    def refresh(self, refresh_token: str) -> Json:
        """A new access token for a valid refresh token."""
        with self._lock:
            grant = self._of_refresh_token(refresh_token)
            if grant is None or grant.revoked:
                raise ApiFailure(400, "invalid_grant", "Token has been expired or revoked.")
            answer = self._fresh(grant)
            if grant.rotate:
                grant.refresh_token = answer["refresh_token"] = f"1//{secrets.token_urlsafe(24)}"
            return answer

    def account_of(self, body: bytes) -> str | None:
        """The account whose refresh token a token request carries, for the journal."""
        grant = self._of_refresh_token(parse_qs(body.decode(errors="replace")).get("refresh_token", [""])[0])
        return grant.email if grant else None

    def _of_refresh_token(self, refresh_token: str) -> Grant | None:
        every = (grant for grants in self._grants.values() for grant in grants)
        return next((each for each in every if each.refresh_token and each.refresh_token == refresh_token), None)

    def _fresh(self, grant: Grant) -> Json:
        access_token = f"ya29.{secrets.token_urlsafe(24)}"
        self._access[access_token] = (grant, self._clock.now() + grant.expires_in_s)
        return {
            "access_token": access_token,
            "expires_in": grant.expires_in_s,
            "scope": grant.scope,
            "token_type": "Bearer",
        }

    def answer(self, call: Call) -> Answer:
        """`POST /token` with `grant_type=refresh_token`, form-encoded."""
        form = {name: values[0] for name, values in parse_qs(call.body.decode(errors="replace")).items()}
        if form.get("grant_type") != "refresh_token":
            raise ApiFailure(400, "unsupported_grant_type", f"Invalid grant_type: {form.get('grant_type', '')}")
        answer = self.refresh(form.get("refresh_token", ""))
        return Answer(body=answer, summary={"expires_in": answer["expires_in"], "rotated": "refresh_token" in answer})

    def reset(self) -> None:
        """Forget every consent."""
        with self._lock:
            self._access.clear()
            self._grants.clear()


class Signer:
    """A key pair whose certificate is published as `{kid: PEM}`, and the JWTs it signs."""

    def __init__(self) -> None:
        """The key is made when first needed."""
        self.kid = secrets.token_hex(20)
        self._lock = Lock()
        self._key: rsa.RSAPrivateKey | None = None

    def _private_key(self) -> rsa.RSAPrivateKey:
        with self._lock:
            if self._key is None:
                self._key = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
            return self._key

    def certificates(self) -> dict[str, str]:
        """What `/certs` answers: `{kid: PEM}`."""
        key = self._private_key()
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "federated-signon.emulator")])
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=30))
        return {self.kid: builder.sign(key, SHA256()).public_bytes(Encoding.PEM).decode()}

    def sign(self, claims: Json, kid: str | None = None) -> str:
        """A JWT signed with RS256; another `kid` names a key that is not published."""
        parts = ({"alg": "RS256", "kid": kid or self.kid, "typ": "JWT"}, claims)
        signing_input = b".".join(_segment(json.dumps(part).encode()) for part in parts)
        signature = self._private_key().sign(signing_input, padding.PKCS1v15(), SHA256())
        return (signing_input + b"." + _segment(signature)).decode()

    def answer(self, _call: Call) -> Answer:
        """`GET /certs`, with the caching header that Google sends."""
        return Answer(body=dict(self.certificates()), headers={"Cache-Control": "public, max-age=19000"})


def _segment(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
