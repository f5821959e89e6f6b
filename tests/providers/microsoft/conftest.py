"""The Microsoft emulator inside the test's process, and a sender aimed at it."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
from pydantic import SecretStr

from providers.microsoft.sender import GraphSender
from providers.microsoft.tokens import MicrosoftCredential
from sandbox.microsoft.control import MicrosoftControl
from sandbox.microsoft.microsoft import microsoft_emulator
from tests.doubles.factories import unmetered

MAILBOX = "desk@example.com"
CREDENTIAL = MicrosoftCredential("tenant-1", "client-1", SecretStr("a secret"))

OpenSender = Callable[..., GraphSender]


@pytest.fixture
def control() -> Iterator[MicrosoftControl]:
    with microsoft_emulator() as emulator:
        yield MicrosoftControl(emulator.url)


def open_sender(
    url: str,
    credential: MicrosoftCredential = CREDENTIAL,
    *,
    timeout_s: float = 5,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> GraphSender:
    return GraphSender(
        credential,
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
