"""The emulator of a provider refuses what a provider refuses, so that a client that passes on it proves something."""

import base64
import hashlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import jwt
import pytest

from sandbox.oidc.oidc import OidcControl, oidc_emulator
from sandbox.oidc.service import CLIENT_ID, CLIENT_SECRET

BACK = "https://mail.example.org/back"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
ASKED = {
    "response_type": "code", "client_id": CLIENT_ID, "redirect_uri": BACK, "scope": "openid email", "state": "s",
    "nonce": "n", "code_challenge": CHALLENGE, "code_challenge_method": "S256",
}  # fmt: skip


@pytest.fixture
def provider() -> Iterator[OidcControl]:
    with oidc_emulator() as emulator:
        control = OidcControl(emulator.url)
        control.set_person("ada@example.org")
        yield control


def code_of(provider: OidcControl) -> str:
    sent = httpx2.get(f"{provider.url}/authorize", params=ASKED)
    return parse_qs(urlsplit(sent.headers["location"]).query)["code"][0]


def exchanged(provider: OidcControl, code: str, secret: str = CLIENT_SECRET, **change: str) -> httpx2.Response:
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK, "code_verifier": VERIFIER}
    return httpx2.post(f"{provider.url}/token", data=form | change, auth=(CLIENT_ID, secret))


@pytest.mark.parametrize("signed_by", ["RS256", "ES256"])
def test_a_code_gives_a_token_once(provider: OidcControl, signed_by: str) -> None:
    provider.order_tokens(signed_by=signed_by)
    code = code_of(provider)
    token = exchanged(provider, code).json()["id_token"]
    keys = {one["kid"]: one for one in httpx2.get(f"{provider.url}/keys").json()["keys"]}
    key = jwt.PyJWK(keys[jwt.get_unverified_header(token)["kid"]])
    claims: dict[str, Any] = jwt.decode(token, key, audience=CLIENT_ID, issuer=provider.url)
    assert (claims["email"], claims["email_verified"], claims["nonce"]) == ("ada@example.org", True, "n")
    again = exchanged(provider, code)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")


@pytest.mark.parametrize("change", [{"code_verifier": "w" * 43}, {"redirect_uri": "https://evil.example.org"}])
def test_a_code_is_for_whoever_asked_for_it(provider: OidcControl, change: dict[str, str]) -> None:
    assert exchanged(provider, code_of(provider), **change).json()["error"] == "invalid_grant"


def test_the_client_shows_its_secret(provider: OidcControl) -> None:
    refused = exchanged(provider, code_of(provider), secret="another")
    assert (refused.status_code, refused.json()["error"]) == (401, "invalid_client")


@pytest.mark.parametrize("name", ["client_id", "response_type", "scope", "code_challenge", "code_challenge_method"])
def test_a_screen_is_asked_for_in_full(provider: OidcControl, name: str) -> None:
    assert httpx2.get(f"{provider.url}/authorize", params=ASKED | {name: "x"}).status_code == 400
