"""An OpenID Connect provider's document, screen, token endpoint and keys; a code works once, with its verifier."""

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from sandbox.emulator.clock import EmulatorClock
from sandbox.emulator.exchange import Answer, ApiFailure, Call, Json, Route

CLIENT_ID, CLIENT_SECRET = "postroom-console", "an oidc: secret"
TOKEN_LASTS_S = 300
KEY_IDS: Mapping[str, str] = {"RS256": "rsa-1", "ES256": "ec-1"}


@cache
def key_of(name: str) -> Any:  # noqa: ANN401 - the package's two kinds of private keys
    """A private key: the provider's by its algorithm, or a stranger's of the same kind."""
    if name.startswith("ES"):
        return ec.generate_private_key(ec.SECP256R1())
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def jwk_of(name: str, key_id: str) -> Json:
    """The public part of a key, as a JWK Set has it."""
    algorithm = ECAlgorithm if name.startswith("ES") else RSAAlgorithm
    return {**algorithm.to_jwk(key_of(name).public_key(), as_dict=True), "kid": key_id, "use": "sig"}


@dataclass(slots=True)
class TokenOrder:
    """How the next id tokens are to look."""

    claims: Json = field(default_factory=dict)
    """In the place of the right ones; null leaves one out."""
    header: Json = field(default_factory=dict)
    signed_by: str = "RS256"
    """`RS256`, `ES256`, `none`, a `stranger` of the same key id, `HS256` with the public key as its secret."""


@dataclass(frozen=True, slots=True)
class _Code:
    redirect_uri: str
    challenge: str
    nonce: str
    auth_time: int


class OidcService:
    """One provider with one client; whoever is at its screen is signed in already, and allows everything."""

    def __init__(self) -> None:
        """Begin with a person who has no address."""
        self.clock = EmulatorClock()
        self.url = ""
        self.person: Json = {}
        self.order = TokenOrder()
        self.document: Json = {}
        """Fields of the document in the place of the right ones."""
        self.signed_in_ago_s = 0
        """How long ago the person signed in at the provider."""
        self.heeds_prompt = True
        self._codes: dict[str, _Code] = {}
        self._lock = Lock()
        self.routes: Sequence[Route] = (
            Route("GET", "/.well-known/openid-configuration", "oidc.document", self.describe),
            Route("GET", "/authorize", "oidc.authorize", self.authorize),
            Route("POST", "/token", "oidc.token", self.exchange),
            Route("GET", "/keys", "oidc.keys", self.list_keys),
        )

    def identify(self, call: Call) -> str | None:
        """The client at the token endpoint, by its secret."""
        if call.path != "/token":
            return None
        scheme, _, proof = call.headers.get("authorization", "").partition(" ")
        if scheme == "Basic":
            given = tuple(map(unquote, base64.b64decode(proof).decode().split(":", 1)))
        else:
            form = parse_qs(call.body.decode())
            given = (form.get("client_id", [""])[0], form.get("client_secret", [""])[0])
        if given != (CLIENT_ID, CLIENT_SECRET):
            raise ApiFailure(401, "invalid_client", "the client is not known by that secret")
        return CLIENT_ID

    @contextmanager
    def admit(self, call: Call) -> Iterator[None]:  # noqa: ARG002 - the frame's signature
        """No limit but those that are ordered."""
        yield

    def render(self, call: Call, failure: ApiFailure) -> Answer:  # noqa: ARG002 - as above
        """OAuth's error."""
        body = {"error": failure.reason, "error_description": failure.message}
        return Answer(failure.status, body, failure.headers)

    def describe(self, _call: Call) -> Answer:
        """`GET /.well-known/openid-configuration`."""
        right = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            "response_types_supported": ["code"],
        }
        return Answer(body=right | self.document)

    def authorize(self, call: Call) -> Answer:
        """`GET /authorize`: sends the browser back at once."""
        asked = {name: values[0] for name, values in call.query.items()}
        wanted = {"client_id": CLIENT_ID, "response_type": "code", "code_challenge_method": "S256"}
        wrong = [name for name, value in wanted.items() if asked.get(name) != value]
        if wrong or "openid" not in asked.get("scope", "").split() or len(asked.get("code_challenge", "")) != 43:  # noqa: PLR2004 - of SHA-256
            raise ApiFailure(400, "invalid_request", f"wrong: {', '.join(wrong) or 'scope or challenge'}")
        now, asks = int(self.clock.now()), asked.get("prompt") == "login" and self.heeds_prompt
        code = secrets.token_urlsafe(16)
        with self._lock:
            at = now if asks else now - self.signed_in_ago_s
            self._codes[code] = _Code(asked["redirect_uri"], asked["code_challenge"], asked.get("nonce", ""), at)
        back = urlencode({"code": code, "state": asked.get("state", ""), "iss": self.url, "session_state": "x"})
        return Answer(302, headers={"Location": f"{asked['redirect_uri']}?{back}"})

    def exchange(self, call: Call) -> Answer:
        """`POST /token`: an id token for a code, once."""
        form = {name: values[0] for name, values in parse_qs(call.body.decode()).items()}
        with self._lock:
            found = self._codes.pop(form.get("code", ""), None)
        made = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(made).rstrip(b"=").decode()
        is_good = found is not None and (found.redirect_uri, found.challenge) == (form.get("redirect_uri"), challenge)
        if found is None or not is_good or form.get("grant_type") != "authorization_code":
            raise ApiFailure(400, "invalid_grant", "the code is not good")
        token = self._token(found)
        return Answer(body={"access_token": secrets.token_urlsafe(16), "token_type": "Bearer", "id_token": token})

    def list_keys(self, _call: Call) -> Answer:
        """`GET /keys`: the keys that sign, and one that does something else."""
        keys = [jwk_of(name, key_id) for name, key_id in KEY_IDS.items()]
        other = {"kty": "oct", "kid": "oct-1", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldA"}
        return Answer(body={"keys": [*keys, other]})

    def reset(self) -> None:
        """No codes, right tokens, real time."""
        with self._lock:
            self._codes.clear()
        self.person, self.order, self.document = {}, TokenOrder(), {}
        self.signed_in_ago_s, self.heeds_prompt = 0, True
        self.clock.reset()

    def close(self) -> None:
        """Nothing runs in the background."""

    def _token(self, code: _Code) -> str:
        now = int(self.clock.now())
        right = {
            "iss": self.url, "aud": CLIENT_ID, "iat": now, "exp": now + TOKEN_LASTS_S, "nonce": code.nonce,
            "auth_time": code.auth_time, **self.person,
        }  # fmt: skip
        claims = {name: value for name, value in (right | self.order.claims).items() if value is not None}
        return _signed(claims, self.order)


def _signed(claims: Json, order: TokenOrder) -> str:
    """A token of these claims; what no package would encode is encoded, too."""
    payload, by = json.dumps(claims).encode(), order.signed_by
    if by == "HS256":
        # What everybody may read, as the secret: the package would not sign with it.
        head = {"alg": by, "kid": KEY_IDS["RS256"], **order.header}
        text = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in (json.dumps(head).encode(), payload))
        public = key_of("RS256").public_key()
        secret = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        made = hmac.digest(secret, text, "sha256")
        return f"{text.decode()}.{base64.urlsafe_b64encode(made).rstrip(b'=').decode()}"
    algorithm = {"stranger": "RS256"}.get(by, by)
    headers = {"kid": KEY_IDS.get(algorithm, KEY_IDS["RS256"]), **order.header}
    return jwt.PyJWS().encode(payload, "" if by == "none" else key_of(by), algorithm=algorithm, headers=headers)
