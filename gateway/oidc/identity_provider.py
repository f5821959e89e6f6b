"""The provider at which operators have an account: found by its issuer, and asked with bounds.

Its document and its keys are kept while they are fresh. A call takes 10 s at most, reads 2 MB of an answer and follows
no redirect.
"""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlencode

from pydantic import BaseModel, ValidationError

from domain.jobs.failures import Forbidden, Permanent, Transient
from domain.jobs.urls.origins import is_address
from domain.orgs.access.operators import PROVIDER_RETURN, OperatorIdentity
from gateway.oidc.attempts import OidcAttempt, Purpose
from gateway.oidc.id_tokens import ALGORITHMS, ExpectedToken, check_id_token
from providers.google.certificates import CertificateStore
from providers.rest_client import RestAnswer, RestClient
from settings import Settings

ANSWER_WITHIN_S = 10.0
"""A person waits in front of an empty page."""
DOCUMENT = "document"
"""By what the one document of an issuer is kept."""
CODE_REFUSED, CLIENT_REFUSED = (400,), (401, 403)
TOO_MANY = 429


class ProviderDocument(BaseModel):
    """What the provider says of itself (OpenID Connect Discovery 1.0)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    token_endpoint_auth_methods_supported: Sequence[str] = ("client_secret_basic",)


class IdentityProvider:
    """The provider of the settings; shared by the threads of a gateway. Nothing is asked before it is needed."""

    def __init__(self, settings: Settings, *, within_s: float = ANSWER_WITHIN_S) -> None:
        """For the client of this installation; `within_s` bounds each call."""
        self.issuer = settings.oidc_issuer
        self._client_id, self._secret = settings.oidc_client_id, settings.oidc_client_secret
        self._redirect_uri = settings.public_url + PROVIDER_RETURN
        self._documents = CertificateStore(timeout_s=within_s, read=_document)
        self._keys = CertificateStore(timeout_s=within_s, read=_keys)
        self._client = RestClient("oidc", timeout_s=within_s, meter=_unmetered)

    @classmethod
    def of(cls, settings: Settings) -> "IdentityProvider | None":
        """The provider that is set; None where there is none."""
        return cls(settings) if settings.oidc_issuer else None

    def screen(self, attempt: OidcAttempt, purpose: Purpose) -> str:
        """Where the browser goes. For a proof the provider has to ask the person anew.

        Raises `Transient` where the provider does not answer, `Permanent` where it is another than the settings say.
        """
        address = self._found().authorization_endpoint
        asked = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": self._redirect_uri,
            "scope": "openid email",
            "state": attempt.word("state", purpose),
            "nonce": attempt.word("nonce", purpose),
            "code_challenge": attempt.challenge(purpose),
            "code_challenge_method": "S256",
            **({"prompt": "login", "max_age": "0"} if purpose == "proof" else {}),
        }
        return f"{address}{'&' if '?' in address else '?'}{urlencode(asked)}"

    def identify(self, attempt: OidcAttempt, purpose: Purpose, code: str) -> OperatorIdentity:
        """Exchange a code, in one request, for who has come back.

        Raises as `screen`, and `Forbidden` for a code that is not good and an id token that is not for this attempt.
        """
        found = self._found()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect_uri,
            "code_verifier": attempt.word("verifier", purpose),
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        secret = self._secret.get_secret_value()
        if "client_secret_basic" in found.token_endpoint_auth_methods_supported:
            proof = f"{quote(self._client_id, safe='')}:{quote(secret, safe='')}".encode()
            headers["Authorization"] = f"Basic {b64encode(proof).decode()}"
        else:
            form |= {"client_id": self._client_id, "client_secret": secret}
        answer = self._client.call(
            "token", "POST", found.token_endpoint, headers=headers, body=urlencode(form).encode()
        )
        return check_id_token(
            _id_token(answer),
            lambda key_id: self._keys.certificates(found.jwks_uri, key_id),
            ExpectedToken(self.issuer, self._client_id, attempt.word("nonce", purpose)),
        )

    def _found(self) -> ProviderDocument:
        address = f"{self.issuer.removesuffix('/')}/.well-known/openid-configuration"
        found = ProviderDocument.model_validate_json(self._documents.certificates(address, DOCUMENT)[DOCUMENT])
        if found.issuer != self.issuer:
            raise Permanent("the provider's document names another issuer than the settings", code="oidc.issuer")
        # A plain issuer is on this machine, in development.
        schemes = {"https", self.issuer.partition(":")[0]}
        if not all(
            is_address(one, schemes) for one in (found.authorization_endpoint, found.token_endpoint, found.jwks_uri)
        ):
            raise Permanent("the provider's document names an address that is none of https", code="oidc.address")
        return found


def _id_token(answer: RestAnswer) -> str:
    if answer.status in CODE_REFUSED:
        raise Forbidden("the provider does not take the code", code="oidc.code")
    if answer.status in CLIENT_REFUSED:
        raise Permanent("the provider does not take the client's id and secret", code="oidc.client")
    found = answer.word("id_token") if answer.is_success else ""
    if not found:
        raise Transient(f"the provider answers a code with status {answer.status} and no id token", code="oidc.answer")
    return found


def _document(content: bytes) -> Mapping[str, str]:
    """The document, if it is one; raises `ValueError`."""
    try:
        return {DOCUMENT: ProviderDocument.model_validate_json(content).model_dump_json()}
    except ValidationError:
        raise ValueError("no document of a provider") from None


def _keys(content: bytes) -> Mapping[str, str]:
    """The keys of a JWK Set that sign id tokens, by their ids; raises what a text of another shape raises."""
    return {
        str(one.get("kid", "")): json.dumps(one)
        for one in json.loads(content)["keys"]
        if one.get("kty") in {"RSA", "EC"} and one.get("use", "sig") == "sig" and one.get("alg") in {None, *ALGORITHMS}
    }


def _unmetered(_method: str, _units: int) -> None:
    """A sign-in is counted before it comes here."""
