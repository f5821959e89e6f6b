"""Access tokens of an application of an org's own, by `msal` over our HTTP client (docs: graph.md#tokens).

The package signs certificates' assertions and keeps tokens. It makes no request of its own choice: instance discovery
and regions are off, addresses other than the login server's are refused, and answers that are neither a token nor a
refusal of the credentials become failures before it sees them.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Self
from urllib.parse import urlencode

import msal
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509 import load_pem_x509_certificate
from pydantic import SecretStr

from domain.jobs.failures import Failure, Invalid, Transient, Unauthorised
from providers.microsoft.failures import PROVIDER, failure_of_tokens
from providers.rest_client import RestAnswer, RestClient, unreadable, utc_now

AUTHORITY = "https://login.microsoftonline.com"
"""The server that msal is told of: it takes no address without TLS, as an emulator's is."""
SCOPES = ("https://graph.microsoft.com/.default",)
"""What the application was granted; `Mail.ReadWrite` and `Mail.Send` are needed (docs: graph.md#tokens)."""

REFUSALS = frozenset({400, 401})
"""Statuses of the token endpoint that speak of the credentials (RFC 6749 section 5.2)."""
PASSING = frozenset({"temporarily_unavailable", "server_error"})

FIELDS = ("tenant_id", "client_id", "client_secret", "private_key", "certificate")

_TENANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,99}")
_ANY_TENANT = frozenset({"common", "organizations", "consumers"})
_WORD = re.compile(r"[a-z][a-z_]{0,63}")
_TOKEN = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class MicrosoftCredential:
    """How an org's application proves who it is: a secret, or a certificate with its private key."""

    tenant_id: str
    client_id: str
    client_secret: SecretStr | None = None
    private_key: SecretStr | None = None
    certificate: str | None = field(default=None, repr=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read `tenant_id`, `client_id`, and either `client_secret` or `private_key` and `certificate` (both PEM).

        Raises `Invalid` with the field that is wrong; no value is quoted.
        """
        found = _texts_of(text)
        for name in ("tenant_id", "client_id"):
            if not _TENANT.fullmatch(found.get(name, "")):
                raise Invalid(name, "must be an id such as 7c9e6679-7425-40de-944b-e07fc1f90ae7")
        if found["tenant_id"].lower() in _ANY_TENANT:
            raise Invalid("tenant_id", "must be one tenant: an application signs in to no group of them")
        _check_proof(found)
        secret, key = found.get("client_secret"), found.get("private_key")
        return cls(
            found["tenant_id"],
            found["client_id"],
            SecretStr(secret) if secret else None,
            SecretStr(key) if key else None,
            found.get("certificate"),
        )

    def for_msal(self) -> str | dict[str, str]:
        """As the package takes it."""
        if self.private_key is None or self.certificate is None:
            return self.client_secret.get_secret_value() if self.client_secret else ""
        return {"private_key": self.private_key.get_secret_value(), "public_certificate": self.certificate}


class AccessToken(NamedTuple):
    """A token, and whether it came just now or was kept."""

    value: SecretStr
    is_fresh: bool


class MicrosoftTokens:
    """Gets and keeps the tokens of one application; safe to share between threads.

    Two threads without a token each get one: both are good, and no thread waits for another's call.
    """

    def __init__(
        self,
        credential: MicrosoftCredential,
        *,
        account: str,
        login_url: str,
        client: RestClient,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """`account` names whose credentials they are, for `Unauthorised`."""
        self._credential = credential
        self._http = _LoginServer(client, login_url.rstrip("/"), account, clock)
        self._account = account
        self._application: Any = None

    def get(self) -> AccessToken:
        """A token for Graph, kept or fresh; raises `Unauthorised` when the credentials are refused."""
        found = self._known_application().acquire_token_for_client(scopes=list(SCOPES))
        token = found.get("access_token")
        if isinstance(token, str) and _TOKEN.fullmatch(token):
            return AccessToken(SecretStr(token), found.get("token_source") != "cache")
        raise refusal(found.get("error"), self._account)

    def forget(self) -> None:
        """Drop the kept token: Graph has refused it."""
        if self._application is not None:
            self._application.remove_tokens_for_client()

    def _known_application(self) -> Any:  # noqa: ANN401 - msal ships no types
        if self._application is None:
            self._application = msal.ConfidentialClientApplication(
                self._credential.client_id,
                client_credential=self._credential.for_msal(),
                authority=f"{AUTHORITY}/{self._credential.tenant_id}",
                instance_discovery=False,
                azure_region=msal.ConfidentialClientApplication.DISABLE_MSAL_FORCE_REGION,
                http_client=self._http,
            )
        return self._application


def refusal(word: object, account: str) -> Failure:
    """Our failure for what the token endpoint says; pure."""
    told = word if isinstance(word, str) and _WORD.fullmatch(word) else "no_token"
    reason = f"{PROVIDER}: no token, {told}"
    if told in PASSING:
        return Transient(reason, code=f"{PROVIDER}.{told}")
    return Unauthorised(reason, account=account, code=f"{PROVIDER}.{told}")


class _Response(NamedTuple):
    """The shape msal expects of a response."""

    status_code: int
    text: str
    headers: Mapping[str, str]


class _LoginServer:
    """msal's HTTP client; each request is bounded and metered, and nothing is asked twice."""

    def __init__(self, client: RestClient, url: str, account: str, clock: Callable[[], datetime]) -> None:
        self._client = client
        self._url = url
        self._account = account
        self._clock = clock

    def get(self, url: str, **_options: object) -> _Response:
        """Where the tenant's endpoints are."""
        answer = self._ask("tokens.endpoints", "GET", url, {}, None)
        if not answer.is_success:
            raise refusal("no_such_tenant", self._account)
        return self._readable(answer)

    def post(self, url: str, data: Mapping[str, str], headers: Mapping[str, str], **_options: object) -> _Response:
        """A token for the credentials."""
        sent = {**headers, "Content-Type": "application/x-www-form-urlencoded"}
        return self._readable(self._ask("tokens.get", "POST", url, sent, urlencode(data).encode()))

    def close(self) -> None:
        """The client is closed by its owner."""

    def _ask(self, operation: str, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> RestAnswer:
        if not url.startswith(f"{AUTHORITY}/"):
            raise unreadable(PROVIDER, 200)
        answer = self._client.call(
            operation, method, self._url + url.removeprefix(AUTHORITY), headers=headers, body=body
        )
        failure = None if answer.status in REFUSALS else failure_of_tokens(answer, self._clock())
        if failure is not None:
            raise failure
        return answer

    @staticmethod
    def _readable(answer: RestAnswer) -> _Response:
        # msal logs an answer that is no JSON, with a token that may be in it.
        if not isinstance(answer.document, dict):
            raise unreadable(PROVIDER, answer.status)
        return _Response(answer.status, answer.body.decode(errors="replace"), answer.headers)


def _texts_of(text: str) -> dict[str, str]:
    """The fields of the credentials, each of them known and a text."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Invalid("credentials", "must be a JSON object")
    for name, value in found.items():
        if name not in FIELDS:
            raise Invalid("credentials", f"have a field that is not known; known are {', '.join(FIELDS)}")
        if not isinstance(value, str) or not value.strip():
            raise Invalid(name, "must be a text that is not empty")
    return found


def _check_proof(found: Mapping[str, str]) -> None:
    if "client_secret" in found:
        if "private_key" in found or "certificate" in found:
            raise Invalid("client_secret", "is given beside a certificate; one of them is enough")
        return
    if "private_key" not in found or "certificate" not in found:
        raise Invalid("client_secret", "is missing, and so is a private_key with its certificate")
    try:
        key = load_pem_private_key(found["private_key"].encode(), password=None)
    except (ValueError, TypeError):
        raise Invalid("private_key", "is no private key in PEM without a password") from None
    try:
        certificate = load_pem_x509_certificate(found["certificate"].encode())
    except ValueError:
        raise Invalid("certificate", "is no certificate in PEM") from None
    if certificate.public_key() != key.public_key():
        raise Invalid("certificate", "belongs to another private_key")
