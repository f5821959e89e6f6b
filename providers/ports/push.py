"""The port behind which messages to devices leave."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol


@dataclass(frozen=True, slots=True)
class OutgoingPush:
    """A message to one device. A second one with the same `tag` takes the place of the first on the screen."""

    token: str = field(repr=False)
    title: str = field(repr=False)
    body: str = field(repr=False)
    link: str | None
    tag: str
    ttl: timedelta
    """How long the provider keeps it for a device that is away."""


class PushSender(Protocol):
    """A provider that knows no key and cannot be asked: a message is sent at most once."""

    def send(self, message: OutgoingPush) -> str:
        """Send the message; returns the provider's name of it."""
        ...
