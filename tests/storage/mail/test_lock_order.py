"""Rows of the mail are locked in one order, so that transactions wait and do not deadlock (docs: mail.md#locks)."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from psycopg import Connection

from domain.mail.mailbox import INBOX
from storage.accounts.accounts import Account
from storage.mail import messages
from storage.postgres.database import Database, Transaction
from storage.postgres.execution import StatementAborted
from tests.doubles.mail_factories import make_account, make_message, store_message
from tests.waiting import until_a_lock_is_waited_for

Step = Callable[[Transaction], object]


@pytest.fixture
def account(store: Database) -> Account:
    """An account with two messages, the later id stored first."""
    made = make_account(store)
    for message_id in ("m2", "m1"):
        store_message(store, made, make_message(message_id))
    return made


class Crossing:
    """Two transactions of an org: the second begins between the steps of the first, and waits for it."""

    def __init__(self, store: Database, database: Connection, account: Account) -> None:
        self._store = store
        self._database = database
        self._org_id = account.org_id

    def run(self, before: Step, between: Step, after: Step) -> None:
        """Raises `StatementAborted` when the two deadlock."""
        with ThreadPoolExecutor(1) as threads:
            with self._store.tenant(self._org_id) as tx:
                before(tx)
                second = threads.submit(self._run_all, between)
                until_a_lock_is_waited_for(self._database, describe="nobody waits")
                after(tx)
            second.result(timeout=30)

    def _run_all(self, step: Step) -> None:
        with self._store.tenant(self._org_id) as tx:
            step(tx)


@pytest.fixture
def crossing(store: Database, database: Connection, account: Account) -> Crossing:
    return Crossing(store, database, account)


def archive(account: Account, *message_ids: str) -> Step:
    return lambda tx: messages.change_labels(tx, account.account_id, message_ids, add=(), remove={INBOX})


def test_without_an_order_two_transactions_deadlock(crossing: Crossing, account: Account) -> None:
    with pytest.raises(StatementAborted):
        crossing.run(archive(account, "m2"), archive(account, "m1", "m2"), archive(account, "m1"))


def test_messages_that_are_held_first_can_be_changed_in_any_order(crossing: Crossing, account: Account) -> None:
    def hold_both(tx: Transaction) -> None:
        messages.hold(tx, account.account_id, "m2", "m1")
        archive(account, "m2")(tx)

    crossing.run(hold_both, archive(account, "m1", "m2"), archive(account, "m1"))


@pytest.mark.parametrize(
    "lock", [archive, lambda account, *ids: lambda tx: messages.hold(tx, account.account_id, *ids)]
)
def test_messages_are_locked_in_the_order_of_their_ids(
    crossing: Crossing, account: Account, lock: Callable[..., Step]
) -> None:
    """Whoever waits for the first has not locked the second."""

    def second_is_free(tx: Transaction) -> None:
        tx.raw("set local lock_timeout = '1ms'")
        messages.hold(tx, account.account_id, "m2")

    crossing.run(archive(account, "m1"), lock(account, "m1", "m2"), second_is_free)


def test_correspondents_that_are_noted_first_can_be_met_in_any_order(crossing: Crossing, account: Account) -> None:
    here = account.account_id
    ann, bob = b"From: ann@example.org\r\n\r\nHi", b"From: bob@example.org\r\n\r\nHi"
    one = make_message("a1", "a", raw=bob), make_message("a2", "a", raw=ann)
    other = make_message("b1", "b", raw=ann), make_message("b2", "b", raw=bob)

    def note_both(tx: Transaction) -> None:
        messages.note_correspondents(tx, here, *one)
        messages.upsert(tx, here, one[0])

    def store_others(tx: Transaction) -> None:
        messages.note_correspondents(tx, here, *other)
        for message in other:
            messages.upsert(tx, here, message)

    crossing.run(note_both, store_others, lambda tx: messages.upsert(tx, here, one[1]))
