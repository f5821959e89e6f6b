"""A mailbox's transactions come one after the other, so that none deadlock (docs: mail-handlers.md#locks)."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from psycopg import Connection

from domain.mail.mailbox import INBOX
from storage.mail import messages
from storage.mail.accounts import accounts
from storage.mail.accounts.accounts import Account
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
    return lambda tx: messages.change_labels(tx, account.account_id, message_ids, add=(), remove={INBOX}).answer


def test_without_an_order_two_transactions_deadlock(crossing: Crossing, account: Account) -> None:
    with pytest.raises(StatementAborted):
        crossing.run(archive(account, "m2"), archive(account, "m1", "m2"), archive(account, "m1"))


def test_transactions_that_lock_the_mailbox_first_change_rows_in_any_order(
    crossing: Crossing, account: Account
) -> None:
    def lock(tx: Transaction) -> None:
        accounts.lock(tx, account.account_id)

    def lock_and_archive(*message_ids: str) -> Step:
        def step(tx: Transaction) -> None:
            lock(tx)
            archive(account, *message_ids)(tx)

        return step

    crossing.run(lock_and_archive("m2"), lock_and_archive("m1", "m2"), archive(account, "m1"))
