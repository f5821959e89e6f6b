"""Removals of labels that a decision of ours had put on are kept, once, and for 90 days."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from psycopg import Connection

from domain.mail.mailbox import MailboxLabel
from domain.mail.triage.classification import Classification, Decision, DecisionSource
from domain.mail.triage.corrections import Removal
from storage.mail import decisions
from storage.mail.accounts import accounts, labels
from storage.mail.accounts.accounts import Account
from storage.mail.rules import corrections
from storage.postgres.database import Database
from tests.doubles.mail_factories import (
    SEALER,
    connect_account,
    make_account,
    make_consent,
    make_message,
    store_message,
)

NOW = datetime.now(UTC)


def decided(store: Database, *label_ids: str, message_id: str = "m1") -> Account:
    account = make_account(store)
    store_message(store, account, make_message(message_id))
    known = [MailboxLabel(one, f"name of {one}", "user") for one in ("L1", "L2", "L3")]
    decision = Decision(DecisionSource.LLM, Classification.FYI, 0.9, "x", labels=label_ids)
    with store.tenant(account.org_id) as tx:
        labels.sync(tx, account.account_id, known)
        decisions.record(tx, account.account_id, message_id, decision)
    return account


def record(store: Database, account: Account, *removals: Removal) -> int:
    with store.tenant(account.org_id) as tx:
        return corrections.record(tx, account.account_id, removals)


def test_only_what_we_had_decided_is_a_correction_and_only_once(store: Database) -> None:
    account = decided(store, "L1")
    removals = (Removal("m1", "L1", "L2"), Removal("m1", "L3"), Removal("unknown", "L1"))
    assert record(store, account, *removals) == 1
    assert record(store, account, *removals) == 0, "history that is read again corrects nothing twice"
    with store.tenant(account.org_id) as tx:
        (found,) = corrections.recent(tx, account.account_id, now=NOW).answer
    assert (found.label, found.moved_to, found.sender) == ("name of L1", "name of L2", "ada@example.org")


def test_a_vanished_label_is_no_longer_told(store: Database) -> None:
    account = decided(store, "L1")
    record(store, account, Removal("m1", "L1"))
    with store.tenant(account.org_id) as tx:
        labels.sync(tx, account.account_id, [])
        assert corrections.recent(tx, account.account_id, now=NOW).answer == ()


@pytest.mark.parametrize("subject", ["117", "118"])
def test_what_a_google_user_corrected_is_told_under_their_next_connection(
    store: Database, database: Connection, subject: str
) -> None:
    account = decided(store, "L1")
    record(store, account, Removal("m1", "L1", "L2"))
    database.execute("update accounts set google_subject = '117'")
    with store.ledger() as tx:
        accounts.disconnect(tx, account.account_id, "left")
        consent = replace(make_consent(), subject=subject)
        again = connect_account(tx, SEALER, "an org", account.email, consent)
        found = [(one.label, one.moved_to) for one in corrections.recent(tx, again.account_id, now=NOW).answer]
    assert found == ([("name of L1", "name of L2")] if subject == "117" else [])


def test_corrections_age_out(store: Database, database: Connection) -> None:
    account = decided(store, "L1", "L2")
    record(store, account, Removal("m1", "L1"))
    database.execute("update label_corrections set at = now() - interval '91 days'")
    with store.tenant(account.org_id) as tx:
        assert corrections.recent(tx, account.account_id, now=NOW).answer == ()
    record(store, account, Removal("m1", "L2"))
    with store.ledger() as tx:
        assert corrections.RETENTION.forget(tx) == 1
    assert database.execute("select gmail_label_id from label_corrections").fetchall() == [("L2",)]


def test_another_org_sees_no_correction(store: Database) -> None:
    account = decided(store, "L1")
    record(store, account, Removal("m1", "L1"))
    stranger = make_account(store, org="another org")
    with store.tenant(stranger.org_id) as tx:
        assert corrections.recent(tx, account.account_id, now=NOW).answer == ()
        assert corrections.record(tx, account.account_id, [Removal("m1", "L1")]) == 0
