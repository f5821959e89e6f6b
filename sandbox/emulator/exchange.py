"""What passes between an emulator's HTTP server and the service it imitates: calls, answers, failures, routes."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import unquote

from sandbox.emulator.fault_order import Ending

Json = dict[str, Any]


class ApiFailure(Exception):
    """The service refuses a call; the service renders the body in its provider's format."""

    def __init__(self, status: int, reason: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        """`reason` is the provider's machine-readable word."""
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.headers = dict(headers or {})


@dataclass(frozen=True, slots=True)
class Call:
    """One request as a route sees it. Header names are lower-case; path parameters are unquoted."""

    method: str
    path: str
    query: Mapping[str, Sequence[str]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    parameters: Mapping[str, str] = field(default_factory=dict)
    operation: str = ""
    account: str | None = None
    order: Json | None = None
    """The `answer` of a fault order; the service defines its meaning."""

    def json(self) -> Json:
        """The body as a JSON object; an empty body is an empty object, anything else is refused with 400."""
        if not self.body:
            return {}
        try:
            value = json.loads(self.body)
        except ValueError as error:
            raise ApiFailure(400, "parseError", f"Invalid JSON payload received: {error}") from error
        if not isinstance(value, dict):
            raise ApiFailure(400, "parseError", "Invalid JSON payload received: an object is expected")
        return value

    def first(self, name: str, default: str = "") -> str:
        """The first value of a query parameter."""
        values = self.query.get(name)
        return values[0] if values else default

    def number(self, name: str, default: int) -> int:
        """A query parameter as an integer; refused with 400 when it is no number."""
        text = self.first(name)
        if not text:
            return default
        if not text.isascii() or not text.isdigit():
            raise ApiFailure(400, "invalidArgument", f"Invalid value at '{name}': {text!r}")
        return int(text)


@dataclass(frozen=True, slots=True)
class Answer:
    """One response. `summary` says what was done and goes to the journal only."""

    status: int = 200
    body: Json | bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    summary: Json = field(default_factory=dict)
    ending: Ending = "whole"
    """How the connection ends: after the answer, in the middle of its body, or reset before it."""

    def payload(self) -> bytes:
        """The body's bytes; a JSON object is encoded."""
        if self.body is None:
            return b""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


Handler = Callable[[Call], Answer]


@dataclass(frozen=True, slots=True)
class Route:
    """One operation of a service: method, path pattern such as `/v1/{id}`, and handler."""

    method: str
    pattern: str
    operation: str
    handler: Handler

    def matcher(self) -> re.Pattern[str]:
        """The pattern as a regular expression with a group per parameter."""
        parts = re.split(r"\{(\w+)\}", self.pattern)
        pieces = [f"(?P<{part}>[^/]+)" if index % 2 else re.escape(part) for index, part in enumerate(parts)]
        return re.compile("".join(pieces) + r"\Z")


class Service(Protocol):
    """What an emulated provider gives to the emulator."""

    @property
    def routes(self) -> Sequence[Route]:
        """The provider's own operations: each call is journalled and can be hit by a fault."""
        ...

    def identify(self, call: Call) -> str | None:
        """Which account calls; raises `ApiFailure` 401 when the credentials are invalid."""
        ...

    def admit(self, call: Call) -> AbstractContextManager[None]:
        """Hold the call's place in the quota while it is in flight; raises `ApiFailure` when the quota is used up."""
        ...

    def render(self, call: Call, failure: ApiFailure) -> Answer:
        """A failure as an answer in the provider's format."""
        ...

    def reset(self) -> None:
        """Reset to the state after the start."""
        ...

    def close(self) -> None:
        """Stop background work."""
        ...


class Router:
    """Finds the route of a request."""

    def __init__(self, routes: Iterable[Route]) -> None:
        """The first route that matches is taken."""
        self._routes = [(route, route.matcher()) for route in routes]

    def find(self, method: str, path: str) -> tuple[Route, dict[str, str]] | None:
        """The route and its unquoted path parameters, or None."""
        for route, matcher in self._routes:
            if route.method == method and (match := matcher.match(path)):
                return route, {name: unquote(value) for name, value in match.groupdict().items()}
        return None
