"""One call to Microsoft Graph about one mailbox, under a token of the application (docs: graph.md)."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

from domain.jobs.failures import Failure
from providers.microsoft.failures import PROVIDER, CallFacts, failure_of
from providers.microsoft.tokens import MicrosoftTokens
from providers.rest_client import RestAnswer, RestClient, unreadable, utc_now

IMMUTABLE = {"Prefer": 'IdType="ImmutableId"'}
"""Ids that outlive a move between folders (https://learn.microsoft.com/en-us/graph/outlook-immutable-id). At the send
some change all the same (docs: graph.md#finding)."""
JSON = "application/json"


class GraphClient:
    """The messages of one mailbox; safe to share between threads. Nothing is repeated."""

    def __init__(
        self,
        rest: RestClient,
        tokens: MicrosoftTokens,
        *,
        mailbox: str,
        graph_url: str,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """`mailbox` is the address or the id of the user whose mailbox it is."""
        self._rest = rest
        self._tokens = tokens
        self._mailbox = mailbox
        self._url = f"{graph_url.rstrip('/')}/users/{quote(mailbox, safe='@')}"
        self._clock = clock

    def get(self, operation: str, path: str, **query: str) -> dict[str, Any]:
        """Read; `query` are OData's options without their `$`."""
        options = urlencode({f"${name}": value for name, value in query.items()}, quote_via=quote)
        return document_of(self.call(operation, "GET", f"{path}?{options}"))

    def call(
        self, operation: str, method: str, path: str, body: bytes | None = None, content_type: str = JSON
    ) -> RestAnswer:
        """Make one call; raises for every answer but a 2xx. A token that Graph refuses is dropped."""
        token = self._tokens.get()
        headers = {"Authorization": f"Bearer {token.value.get_secret_value()}", **IMMUTABLE}
        if body is not None:
            headers["Content-Type"] = content_type
        answer = self._rest.call(operation, method, self._url + path, headers=headers, body=body)
        if answer.status == HTTPStatus.UNAUTHORIZED:
            self._tokens.forget()
        self.check(answer, is_token_fresh=token.is_fresh)
        return answer

    def call_unsigned(
        self, operation: str, method: str, url: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> RestAnswer:
        """A call to an address that grants access by itself; the answer is the caller's to judge."""
        return self._rest.call(operation, method, url, headers=headers, body=body)

    def check(self, answer: RestAnswer, *, is_token_fresh: bool = True) -> None:
        """Raise our failure for an answer that is no success."""
        failure: Failure | None = failure_of(answer, CallFacts(self._mailbox, self._clock(), is_token_fresh))
        if failure is not None:
            raise failure

    @property
    def scheme(self) -> str:
        """`https`, but for an emulator."""
        return self._url.partition(":")[0]


def document_of(answer: RestAnswer) -> dict[str, Any]:
    """The answer's JSON object."""
    document = answer.document
    if not isinstance(document, dict):
        raise unreadable(PROVIDER, answer.status)
    return document


def items_of(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The objects of a listing."""
    items = document.get("value")
    if not isinstance(items, list) or not all(isinstance(one, dict) for one in items):
        raise unreadable(PROVIDER, 200)
    return items


def path_of(message_id: str) -> str:
    """The path of a message; ids hold slashes and equality signs."""
    return f"/messages/{quote(message_id, safe='')}"


def json_bytes(document: Mapping[str, Any]) -> bytes:
    """A request's body."""
    return json.dumps(document).encode()
