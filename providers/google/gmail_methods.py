"""The Gmail API's methods, which Google's client makes from the API's description: once per process and endpoint."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from googleapiclient.discovery import build
from httplib2 import Http


@dataclass(frozen=True, slots=True)
class GmailMethods:
    """Makes requests. None holds a connection: the sender of a request brings one (`HttpRequest.execute(http=...)`)."""

    users: Any
    history: Any
    messages: Any
    attachments: Any
    threads: Any
    labels: Any
    drafts: Any
    send_as: Any


@lru_cache(maxsize=8)
def gmail_methods(endpoint: str | None) -> GmailMethods:
    """The methods for one endpoint; None stands for Google's own.

    Making them costs Google's client 9 ms of CPU. Threads may share them and a fork may inherit them, unlike a
    connection (docs: google-client.md#threads-and-processes).
    """
    options = {"api_endpoint": endpoint.rstrip("/") + "/"} if endpoint else None
    # The client wants a connection here, too. This one is never used, and so never opened.
    users = build("gmail", "v1", http=Http(), cache_discovery=False, client_options=options).users()
    messages = users.messages()
    return GmailMethods(
        users=users,
        history=users.history(),
        messages=messages,
        attachments=messages.attachments(),
        threads=users.threads(),
        labels=users.labels(),
        drafts=users.drafts(),
        send_as=users.settings().sendAs(),
    )
