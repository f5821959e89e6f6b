"""The fleet's HTTP API as a service uses it: JSON and an API key."""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Any

TIMEOUT_S = 30.0


class DoorRefused(Exception):
    """The gateway refused a request; the message has the status and the reason that it gave."""


@dataclass(frozen=True, slots=True)
class HttpDoor:
    """`/v1` of a gateway, with one key."""

    url: str
    key: str = field(repr=False)

    def get(self, path: str) -> dict[str, Any]:
        """Read a resource."""
        return self._call("GET", path, None)

    def post(self, path: str, document: object) -> dict[str, Any]:
        """Post a document, or nothing when it is None."""
        return self._call("POST", path, document)

    def text(self, path: str) -> str:
        """Read a resource that is no JSON, as text."""
        return self._fetch("GET", path, None).decode()

    def _call(self, method: str, path: str, document: object) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._fetch(method, path, document))
        return found

    def _fetch(self, method: str, path: str, document: object) -> bytes:
        body = None if document is None else json.dumps(document).encode()
        headers = {"Authorization": f"Bearer {self.key}"} | ({"Content-Type": "application/json"} if body else {})
        request = urllib.request.Request(self.url + path, body, headers, method=method)  # noqa: S310  # the local gateway
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310  # as above
                return bytes(answer.read())
        except urllib.error.HTTPError as refusal:
            with refusal:
                said = refusal.read(2_000).decode("utf-8", "replace")
            raise DoorRefused(f"{method} {path}: {refusal.code} {said}") from None
