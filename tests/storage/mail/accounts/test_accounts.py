"""Mailboxes: connecting, parking, watching, and what they may do."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from psycopg import Connection
from psycopg.errors import CheckViolation, UniqueViolation

from domain.jobs.failures import Gone
from domain.jobs.gate_causes import Cause
from domain.mail.onboarding import ONBOARDED_WITHIN
from storage.jobs import gates
from storage.jobs.gates import Gate
from storage.mail.accounts import accounts, tokens
from storage.mail.accounts.accounts import AccountSettings
from storage.postgres.database import Database
from tests.doubles.mail_factories import SEALER, make_account, make_consent


def test_a_mailbox_is_found_in_every_org_by_any_case(store: Database) -> None:
    here, there = make_account(store, org="one"), make_account(store, org="two")
    make_account(store, org="two", email="you@example.com")
    with store.ledger() as tx:
        found = accounts.by_email(tx, "ME@example.com")
    assert {one.account_id for one in found} == {here.account_id, there.account_id}
    with store.tenant(here.org_id) as tx:
        assert tx.raw("select id from accounts") == [(here.account_id,)]
        with pytest.raises(Gone):
            accounts.get(tx, there.account_id)


def test_lost_consent_is_told_once_and_not_for_newer_tokens(store: Database) -> None:
    account = make_account(store)
    with store.tenant(account.org_id) as tx:
        stale = account.token_version - 1
        assert not accounts.mark_needs_reconsent(tx, account.account_id, version=stale, reason="invalid_grant")
        was_first = [
            accounts.mark_needs_reconsent(tx, account.account_id, version=account.token_version, reason="invalid_grant")
            for _ in range(2)
        ]
        assert was_first == [True, False]
        parked = accounts.get(tx, account.account_id)
        assert (parked.status, parked.status_reason) == ("needs_reconsent", "invalid_grant")
    with store.ledger() as tx:
        accounts.connect(tx, SEALER, account.account_id, make_consent())
        assert accounts.get(tx, account.account_id).status == "active"


def test_disconnecting_forgets_the_tokens(store: Database) -> None:
    account = make_account(store)
    with store.ledger() as tx:
        assert accounts.disconnect(tx, account.account_id, "the owner asked")
        assert not accounts.disconnect(tx, account.account_id, "again")
        left = tokens.current(tx, SEALER, account.account_id)
        with pytest.raises(Gone):
            accounts.connect(tx, SEALER, account.account_id, make_consent())
    assert (left.status, left.access_token, left.refresh_token) == ("disconnected", None, None)


def test_an_address_has_one_open_account_in_an_org(store: Database, database: Connection) -> None:
    first = make_account(store)
    assert make_account(store).account_id == first.account_id
    with store.ledger() as tx:
        accounts.disconnect(tx, first.account_id, "the owner asked")
    second = make_account(store)
    assert second.account_id != first.account_id
    with pytest.raises(UniqueViolation):
        database.execute("update accounts set status = 'needs_reconsent', status_reason = 'again'")


def test_no_gate_for_lost_consent_outlives_a_disconnection(store: Database) -> None:
    """Neither one that was closed before, nor one that a job closes which had learned of the loss before."""
    account = make_account(store)
    closing = Gate("account", str(account.account_id), "needs_reconsent: revoked", None, "postroom", Cause.CONSENT)
    pause = replace(closing, cause=Cause.PAUSE)
    with store.ledger() as tx:
        accounts.mark_needs_reconsent(tx, account.account_id, version=account.token_version, reason="revoked")
        for one in (closing, pause):
            gates.close(tx, one)
        assert len(gates.closed(tx)) == 2
    with store.ledger() as tx:
        accounts.disconnect(tx, account.account_id, "the owner asked")
    with store.ledger() as tx:
        gates.close(tx, closing)
        assert [gate.cause for gate in gates.closed(tx)] == [Cause.PAUSE]


def test_an_account_without_a_fresh_watch_is_found(store: Database, database: Connection) -> None:
    never, fresh, old, lapsed, parked, new = (make_account(store, email=f"{name}@example.com") for name in "abcdef")
    now = datetime.now(UTC)
    with store.ledger() as tx:
        for account in (fresh, old, lapsed, parked):
            accounts.record_watch(tx, account.account_id, expires_at=now + timedelta(days=7))
        accounts.mark_needs_reconsent(tx, parked.account_id, version=parked.token_version, reason="invalid_grant")
    database.execute(
        "update accounts set watch_renewed_at = now() - interval '25 hours' where id = any (%s)",
        ([old.account_id, parked.account_id],),
    )
    database.execute("update accounts set watch_expires_at = now() where id = %s", (lapsed.account_id,))
    connected = "update accounts set status_changed_at = now() - %s where id = any (%s)"
    before = [one.account_id for one in (never, fresh, old, lapsed, parked)]
    database.execute(connected, (ONBOARDED_WITHIN + timedelta(minutes=1), before))
    database.execute(connected, (ONBOARDED_WITHIN - timedelta(minutes=1), [new.account_id]))
    with store.ledger() as tx:
        found = accounts.without_watch(tx, now, renewal=timedelta(hours=24))
    assert {one.account_id for one in found} == {never.account_id, old.account_id, lapsed.account_id}


def test_everything_is_off_until_the_owner_turns_it_on(store: Database) -> None:
    account = make_account(store)
    assert account.settings == AccountSettings(label_parent="Postroom", send_allowed=False, agent_enabled=False)
    with store.tenant(account.org_id) as tx:
        accounts.save_settings(tx, account.account_id, {"send_allowed": True})
        accounts.save_settings(tx, account.account_id, {"label_parent": "Mail"})
        accounts.save_own_addresses(tx, account.account_id, ["B@example.com", "a@example.com", "b@example.com"])
        accounts.save_own_addresses(tx, account.account_id, ["B@example.com", '"a"@example.com', "b@BÜCHER.example"])
        changed = accounts.get(tx, account.account_id)
    assert changed.settings == AccountSettings(label_parent="Mail", send_allowed=True, agent_enabled=False)
    assert changed.own_addresses == ("a@example.com", "b@example.com", "b@xn--bcher-kva.example")
    assert changed.addresses == {"me@example.com", *changed.own_addresses}


HALF_ACCOUNTS = (
    "status = 'disconnected'",
    "sealed_refresh_token = null",
    "status = 'needs_reconsent', status_reason = null",
    "access_expires_at = null",
    "refresh_owner = gen_random_uuid()",
    "history_id = 0",
    "history_id = 18446744073709551616",
    "email = 'Upper@example.com'",
    "own_addresses = '{Upper@example.com}'",
    "watch_expires_at = now()",
    """settings = '{"send_allowed": "yes"}'""",
    """settings = '{"label_parent": ""}'""",
    """settings = '{"refresh_token": "x"}'""",
    "status = 'asleep'",
)


def test_no_account_is_half_of_something(store: Database, database: Connection) -> None:
    account = make_account(store)
    for change in HALF_ACCOUNTS:
        with pytest.raises(CheckViolation):
            database.execute(f"update accounts set {change} where id = %s", (account.account_id,))


def test_what_is_not_there_is_gone(store: Database) -> None:
    with store.ledger() as tx, pytest.raises(Gone):
        accounts.record_watch(tx, uuid4(), expires_at=datetime.now(UTC))
