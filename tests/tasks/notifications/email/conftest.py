"""The vendors of mail as emulators, and a process of the fleet that calls them."""

from collections.abc import Iterator

import pytest

from sandbox.microsoft.control import MicrosoftControl
from sandbox.microsoft.microsoft import microsoft_emulator
from sandbox.resend.control import ResendControl
from sandbox.resend.resend import resend_emulator
from settings import Settings
from tests.doubles.mail_environment import NOWHERE, Addresses


@pytest.fixture
def resend() -> Iterator[ResendControl]:
    with resend_emulator() as emulator:
        yield ResendControl(emulator.url)


@pytest.fixture
def microsoft() -> Iterator[MicrosoftControl]:
    with microsoft_emulator() as emulator:
        yield MicrosoftControl(emulator.url)


@pytest.fixture
def settings(settings: Settings, resend: ResendControl, microsoft: MicrosoftControl) -> Settings:
    """The same settings, with the emulators in the place of the vendors; the tests' mails are faster than Resend is."""
    at_emulators = Addresses(NOWHERE, NOWHERE, resend=resend.url, microsoft=microsoft.url).settings(settings)
    return at_emulators.model_copy(update={"rate_limits": {"resend.team": 1_000}})
