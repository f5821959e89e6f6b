"""Tokens of an org's application: by secret or certificate, kept, renewed, and refused for good by the server alone."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from pydantic import SecretStr

from domain.jobs.failures import CallState, Failure, Gone, Invalid, Throttled, Transient, Unauthorised
from providers.microsoft.tokens import MicrosoftCredential
from sandbox.emulator.fault_order import FaultOrder
from sandbox.microsoft.control import MicrosoftControl
from tests.providers.emails import make_email
from tests.providers.microsoft.conftest import MAILBOX, open_sender

MAIL = make_email()


def make_certificate() -> tuple[str, str]:
    """A private key and its certificate, in PEM."""
    key = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "an application")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 7, now, now + timedelta(days=1))
    certificate = builder.sign(key, hashes.SHA256())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return private, certificate.public_bytes(Encoding.PEM).decode()


def secret(**fields: str) -> SecretStr:
    return SecretStr(json.dumps({"tenant_id": "tenant-1", "client_id": "client-1", **fields}))


def failed(url: str, given: SecretStr) -> Failure:
    with open_sender(url, given) as sender, pytest.raises(Failure) as raised:
        sender.create_draft(MAIL)
    shown = f"{raised.value!r}{raised.value.__cause__}{raised.value.__context__}"
    assert "hush" not in shown
    return raised.value


@pytest.fixture(scope="module")
def certificate() -> tuple[str, str]:
    return make_certificate()


def test_a_token_is_kept_and_renewed(control: MicrosoftControl) -> None:
    with open_sender(control.url, secret(client_secret="hush")) as sender:
        sender.create_draft(MAIL)
        sender.find_draft(MAIL)
        assert len(control.journal("login.token")) == 1
        control.expire_tokens()
        with pytest.raises(Transient) as raised:
            sender.find_draft(MAIL)
        assert (raised.value.code, raised.value.call_state) == ("microsoft.token_refused", CallState.NOT_DONE)
        assert sender.find_draft(MAIL) is not None
    assert len(control.journal("login.token")) == 2


def test_a_certificate_signs_in_and_another_does_not(control: MicrosoftControl, certificate: tuple[str, str]) -> None:
    private, public = certificate
    control.register("client-1", certificate=public)
    with open_sender(control.url, secret(private_key=private, certificate=public)) as sender:
        sender.create_draft(MAIL)
    assert control.journal("login.token")[0].summary["by"] == "assertion"
    control.register("client-1", certificate=make_certificate()[1])
    refused = failed(control.url, secret(private_key=private, certificate=public))
    assert isinstance(refused, Unauthorised)


@pytest.mark.parametrize("how", ["secret", "revoked", "mailbox"])
def test_lost_credentials_are_the_owners_to_replace(control: MicrosoftControl, how: str) -> None:
    if how == "secret":
        control.register("client-1", client_secret="another")
    elif how == "revoked":
        control.revoke("client-1")
    else:
        control.turn(MAILBOX, forbidden=True)
    lost = failed(control.url, secret(client_secret="hush"))
    assert isinstance(lost, Unauthorised)
    assert lost.account == MAILBOX
    assert control.messages(MAILBOX) == []


def test_a_fresh_token_that_graph_refuses_is_the_owners_too(control: MicrosoftControl) -> None:
    control.order(FaultOrder(operation="messages.create", status=401, reason="InvalidAuthenticationToken"))
    assert isinstance(failed(control.url, secret(client_secret="hush")), Unauthorised)


@pytest.mark.parametrize(
    ("fault", "kind", "code"),
    [
        (FaultOrder(operation="login.endpoints", status=400, reason="invalid_tenant"), Unauthorised, "no_such_tenant"),
        (FaultOrder(operation="login.endpoints", status=503), Transient, "http_503"),
        (FaultOrder(operation="login.endpoints", status=404), Gone, "no_login_server"),
        (FaultOrder(operation="login.endpoints", status=200, text="<html>"), Transient, "unreadable"),
        (
            FaultOrder(operation="login.endpoints", status=200, body={
                "token_endpoint": "https://example.net/x/token", "authorization_endpoint": "https://example.net/x"}),
            Transient, "unreadable",
        ),
        (FaultOrder(operation="login.token", status=500), Transient, "http_500"),
        (FaultOrder(operation="login.token", status=429, headers={"Retry-After": "9"}), Throttled, "tokens_limit"),
        (FaultOrder(operation="login.token", status=400, reason="invalid_grant"), Unauthorised, "invalid_grant"),
        (FaultOrder(operation="login.token", status=401, reason="Bad Word"), Unauthorised, "no_token"),
        (FaultOrder(operation="login.token", status=400, reason="temporarily_unavailable"), Transient,
         "temporarily_unavailable"),
        (FaultOrder(operation="login.token", status=200, text="<html>"), Transient, "unreadable"),
        (FaultOrder(operation="login.token", status=200, body={"scope": "none"}), Unauthorised, "no_token"),
        (FaultOrder(operation="login.token", status=200, body={"access_token": "a\r\nb", "expires_in": 3600}),
         Unauthorised, "no_token"),
        (FaultOrder(operation="login.token", drop="after"), Transient, "connection_lost"),
    ],
)  # fmt: skip
def test_what_each_answer_of_the_login_server_means(
    control: MicrosoftControl, fault: FaultOrder, kind: type[Failure], code: str
) -> None:
    control.order(fault)
    failure = failed(control.url, secret(client_secret="hush"))
    assert (type(failure), failure.code) == (kind, f"microsoft.{code}")
    assert control.messages(MAILBOX) == []


def test_nothing_but_the_login_server_and_graph_is_asked(control: MicrosoftControl) -> None:
    with open_sender(control.url, secret(client_secret="hush")) as sender:
        sender.create_draft(MAIL)
    assert [call.operation for call in control.journal()] == ["login.endpoints", "login.token", "messages.create"]


def test_credentials_are_refused_by_field(certificate: tuple[str, str]) -> None:
    private, public = certificate
    good = {"tenant_id": "tenant-1", "client_id": "client-1"}
    proof = {"client_secret": "hush"}
    for text, field in (
        ("hush", "credentials"),
        ("[]", "credentials"),
        (json.dumps(good | proof | {"tenant": "x"}), "credentials"),
        (json.dumps({"client_id": "client-1"} | proof), "tenant_id"),
        (json.dumps(good | proof | {"tenant_id": "../evil"}), "tenant_id"),
        (json.dumps(good | proof | {"tenant_id": "common"}), "tenant_id"),
        (json.dumps(good | proof | {"client_id": "a b"}), "client_id"),
        (json.dumps(good), "client_secret"),
        (json.dumps(good | {"client_secret": " "}), "client_secret"),
        (json.dumps(good | {"client_secret": 7}), "client_secret"),
        (json.dumps(good | proof | {"private_key": private, "certificate": public}), "client_secret"),
        (json.dumps(good | {"private_key": "hush", "certificate": public}), "private_key"),
        (json.dumps(good | {"private_key": private, "certificate": "hush"}), "certificate"),
        (json.dumps(good | {"private_key": private, "certificate": make_certificate()[1]}), "certificate"),
    ):
        with pytest.raises(Invalid) as refused:
            MicrosoftCredential.from_json(text)
        assert refused.value.field == field, text
        assert "hush" not in str(refused.value)


def test_credentials_do_not_show_themselves(certificate: tuple[str, str]) -> None:
    private, public = certificate
    shown = "".join(
        repr(MicrosoftCredential.from_json(one.get_secret_value()))
        for one in (secret(private_key=private, certificate=public), secret(client_secret="hush"))
    )
    assert "hush" not in shown
    assert "KEY" not in shown
    assert MicrosoftCredential("t", "c", SecretStr("hush")).for_msal() == "hush"
