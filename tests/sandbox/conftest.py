"""Emulators inside the test's process, and the vendors' own SDKs aimed at them."""

from collections.abc import Iterator

import pytest

from sandbox.emulator.control import GmailAccount, GmailControl
from sandbox.emulator.emulator import Emulator
from sandbox.google.gmail import gmail_emulator
from tests.sandbox.sdk import GmailUsers, gmail_users

EMAIL = "reader@example.com"


@pytest.fixture
def gmail() -> Iterator[Emulator]:
    with gmail_emulator() as emulator:
        yield emulator


@pytest.fixture
def control(gmail: Emulator) -> GmailControl:
    return GmailControl(gmail.url)


@pytest.fixture
def account(control: GmailControl) -> GmailAccount:
    return control.create_account(EMAIL, "access-1", "refresh-1")


@pytest.fixture
def users(gmail: Emulator, account: GmailAccount) -> Iterator[GmailUsers]:
    assert account.email == EMAIL
    with gmail_users(gmail.url) as client:
        yield client
