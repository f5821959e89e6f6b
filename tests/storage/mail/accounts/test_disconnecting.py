"""What ends with a mailbox that is taken away: what its owner left waiting there, and nothing of any other mailbox."""

from datetime import timedelta
from functools import partial
from uuid import UUID

import pytest

from domain.jobs.job import Origin
from domain.mail.actions.requested_action import Delete
from domain.mail.actions.status import ActionStatus
from domain.mail.correspondence import EmailState
from domain.mail.triage.safety import CheckedAction
from engine.enqueue import enqueue
from engine.runtime import Runtime
from storage.approvals import approvals
from storage.mail import emails
from storage.mail.accounts.accounts import Account
from storage.mail.accounts.disconnecting import disconnect
from storage.mail.actions import actions
from storage.postgres.database import Database
from tests.doubles.mail_factories import NOON, WANTS_ANSWER, make_account, make_message, store_message

BY_LABEL, BY_SERVICE, DECIDED = "t1", "t2", "t3"
WAITS = {BY_LABEL: EmailState.PENDING, BY_SERVICE: EmailState.PENDING, DECIDED: EmailState.PENDING}


@pytest.fixture(autouse=True)
def _fleet(process: Runtime) -> None:
    """A fleet that has published its job types."""


def filled(store: Database, account: Account) -> UUID:
    """Let drafts be waited for, by two orders and a decision; returns an action that waits for a person."""
    account_id = account.account_id
    for number, thread_id in enumerate(WAITS):
        store_message(store, account, make_message(f"m{number}", thread_id))
    checked = CheckedAction(Delete(), ActionStatus.APPROVED_PENDING, Delete.danger, ("it is dangerous",))
    with store.ledger() as tx:
        for number, thread_id in enumerate(WAITS):
            emails.open_email(tx, account_id, thread_id=thread_id, message_id=f"m{number}", decision=WANTS_ANSWER)
        emails.order_by_hand(tx, account_id, BY_LABEL, at=NOON)
        emails.order_by_hand(tx, account_id, BY_SERVICE, at=NOON, by_service=True)
        action_id = actions.request(tx, account_id, "m0", checked, requested_by="a test")
        jobs = partial(enqueue, org_id=account.org_id)
        approvals.request(tx, account_id, [action_id], jobs, lasts=timedelta(days=1))
    return action_id


def states(store: Database, account: Account, action_id: UUID) -> tuple[str, dict[str, EmailState]]:
    """How the action and the records of the threads stand."""
    with store.ledger() as tx:
        found = {thread_id: emails.get(tx, account.account_id, thread_id) for thread_id in WAITS}
        action = actions.get(tx, account.account_id, action_id)
    return action.state, {thread_id: email.state for thread_id, email in found.items() if email}


def test_what_waits_in_other_mailboxes_goes_on_waiting(store: Database) -> None:
    taken = make_account(store)
    others = [make_account(store, email="you@example.com"), make_account(store, org="another org")]
    filled(store, taken)
    waiting = {one: filled(store, one) for one in others}
    with store.ledger() as tx:
        disconnect(tx, taken.account_id, partial(enqueue, org_id=taken.org_id), reason="left", by=Origin())
    for account, action_id in waiting.items():
        assert states(store, account, action_id) == ("approved_pending", WAITS)


def test_an_order_ends_whoever_gave_it_and_what_a_decision_wants_stays(store: Database) -> None:
    account = make_account(store)
    action_id = filled(store, account)
    with store.ledger() as tx:
        facts = disconnect(tx, account.account_id, partial(enqueue, org_id=account.org_id), reason="left", by=Origin())
    assert (facts["canceled_actions"], facts["ended_orders"]) == ([str(action_id)], 2)
    ended = {BY_LABEL: EmailState.SKIPPED, BY_SERVICE: EmailState.SKIPPED, DECIDED: EmailState.PENDING}
    assert states(store, account, action_id) == ("canceled", ended)
