"""The port behind which text messages leave."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class OutgoingSms:
    """A text message that is to be sent. `callback_url`, where there is one, is told what becomes of it."""

    to: str
    body: str = field(repr=False)
    callback_url: str | None = None


class SmsSender(Protocol):
    """A provider that knows no key: a message is sent at most once (`Strategy.FIND` that never finds nothing)."""

    def send(self, message: OutgoingSms) -> str:
        """Send the message; returns the provider's id of it."""
        ...

    def sent_since(self, message: OutgoingSms, since: datetime) -> Sequence[str]:
        """The ids of messages to that number with that body since then, the oldest first.

        None of them proves nothing: a message can take a while to be listed.
        """
        ...
