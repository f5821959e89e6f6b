"""The login server of Entra ID: tokens for applications that show a secret or a signed assertion."""

import secrets
from dataclasses import dataclass
from urllib.parse import parse_qs

import jwt
from cryptography.x509 import load_pem_x509_certificate

from sandbox.emulator.clock import EmulatorClock
from sandbox.emulator.exchange import Answer, ApiFailure, Call

LIFETIME_S = 3600
HOST = "https://login.microsoftonline.com"
"""What its documents name, whatever its own address is."""
SCOPE = "https://graph.microsoft.com/.default"


@dataclass(slots=True)
class Application:
    """One registered application; it has a secret or a certificate in PEM."""

    client_id: str
    client_secret: str = ""
    certificate: str = ""


class LoginServer:
    """All tenants. An application that was not registered gets a token for any secret."""

    def __init__(self, clock: EmulatorClock) -> None:
        """No application is registered, none is revoked."""
        self._clock = clock
        self.applications: dict[str, Application] = {}
        self.revoked: set[str] = set()
        self._tokens: dict[str, tuple[str, float]] = {}

    def endpoints(self, call: Call) -> Answer:
        """`GET /{tenant}/v2.0/.well-known/openid-configuration`."""
        base = f"{HOST}/{call.parameters['tenant']}"
        return Answer(
            body={
                "issuer": f"{base}/v2.0",
                "authorization_endpoint": f"{base}/oauth2/v2.0/authorize",
                "token_endpoint": f"{base}/oauth2/v2.0/token",
            }
        )

    def issue(self, call: Call) -> Answer:
        """`POST /{tenant}/oauth2/v2.0/token` with `grant_type=client_credentials`."""
        form = {name: values[0] for name, values in parse_qs(call.body.decode()).items()}
        if form.get("grant_type") != "client_credentials":
            raise ApiFailure(400, "unsupported_grant_type", "AADSTS70003")
        if form.get("scope", "").split(" ")[0] != SCOPE:
            raise ApiFailure(400, "invalid_scope", "AADSTS70011")
        client_id = form.get("client_id", "")
        if client_id in self.revoked:
            raise ApiFailure(401, "invalid_client", "AADSTS7000222: The provided client secret keys are expired.")
        self._check(client_id, form, f"{HOST}/{call.parameters['tenant']}/oauth2/v2.0/token")
        token = f"token-{secrets.token_urlsafe(24)}"
        self._tokens[token] = (client_id, self._clock.now() + LIFETIME_S)
        return Answer(
            body={"token_type": "Bearer", "expires_in": LIFETIME_S, "access_token": token},
            summary={"client_id": client_id, "by": "assertion" if "client_assertion" in form else "secret"},
        )

    def holder(self, token: str) -> str:
        """The application whose token it is; refused when it expired or the application was revoked."""
        client_id, until = self._tokens.get(token, ("", 0.0))
        if not client_id or until <= self._clock.now() or client_id in self.revoked:
            raise ApiFailure(401, "InvalidAuthenticationToken", "Access token has expired or is not yet valid.")
        return client_id

    def expire(self) -> None:
        """Let every token expire."""
        self._tokens.clear()

    def reset(self) -> None:
        """As at the start."""
        self.applications.clear()
        self.revoked.clear()
        self._tokens.clear()

    def _check(self, client_id: str, form: dict[str, str], audience: str) -> None:
        known = self.applications.get(client_id)
        if known is None:
            if not client_id or not (form.get("client_secret") or form.get("client_assertion")):
                raise ApiFailure(401, "invalid_client", "AADSTS7000216: a credential is missing.")
            return
        if known.certificate:
            key = load_pem_x509_certificate(known.certificate.encode()).public_key()
            try:
                jwt.decode(
                    form.get("client_assertion", ""),
                    key,  # type: ignore[arg-type]  # a test registers no key that cannot sign
                    algorithms=["PS256", "RS256"],
                    audience=audience,
                    issuer=client_id,
                )
            except jwt.InvalidTokenError as error:
                raise ApiFailure(401, "invalid_client", "AADSTS700027: the assertion is not valid.") from error
        elif not secrets.compare_digest(known.client_secret, form.get("client_secret", "")):
            raise ApiFailure(401, "invalid_client", "AADSTS7000215: Invalid client secret provided.")
