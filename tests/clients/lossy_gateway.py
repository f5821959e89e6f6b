"""A gateway behind an emulator's frame: what the client says reaches the real one, unless a fault is ordered."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from sandbox.emulator.client import EmulatorControl
from sandbox.emulator.emulator import Emulator
from sandbox.emulator.exchange import Answer, ApiFailure, Call, Route
from sandbox.emulator.journal import Journal

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
PASSED_BACK = {"content-type", "location", "retry-after", "idempotent-replayed"}


class AnyPath(Route):
    """A route of every path."""

    def matcher(self) -> re.Pattern[str]:
        return re.compile(r"/.*\Z")


@dataclass
class Forwarding:
    """Hands each call on to the real gateway, and keeps those that were handed on."""

    url: str
    reached: list[Call] = field(default_factory=list)

    @property
    def routes(self) -> Sequence[Route]:
        return [AnyPath(method, "/", f"any.{method.lower()}", self.forward) for method in METHODS]

    def forward(self, call: Call) -> Answer:
        self.reached.append(call)
        headers = {name: value for name, value in call.headers.items() if name not in {"host", "content-length"}}
        given = httpx.request(
            call.method,
            f"{self.url}{call.path}",
            params={name: list(values) for name, values in call.query.items()},
            content=call.body,
            headers=[(name.encode(), value.encode("latin-1")) for name, value in headers.items()],
        )
        kept = {name: value for name, value in given.headers.items() if name.lower() in PASSED_BACK}
        return Answer(given.status_code, given.content, kept)

    def identify(self, _call: Call) -> None: ...

    @contextmanager
    def admit(self, _call: Call) -> Iterator[None]:
        yield

    def render(self, _call: Call, failure: ApiFailure) -> Answer:
        return Answer(failure.status, {"code": failure.reason, "detail": failure.message})

    def reset(self) -> None: ...

    def close(self) -> None: ...


@dataclass
class LossyGateway:
    """Where a client connects, what is ordered to go wrong, and what reached the real gateway."""

    url: str
    faults: EmulatorControl
    forwarding: Forwarding

    @property
    def reached(self) -> list[Call]:
        """The calls that the real gateway has got."""
        return self.forwarding.reached


@contextmanager
def lossy_gateway(url: str) -> Iterator[LossyGateway]:
    """Such a gateway in front of the one at this URL, until the end of the block."""
    forwarding = Forwarding(url)
    with Emulator(forwarding, Journal()) as emulator:
        yield LossyGateway(emulator.url, EmulatorControl(emulator.url), forwarding)
