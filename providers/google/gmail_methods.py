"""The Gmail API's methods, which Google's client makes from the API's description: once per process."""

from dataclasses import dataclass
from functools import cache
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


API_ROOT = "https://gmail.googleapis.com/"
"""How the addresses of all requests begin."""


@cache
def gmail_methods() -> GmailMethods:
    """The methods, whose requests are for Google's own host.

    Making them costs Google's client 9 ms of CPU. Threads may share them and a fork may inherit them, unlike a
    connection (docs: google-client.md#threads-and-processes).
    """
    # The client wants a connection here, too. This one is never used, and so never opened.
    users = build("gmail", "v1", http=Http(), cache_discovery=False).users()
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
