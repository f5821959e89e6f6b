"""The vendors' own SDKs aimed at an emulator."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from google.oauth2.credentials import Credentials
from googleapiclient.discovery import build

GmailUsers = Any
"""The `users()` resource of the Gmail client, which makes its methods at run time and has no types."""


def credentials_for(url: str, token: str, refresh_token: str) -> Credentials:
    return Credentials(  # type: ignore[no-untyped-call]  # google-auth has no types
        token=token,
        refresh_token=refresh_token,
        token_uri=f"{url}/token",
        client_id="client",
        client_secret="secret",
    )


@contextmanager
def gmail_users(url: str, token: str = "access-1", refresh_token: str = "refresh-1") -> Iterator[GmailUsers]:  # noqa: S107  # made up
    credentials = credentials_for(url, token, refresh_token)
    endpoint = {"api_endpoint": f"{url}/"}
    with build("gmail", "v1", credentials=credentials, client_options=endpoint, cache_discovery=False) as service:
        yield service.users()
