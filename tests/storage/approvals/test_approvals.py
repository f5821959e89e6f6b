"""Approvals in the database: who is asked where, reminded of and expired."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.failures import Conflict, Gone, Invalid
from domain.jobs.job import Enqueued
from domain.mail.actions.requested_action import Delete
from domain.mail.actions.status import ActionStatus
from domain.mail.triage.safety import CheckedAction
from domain.payloads.payload import Payload
from engine.enqueue import enqueue
from engine.runtime import Runtime
from storage.approvals import approvals
from storage.mail.accounts.accounts import Account
from storage.mail.actions import actions
from storage.postgres.database import Database, Transaction
from tests.doubles.mail_factories import make_account, store_message

DAY = timedelta(days=1)


@pytest.fixture
def account(store: Database, process: Runtime) -> Account:
    """A mailbox with a message, in a fleet that has published its job types."""
    assert process.database is not None
    account = make_account(store)
    store_message(store, account)
    return account


def waiting(store: Database, account: Account, *, lasts: timedelta = DAY) -> UUID:
    checked = CheckedAction(Delete(), ActionStatus.APPROVED_PENDING, Delete.danger, ("it is dangerous",))
    with store.ledger() as tx:
        made = actions.request(tx, account.account_id, "m1", checked, requested_by="a test")
        approvals.request(tx, account.account_id, [made], partial(enqueue, org_id=account.org_id), lasts=lasts)
    return made


def test_the_housekeeping_writes_that_nobody_decided_in_time(store: Database, account: Account) -> None:
    made = waiting(store, account, lasts=timedelta(0))
    with store.ledger() as tx:
        ended = approvals.expire(tx, approvals.overdue(tx, limit=10))
        assert approvals.overdue(tx, limit=10) == ()
    assert [one.action_id for one in ended] == [made]
    with store.ledger() as tx:
        found = actions.get(tx, account.account_id, made)
    assert (found.state, (found.error or {})["code"]) == ("expired", "action.not_approved")


def test_the_housekeeping_is_bounded(store: Database, account: Account) -> None:
    made = {waiting(store, account, lasts=timedelta(0)) for _ in range(3)}
    with store.ledger() as tx:
        first = approvals.expire(tx, approvals.overdue(tx, limit=2))
        rest = approvals.expire(tx, approvals.overdue(tx, limit=2))
    assert (len(first), len(rest)) == (2, 1)
    assert {one.action_id for one in (*first, *rest)} == made


def test_one_reminder_comes_when_two_thirds_of_the_time_are_over(
    store: Database, account: Account, database: Connection
) -> None:
    made = waiting(store, account)
    with store.ledger() as tx:
        assert approvals.overdue(tx, limit=10) == ()
    database.execute("update actions set created_at = created_at - interval '2 days 1 minute'")
    with store.ledger() as tx:
        due = approvals.overdue(tx, limit=10)
        assert [one.action_id for one in due] == [made]
        assert approvals.overdue(tx, besides=[account.org_id], limit=10) == ()
        assert approvals.expire(tx, due) == ()
        assert approvals.mark_reminders(tx, due) == due
        assert approvals.overdue(tx, limit=10) == ()


def test_a_channel_is_one_orgs(store: Database, account: Account) -> None:
    other = make_account(store, org="another org", email="you@example.com")
    with store.ledger() as tx:
        approvals.choose_channel(tx, account.org_id, "123")
        with pytest.raises(Conflict, match="another org"):
            approvals.choose_channel(tx, other.org_id, "123")
        with pytest.raises(Invalid, match="channel"):
            approvals.choose_channel(tx, other.org_id, "#general")
    with store.tenant(other.org_id) as tx:
        assert approvals.channel_of(tx, account.org_id) is None
    with store.ledger() as tx:
        assert approvals.channel_of(tx, account.org_id) == "123"
        approvals.remove_channel(tx, account.org_id)
        with pytest.raises(Gone):
            approvals.remove_channel(tx, account.org_id)


def test_a_tenant_asks_whose_a_channel_is_for_its_own_org_only(store: Database, account: Account) -> None:
    other = make_account(store, org="another org", email="you@example.com")
    with store.ledger() as tx:
        approvals.choose_channel(tx, account.org_id, "123")
        approvals.choose_channel(tx, other.org_id, "456")
        assert approvals.is_anothers_channel(tx, other.org_id, "123"), "the ledger asks for any org"
    with store.tenant(account.org_id) as tx:
        for org_id in (account.org_id, other.org_id):
            found = [approvals.is_anothers_channel(tx, org_id, one) for one in ("123", "456", "789")]
            assert found == [False, True, False], "whatever org it names"


def none_enqueued(tx: Transaction, *payloads: Payload) -> Sequence[Enqueued]:
    raise AssertionError(f"nothing is enqueued for what does not wait: {tx}, {payloads}")


def test_nobody_is_asked_about_what_does_not_wait(store: Database, account: Account) -> None:
    made = waiting(store, account)
    with store.ledger() as tx:
        actions.decide(tx, made, ActionStatus.DENIED, approver="anna")
        assert approvals.request(tx, account.account_id, [made], none_enqueued, lasts=DAY) == ()
