"""Whatever a sender writes is stored, cut by the stated limits; `make hostile` tries all mutants of the real mail."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from psycopg import Connection

from bench.mail_bombs import BOMBS, mutants
from domain.mail.parsing.limits import LONGEST_TEXT, LONGEST_VALUES, MOST_EVIDENCE, MOST_LABELS, MOST_RECIPIENTS
from domain.mail.parsing.parsed_message import Attachment, ParsedMessage
from domain.mail.triage.automation import detect_automation
from domain.payloads.mail_address import Address
from storage.mail import messages
from storage.mail.accounts.accounts import Account
from storage.postgres.database import Database
from tests.domain.mail.corpus_report import corpus_files
from tests.doubles.mail_factories import make_account, make_message, store_message

LARGEST_DOCUMENT = 8_000_000
"""Bytes as text, which the table's CHECK allows."""
SAMPLE = corpus_files()[::100]
LONG = 60_000
"""Bytes of a bomb: past most limits, and cheap."""


@pytest.fixture
def account(store: Database) -> Account:
    return make_account(store)


def stored(store: Database, account: Account, message_id: str, raw: bytes) -> ParsedMessage:
    """Take in as the job does, and read back."""
    message = make_message(message_id, raw=raw)
    store_message(store, account, replace(message, automation=detect_automation(message.parsed)))
    with store.tenant(account.org_id) as tx:
        back = messages.get(tx, account.account_id, message_id).parsed
    assert back == message.parsed
    return back


def assert_within_limits(message: ParsedMessage) -> None:
    assert len(message.to) + len(message.cc) + len(message.bcc) <= MOST_RECIPIENTS
    assert sum(len(value) for _, value in message.headers) <= LONGEST_VALUES
    assert len(message.text) <= LONGEST_TEXT


@pytest.mark.parametrize("path", SAMPLE, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_mutant_of_real_mail_is_stored(store: Database, account: Account, path: Path) -> None:
    for name, raw in mutants(path.read_bytes(), random.Random(path.stem)):  # noqa: S311 - the same in each run
        assert_within_limits(stored(store, account, name, raw))


def test_every_bomb_is_stored(store: Database, account: Account) -> None:
    for name, bomb in BOMBS.items():
        assert_within_limits(stored(store, account, name, bomb(LONG)))


def test_two_hundred_signs_of_automation_are_some(store: Database, account: Account, database: Connection) -> None:
    lines = b"".join(b"Auto-Submitted: x%d\r\n" % number for number in range(250))
    stored(store, account, "m", b"From: a@example.org\r\n" + lines + b"\r\nbody")
    assert database.execute("select cardinality(automation_evidence) from messages").fetchone() == (MOST_EVIDENCE,)


def test_more_labels_than_are_kept_leave_gmails_own(store: Database, account: Account, database: Connection) -> None:
    named = frozenset({"INBOX", "UNREAD"} | {f"Label_{number}" for number in range(MOST_LABELS + 5)})
    store_message(store, account, replace(make_message(), label_ids=named))
    row = database.execute("select cardinality(labels), labels @> '{INBOX,UNREAD}' from messages").fetchone()
    assert row == (MOST_LABELS, True)


def test_the_largest_message_that_the_limits_allow_fits_the_table(
    store: Database, account: Account, database: Connection
) -> None:
    """Everything as long as may be, in characters of four bytes."""
    wide = "\N{GRINNING FACE}"
    person = Address(wide * 200, wide * 318 + "@b")
    message = replace(
        make_message().parsed,
        references=tuple([f"<{wide * 248}>"] * 100),
        subject=wide * 998,
        reply_to=(person,) * 100,
        to=(person,) * 1_000,
        cc=(person,) * 1_000,
        headers=(("x" * 200, wide * 4_000),) * 50 + (("x" * 200, ""),) * 250,
        text=wide * LONGEST_TEXT,
        attachments=(Attachment(wide * 200, "a" * 64 + "/" + "b" * 127, 2**40),) * 200,
    )
    store_message(store, account, replace(make_message(), parsed=message))
    row = database.execute("select octet_length(document::text) from messages").fetchone()
    assert row is not None
    assert LARGEST_DOCUMENT * 0.5 < row[0] < LARGEST_DOCUMENT
