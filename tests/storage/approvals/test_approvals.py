"""Approvals in the database: one decision counts, in time, and what follows from it is enqueued with it."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from uuid import UUID

import pytest
from psycopg import Connection

from domain.approvals.approvers import UserRole
from domain.approvals.decision import Choice
from domain.jobs.failures import Conflict, Gone, Invalid
from domain.jobs.job import ActorType, Enqueued, Origin
from domain.mail.actions.requested_action import Delete
from domain.mail.actions.status import ActionStatus
from domain.mail.triage.safety import CheckedAction
from domain.payloads.payload import Payload
from engine.enqueue import enqueue
from engine.runtime import Runtime
from storage.access import users
from storage.access.users import UserChanges
from storage.accounts.accounts import Account
from storage.actions import actions
from storage.actions.actions import StoredAction
from storage.approvals import approvals, channels
from storage.approvals.approvals import Decider
from storage.postgres.database import Database, Transaction
from tests.doubles.mail_factories import make_account, store_message

DAY = timedelta(days=1)
ANNA = Decider("anna@example.org", Origin(ActorType.USER, "anna"), "it is fine")


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


def decide(store: Database, account: Account, action_id: UUID, choice: Choice, who: Decider = ANNA) -> StoredAction:
    with store.ledger() as tx:
        found = actions.get(tx, account.account_id, action_id)
        return approvals.decide(tx, found, choice, who, partial(enqueue, org_id=account.org_id))


def jobs(database: Connection) -> list[str]:
    return [row[0] for row in database.execute("select job_type from jobs order by created_at, id")]


def events(database: Connection) -> list[str]:
    return [
        row[0]
        for row in database.execute("select event from audit_entries where event ~ '^(approval|user)' order by id")
    ]


def test_an_approval_releases_the_action_and_is_in_the_audit_log(
    store: Database, account: Account, database: Connection
) -> None:
    made = waiting(store, account)
    decided = decide(store, account, made, Choice.APPROVE)
    assert (decided.state, decided.approver, decided.approval_reason) == ("approved", ANNA.name, ANNA.reason)
    assert jobs(database) == ["approvals.notify", "actions.execute", "approvals.show_outcome"]
    assert decided.job_id is not None
    assert events(database) == ["approval.approved"]


@pytest.mark.parametrize("is_older", [False, True])
def test_an_action_of_the_moment_of_its_connection_is_the_owners_of_now(
    store: Database, account: Account, database: Connection, *, is_older: bool
) -> None:
    made = waiting(store, account)
    database.execute(
        "update accounts set connected_at = (select created_at + %s from actions)",
        (timedelta(microseconds=int(is_older)),),
    )
    if is_older:
        with pytest.raises(Conflict, match="connected"):
            decide(store, account, made, Choice.APPROVE)
    else:
        assert decide(store, account, made, Choice.APPROVE).state == "approved"


def test_what_is_denied_is_never_executed(store: Database, account: Account, database: Connection) -> None:
    made = waiting(store, account)
    assert decide(store, account, made, Choice.DENY).state == "denied"
    with pytest.raises(Conflict, match="Denied by anna"):
        decide(store, account, made, Choice.APPROVE)
    assert "actions.execute" not in jobs(database)
    with store.tenant(account.org_id) as tx:
        assert not actions.begin(tx, made, UUID(int=1))


def test_of_two_at_once_one_counts(store: Database, account: Account, database: Connection) -> None:
    made = waiting(store, account)

    def press(choice: Choice) -> str:
        try:
            return str(decide(store, account, made, choice).state)
        except Conflict as refusal:
            return refusal.code

    with ThreadPoolExecutor(4) as pool:
        ends = list(pool.map(press, [Choice.APPROVE, Choice.DENY, Choice.APPROVE, Choice.DENY]))
    assert ends.count("approval.closed") == 3
    assert len(events(database)) == 1


def test_after_the_end_nobody_decides_and_the_housekeeping_writes_it(store: Database, account: Account) -> None:
    made = waiting(store, account, lasts=timedelta(0))
    with pytest.raises(Conflict, match="time"):
        decide(store, account, made, Choice.APPROVE)
    with store.ledger() as tx:
        ended = approvals.expire(tx, limit=10)
        assert approvals.expire(tx, limit=10) == ()
    assert [one.action_id for one in ended] == [made]
    with store.ledger() as tx:
        found = actions.get(tx, account.account_id, made)
    assert (found.state, (found.error or {})["code"]) == ("expired", "action.not_approved")


def test_the_housekeeping_is_bounded(store: Database, account: Account) -> None:
    made = {waiting(store, account, lasts=timedelta(0)) for _ in range(3)}
    with store.ledger() as tx:
        first = approvals.expire(tx, limit=2)
        rest = approvals.expire(tx, limit=2)
    assert (len(first), len(rest)) == (2, 1)
    assert {one.action_id for one in (*first, *rest)} == made


def test_one_reminder_comes_when_two_thirds_of_the_time_are_over(
    store: Database, account: Account, database: Connection
) -> None:
    made = waiting(store, account)
    with store.ledger() as tx:
        assert approvals.due_reminders(tx, limit=10) == ()
    database.execute("update actions set created_at = created_at - interval '2 days 1 minute'")
    with store.ledger() as tx:
        due: Sequence[approvals.WaitingAction] = approvals.due_reminders(tx, limit=10)
        assert [one.action_id for one in due] == [made]
        assert approvals.due_reminders(tx, limit=10) == ()


def test_a_channel_is_one_orgs(store: Database, account: Account) -> None:
    other = make_account(store, org="another org", email="you@example.com")
    with store.ledger() as tx:
        channels.choose(tx, account.org_id, "123", by=Origin())
        with pytest.raises(Conflict, match="another org"):
            channels.choose(tx, other.org_id, "123", by=Origin())
        with pytest.raises(Invalid, match="channel"):
            channels.choose(tx, other.org_id, "#general", by=Origin())
    with store.tenant(other.org_id) as tx:
        assert channels.find(tx, account.org_id) is None
    with store.ledger() as tx:
        assert channels.find(tx, account.org_id) == "123"
        channels.remove(tx, account.org_id, by=Origin())
        with pytest.raises(Gone):
            channels.remove(tx, account.org_id, by=Origin())


def test_a_tenant_asks_whose_a_channel_is_for_its_own_org_only(store: Database, account: Account) -> None:
    other = make_account(store, org="another org", email="you@example.com")
    with store.ledger() as tx:
        channels.choose(tx, account.org_id, "123", by=Origin())
        channels.choose(tx, other.org_id, "456", by=Origin())
        assert channels.is_anothers(tx, other.org_id, "123"), "the ledger asks for any org"
    with store.tenant(account.org_id) as tx:
        for org_id in (account.org_id, other.org_id):
            found = [channels.is_anothers(tx, org_id, one) for one in ("123", "456", "789")]
            assert found == [False, True, False], "whatever org it names"


def test_people_are_added_changed_and_removed(store: Database, account: Account, database: Connection) -> None:
    here, bob = account.org_id, UserChanges(UserRole.APPROVER, "42", "Europe/Berlin")
    with store.ledger() as tx:
        made = users.add(tx, here, "Bob@Example.org", bob, by=Origin())
        assert users.by_discord(tx, here, "42") == made
        with pytest.raises(Conflict):
            users.add(tx, here, "bob@example.org", UserChanges(), by=Origin())
        with pytest.raises(Conflict, match="discord_user_id"):
            users.change(tx, here, account.email, UserChanges(discord_user_id="42"), by=Origin())
        changed = users.change(tx, here, "bob@example.org", UserChanges(discord_user_id=""), by=Origin())
        assert (changed.discord_user_id, changed.role, changed.zone) == (None, UserRole.APPROVER, "Europe/Berlin")
        users.remove(tx, here, "bob@example.org", by=Origin())
        with pytest.raises(Gone):
            users.remove(tx, here, "bob@example.org", by=Origin())
    assert events(database) == ["user.added", "user.changed", "user.removed"]


def test_the_owner_of_a_mailbox_stays(store: Database, account: Account) -> None:
    with store.ledger() as tx:
        (owner,) = users.listed(tx, account.org_id, limit=10)
        assert owner.role is UserRole.OWNER
        with pytest.raises(Conflict, match="owns a mailbox"):
            users.remove(tx, account.org_id, owner.email, by=Origin())


def none_enqueued(tx: Transaction, *payloads: Payload) -> Sequence[Enqueued]:
    raise AssertionError(f"nothing is enqueued for what does not wait: {tx}, {payloads}")


def test_nobody_is_asked_about_what_does_not_wait(store: Database, account: Account) -> None:
    made = waiting(store, account)
    decide(store, account, made, Choice.DENY)
    with store.ledger() as tx:
        assert approvals.request(tx, account.account_id, [made], none_enqueued, lasts=DAY) == ()
