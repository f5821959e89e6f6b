"""A rule is tried on stored mail by tens, within a time, and nothing is written."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from math import ceil
from time import monotonic
from typing import Any
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.failures import Gone
from domain.mail.rule_language.rule_file import read_rule_document
from domain.mail.rule_language.rules import Rule
from domain.mail.rule_language.trial import RuleTrial
from settings import Settings
from storage.mail.accounts.accounts import Account
from storage.mail.rules.trials import AT_ONCE, WITHIN_S, try_on_past_mail
from storage.postgres.database import Database, TenantTransaction
from storage.postgres.logins import TENANT_ROLE
from tests.doubles.mail_factories import make_account, make_message, store_message

TABLES = ("decisions", "actions", "jobs", "audit_entries", "rules")


def raw(sender: str, subject: str) -> bytes:
    return f"From: {sender}\r\nTo: me@example.com\r\nSubject: {subject}\r\n\r\nhello\r\n".encode()


def rule(when: dict[str, Any]) -> Rule:
    (found,) = read_rule_document({"name": "tried", "when": when, "then": {"actions": ["delete"]}})
    assert isinstance(found, Rule)
    return found


@pytest.fixture
def account(store: Database) -> Account:
    """A mailbox with 25 messages of three senders, and one that it sent."""
    account = make_account(store)
    for place in range(25):
        sender = ("ada@example.org", "bob@example.com", "eve@example.net")[place % 3]
        message = make_message(f"m{place:02}", f"t{place:02}", raw=raw(sender, f"number {place}"), minutes=place)
        store_message(store, account, message)
    own = make_message("own", "t00", raw=raw("me@example.com", "re: number 0"), direction="outgoing", minutes=99)
    store_message(store, account, own)
    return account


def tried(store: Database, account: Account, when: dict[str, Any], **more: Any) -> RuleTrial:  # noqa: ANN401 - options
    return try_on_past_mail(store, account.org_id, account.account_id, rule(when), **{"clock": monotonic} | more)


def test_the_latest_incoming_mail_is_tried_the_latest_first(store: Database, account: Account) -> None:
    found = tried(store, account, {"from": "ada@example.org"})
    assert (found.examined, found.matched, found.complete) == (25, 9, True)
    assert [one.past.message_id for one in found.messages] == [f"m{place:02}" for place in reversed(range(25))]
    first = next(one for one in found.messages if one.tried.matched)
    assert first.past.message_id == "m24"
    assert [one.reasons[0] for one in first.tried.actions] == ["delete is dangerous"]
    assert tried(store, account, {"from": "ada@example.org"}, most=12).examined == 12


def test_what_the_mailbox_knew_when_the_mail_came(store: Database, account: Account) -> None:
    first = tried(store, account, {"first_contact": True})
    assert [one.past.message_id for one in first.messages if one.tried.matched] == ["m02", "m01", "m00"]
    answered = tried(store, account, {"has_my_reply": True})
    assert [one.past.message_id for one in answered.messages if one.tried.matched] == ["m00"]


def test_nothing_is_written(store: Database, account: Account, database: Connection) -> None:
    def rows() -> list[object]:
        return [database.execute(f"select count(*) from {table}").fetchone() for table in TABLES]

    before = rows()
    tried(store, account, {"from": "ada@example.org"})
    assert rows() == before


def test_a_trial_ends_with_its_time(store: Database, account: Account) -> None:
    ticks: Iterator[int] = count()
    found = tried(store, account, {"subject": "number"}, clock=lambda: next(ticks) * WITHIN_S / 7)
    assert (found.examined, found.complete) == (7, False)


class Counting(Database):
    """Counts the transactions of tenants."""

    opened = 0

    @contextmanager
    def tenant(
        self, org_id: UUID, project_id: UUID | None = None, *, role: str = TENANT_ROLE
    ) -> Iterator[TenantTransaction]:
        self.opened += 1
        with super().tenant(org_id, project_id, role=role) as tx:
            yield tx


def test_mail_is_read_by_tens(settings: Settings, account: Account) -> None:
    counting = Counting(settings)
    assert tried(counting, account, {"subject": "number"}).examined == 25
    assert counting.opened == 1 + ceil(25 / AT_ONCE)
    counting.dispose()


def test_another_orgs_mailbox_is_none(store: Database, account: Account) -> None:
    stranger = make_account(store, org="another org")
    with pytest.raises(Gone):
        try_on_past_mail(store, stranger.org_id, account.account_id, rule({"subject": "x"}), clock=monotonic)
