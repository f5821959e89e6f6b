"""The Gmail emulator inside the test's process, and our mailbox aimed at it."""

from collections.abc import Iterator

import pytest

from providers.google.gmail import GmailMailbox
from sandbox.emulator.control import GmailAccount, GmailControl
from sandbox.google.gmail import gmail_emulator
from tests.doubles.factories import unmetered

EMAIL = "reader@example.com"


@pytest.fixture
def control() -> Iterator[GmailControl]:
    with gmail_emulator() as emulator:
        yield GmailControl(emulator.url)


@pytest.fixture
def account(control: GmailControl) -> GmailAccount:
    return control.create_account(EMAIL, "access-1", "refresh-1")


@pytest.fixture
def mailbox(control: GmailControl, account: GmailAccount) -> Iterator[GmailMailbox]:
    with GmailMailbox(
        account=account.email, access_token="access-1", timeout_s=5, meter=unmetered, endpoint=control.url
    ) as opened:
        yield opened
