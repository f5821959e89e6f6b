"""Whom the provider of the settings names, and what it is asked: by HTTP, without a gateway."""

import time
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from domain.jobs.failures import Forbidden, Permanent, Transient
from domain.orgs.access.operators import OperatorIdentity
from gateway.oidc.attempts import PURPOSES, OidcAttempt
from gateway.oidc.identity_provider import IdentityProvider
from sandbox.emulator.fault_order import FaultOrder
from sandbox.oidc.oidc import OidcControl
from sandbox.oidc.service import CLIENT_ID
from settings import Settings
from tests.gateway.oidc.clients import PUBLIC, with_provider

ADA = "ada@example.org"
NOW = int(time.time())

FORGED: dict[str, dict[str, Any]] = {
    "unsigned": {"signed_by": "none"},
    "signed with the public key": {"signed_by": "HS256"},
    "signed by a stranger": {"signed_by": "stranger"},
    "an algorithm that is not its own": {"signed_by": "HS256", "header": {"alg": "RS256"}},
    "signed by the key of the other kind": {"signed_by": "ES256", "header": {"kid": "rsa-1"}},
    "a key that nobody has": {"header": {"kid": "rsa-2"}},
    "a key that signs no tokens": {"signed_by": "HS256", "header": {"kid": "oct-1"}},
    "another issuer": {"claims": {"iss": "https://evil.example.org"}},
    "the issuer and more": {"claims": {"iss": ["https://evil.example.org"]}},
    "no issuer": {"claims": {"iss": None}},
    "another client": {"claims": {"aud": "another"}},
    "no client": {"claims": {"aud": None}},
    "clients that are none": {"claims": {"aud": [1, 2]}},
    "for us by another client": {"claims": {"azp": "another"}},
    "for several by nobody": {"claims": {"aud": [CLIENT_ID, "another"]}},
    "too old": {"claims": {"exp": NOW - 3600}},
    "without an end": {"claims": {"exp": None}},
    "an end without an end": {"claims": {"exp": "never"}},
    "an infinite end": {"claims": {"exp": 1e400}},
    "from tomorrow": {"claims": {"iat": NOW + 86_400}},
    "good from tomorrow on": {"claims": {"nbf": NOW + 86_400}},
    "of another attempt": {"claims": {"nonce": "x" * 43}},
    "of no attempt": {"claims": {"nonce": None}},
    "an attempt that is no text": {"claims": {"nonce": {"a": 1}}},
    "an address that nobody has verified": {"claims": {"email_verified": False}},
    "an address that may be verified": {"claims": {"email_verified": "true"}},
    "an address of which nothing is said": {"claims": {"email_verified": None}},
    "no address": {"claims": {"email": None}},
    "an address that is none": {"claims": {"email": [ADA]}},
    "nobody": {"claims": {"sub": None}},
    "an empty name": {"claims": {"sub": ""}},
    "too long": {"claims": {"more": "x" * 20_000}},
    "an extension that must be understood": {"header": {"crit": ["exp"], "exp": 1}},
}

FAULTS = {
    "never answers": FaultOrder(times=None, drop="before"),
    "is broken": FaultOrder(times=None, status=500),
    "sends elsewhere": FaultOrder(times=None, status=302, headers={"Location": "http://127.0.0.1:9/"}),
    "says nothing": FaultOrder(times=None, status=200, text=""),
    "says no JSON": FaultOrder(times=None, status=200, text="<html>"),
    "says something else": FaultOrder(times=None, status=200, text='{"keys": 1}'),
    "says what nests": FaultOrder(times=None, status=200, text="[" * 100_000),
    "says too much": FaultOrder(times=None, status=200, text='{"keys": [], "x": "' + "x" * 10_000_000 + '"}'),
    "breaks off": FaultOrder(times=None, ending="cut"),
}


@pytest.fixture
def asked(provider: OidcControl) -> IdentityProvider:
    return IdentityProvider(with_provider(Settings(), provider.url))


def identified(asked: IdentityProvider) -> OperatorIdentity:
    """Whom the provider names at the end of an attempt, without a gateway."""
    attempt = OidcAttempt.begin("")
    back = parse_qs(urlsplit(httpx2.get(asked.screen(attempt, "sign-in")).headers["location"]).query)
    return asked.identify(attempt, "sign-in", back["code"][0])


@pytest.mark.parametrize("signed_by", ["RS256", "ES256"])
@pytest.mark.parametrize(
    "claims", [{}, {"aud": [CLIENT_ID]}, {"aud": [CLIENT_ID, "another"], "azp": CLIENT_ID}, {"auth_time": None}]
)
def test_a_good_token_names_somebody(
    asked: IdentityProvider, provider: OidcControl, signed_by: str, claims: dict[str, Any]
) -> None:
    provider.order_tokens(signed_by=signed_by, claims=claims)
    found = identified(asked)
    assert found.email == ADA
    assert (found.authenticated_at is None) is ("auth_time" in claims)


