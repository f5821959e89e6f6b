"""Reads the credentials at a vendor that an org keeps as a JSON object."""

import json

from pydantic import SecretStr

from domain.jobs.failures import CredentialsLost


def read_texts(provider: str, secret: SecretStr, *names: str) -> list[str]:
    """The texts of these names, none of them empty; raises `CredentialsLost`, which quotes no value."""
    try:
        found = json.loads(secret.get_secret_value())
    except (ValueError, RecursionError):
        found = None
    texts = [found.get(name) for name in names] if isinstance(found, dict) else []
    read = [text for text in texts if isinstance(text, str) and text]
    if len(read) < len(names):
        raise bad_secret(provider, f"is no JSON object with {' and '.join(names)}")
    return read


def bad_secret(provider: str, why: str) -> CredentialsLost:
    """For a secret that was never the vendor's."""
    return CredentialsLost(f"{provider}: the secret {why}", provider=provider, code=f"{provider}.bad_secret")
