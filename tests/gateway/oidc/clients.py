"""A client of the emulated provider, as an installation is set up for it."""

from pydantic import SecretStr

from sandbox.oidc.service import CLIENT_ID, CLIENT_SECRET
from settings import Settings

PUBLIC = "https://mail.example.org"


def with_provider(settings: Settings, url: str) -> Settings:
    of_provider = {"oidc_issuer": url, "oidc_client_id": CLIENT_ID, "oidc_client_secret": SecretStr(CLIENT_SECRET)}
    return settings.model_copy(update={"public_url": PUBLIC, **of_provider})
