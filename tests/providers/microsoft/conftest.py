"""The Microsoft emulator inside the test's process, and a sender aimed at it."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
from pydantic import SecretStr

from providers.microsoft.sender import GraphSender
from sandbox.microsoft.control import MicrosoftControl
from sandbox.microsoft.microsoft import microsoft_emulator
from tests.doubles.factories import unmetered

MAILBOX = "desk@example.com"
SECRET = SecretStr('{"tenant_id": "tenant-1", "client_id": "client-1", "client_secret": "a secret"}')

OpenSender = Callable[..., GraphSender]


@pytest.fixture
def control() -> Iterator[MicrosoftControl]:
    with microsoft_emulator() as emulator:
        yield MicrosoftControl(emulator.url)


def open_sender(
    url: str,
    secret: SecretStr = SECRET,
    *,
    timeout_s: float = 5,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> GraphSender:
    return GraphSender(
        secret,
        mailbox=MAILBOX,
        graph_url=f"{url}/v1.0",
        login_url=url,
        timeout_s=timeout_s,
        meter=unmetered,
        clock=clock,
    )


@pytest.fixture
def sender(control: MicrosoftControl) -> Iterator[GraphSender]:
    with open_sender(control.url) as opened:
        yield opened