@pytest.mark.parametrize("order", FORGED.values(), ids=FORGED)
def test_a_forged_token_names_nobody(asked: IdentityProvider, provider: OidcControl, order: dict[str, Any]) -> None:
    provider.order_tokens(**order)
    with pytest.raises(Forbidden) as refusal:
        identified(asked)
    assert ADA not in str(refusal.value)


@pytest.mark.parametrize("operation", ["oidc.document", "oidc.token", "oidc.keys"])
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_provider_that_does_not_answer_names_nobody(
    asked: IdentityProvider, provider: OidcControl, operation: str, fault: FaultOrder
) -> None:
    provider.order(replace(fault, operation=operation))
    with pytest.raises(Transient):
        identified(asked)


@given(st.text(max_size=300))
def test_an_attempt_is_read_from_its_cookie_and_no_word_tells_another(after: str) -> None:
    attempt = OidcAttempt.begin(after.encode(errors="replace").decode())
    assert OidcAttempt.read(attempt.cookie) == attempt
    words = [attempt.word(use, purpose) for use in ("state", "nonce", "verifier") for purpose in PURPOSES]
    assert len({*words, attempt.secret}) == 7
    assert [attempt.purpose_of(one) for one in words[:2]] == list(PURPOSES)
    assert {attempt.purpose_of(one) for one in (*words[2:], after)} == {None}


@pytest.mark.parametrize("operation", ["oidc.document", "oidc.token", "oidc.keys"])
def test_a_provider_that_hangs_is_given_up(provider: OidcControl, operation: str) -> None:
    provider.order(FaultOrder(times=None, operation=operation, hang_s=60))
    with pytest.raises(Transient):
        identified(IdentityProvider(with_provider(Settings(), provider.url), within_s=0.2))


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://evil.example.org"},
        {"token_endpoint": "ftp://example.org"},
        {"jwks_uri": "keys"},
        {"authorization_endpoint": "javascript:alert(1)"},
    ],
)
def test_a_document_of_another_issuer_is_none(
    asked: IdentityProvider, provider: OidcControl, document: dict[str, str]
) -> None:
    provider.set_document(**document)
    with pytest.raises(Permanent):
        identified(asked)


@pytest.mark.parametrize("methods", [["client_secret_post"], ["client_secret_basic", "private_key_jwt"]])
def test_the_client_shows_its_secret_as_the_provider_takes_it(
    asked: IdentityProvider, provider: OidcControl, methods: list[str]
) -> None:
    provider.set_document(token_endpoint_auth_methods_supported=methods)
    assert identified(asked).email == ADA


def test_a_secret_that_the_provider_does_not_take_is_a_fault_of_the_settings(provider: OidcControl) -> None:
    wrong = with_provider(Settings(), provider.url).model_copy(update={"oidc_client_secret": SecretStr("another")})
    with pytest.raises(Permanent, match="id and secret"):
        identified(IdentityProvider(wrong))


@pytest.mark.parametrize("missing", ["oidc_issuer", "oidc_client_id", "oidc_client_secret", "public_url"])
def test_half_a_provider_is_refused_at_the_start(missing: str) -> None:
    wanted = {
        "oidc_issuer": "https://login.example.org", "oidc_client_id": "a", "oidc_client_secret": "b",
        "public_url": PUBLIC,
    }  # fmt: skip
    assert Settings.model_validate(wanted).oidc_client_id == "a"
    with pytest.raises(ValidationError, match=f"{missing}: must be set"):
        Settings.model_validate({**wanted, missing: ""})


@pytest.mark.parametrize(
    "issuer", ["login.example.org", "ftp://login.example.org", "https://login.example.org?x=1", "http://", "https://["]
)
def test_an_issuer_that_is_no_address_is_refused_at_the_start(issuer: str) -> None:
    with pytest.raises(ValidationError, match="oidc_issuer"):
        Settings(oidc_issuer=issuer, oidc_client_id="a", oidc_client_secret=SecretStr("b"), public_url=PUBLIC)


def test_a_provider_without_tls_is_for_development() -> None:
    with pytest.raises(ValidationError, match="oidc_issuer"):
        Settings(
            environment="production", sealing_keys=SecretStr("a key of this installation"), public_url=PUBLIC,
            oidc_issuer="http://login.example.org", oidc_client_id="a", oidc_client_secret=SecretStr("b"),
        )  # fmt: skip
