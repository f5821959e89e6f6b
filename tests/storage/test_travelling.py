"""Statements of a transaction that travel together: in one trip, in their order, and all or none of them."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from domain.jobs.failures import ClaimLost, Gone, Invalid
from domain.jobs.job import ClaimedJob
from storage.mail import messages
from storage.mail.accounts import accounts, labels
from storage.mail.accounts.accounts import Account
from storage.postgres.database import Database, Transaction
from storage.postgres.execution import Row, fetch_together
from tests.doubles.factories import claim_one, enqueue_one, make_job_type
from tests.doubles.mail_factories import make_account, make_message, store_message
from tests.tasks.jobs.counted_trips import Counter
from tests.waiting import until_a_lock_is_waited_for


@pytest.fixture
def account(store: Database) -> Account:
    made = make_account(store)
    store_message(store, made, make_message("m1"))
    return made


@pytest.fixture
def held(store: Database, account: Account) -> ClaimedJob:
    make_job_type(store)
    return claim_one(store, enqueue_one(store, account.org_id))


@contextmanager
def counted() -> Iterator[list[list[str]]]:
    """The trips that are made meanwhile."""
    counter = Counter()
    with counter.counting():
        yield counter.trips


def labels_of(store: Database, account: Account) -> frozenset[str]:
    with store.ledger() as tx:
        return messages.get(tx, account.account_id, "m1").label_ids


def refuse(_rows: Sequence[Row]) -> None:
    raise Gone("not this one")


def change(tx: Transaction, account_id: UUID, label: str) -> None:
    messages.change_labels(tx, account_id, ["m1"], add=[label], remove=())


def test_what_is_asked_travels_with_the_first_answer_that_is_wanted(store: Database, account: Account) -> None:
    with counted() as trips, store.tenant(account.org_id) as tx:
        asked = accounts.ask_for(tx, account.account_id), labels.ask_for_all(tx, account.account_id)
        assert trips == []
        assert messages.get(tx, account.account_id, "m1").message_id == "m1"
        assert (asked[0].answer.account_id, asked[1].answer) == (account.account_id, ())
    assert [trip[-3:] for trip in trips] == [["get_account", "list_labels", "get_message"], ["commit"]]


def test_a_transaction_that_only_reads_is_one_trip_and_is_read_afterwards(
    store: Database, account: Account, held: ClaimedJob
) -> None:
    with counted() as trips, store.reading(account.org_id, held.job_id, held.token) as tx:
        asked = accounts.ask_for(tx, account.account_id)
        missing = messages.ask_for(tx, account.account_id, "unknown")
    assert [trip[-3:] for trip in trips] == [["get_account", "get_message", "commit"]]
    assert asked.answer.account_id == account.account_id
    with pytest.raises(Gone):
        _ = missing.answer


def test_what_nobody_has_read_forbids_the_commit_by_what_it_raises(store: Database, account: Account) -> None:
    before = labels_of(store, account)
    with pytest.raises(Gone, match="not this one"), store.tenant(account.org_id) as tx:
        change(tx, account.account_id, "Label_1")
        tx.ask("list_labels", refuse, account_id=account.account_id)
    assert labels_of(store, account) == before


def test_what_was_read_and_refused_does_not_forbid_the_commit(store: Database, account: Account) -> None:
    with store.tenant(account.org_id) as tx:
        change(tx, account.account_id, "Label_1")
        with pytest.raises(Gone):
            messages.get(tx, account.account_id, "unknown")
    assert "Label_1" in labels_of(store, account)


@pytest.mark.parametrize("wanted", [True, False], ids=["an answer is wanted", "with the commit"])
def test_the_first_statement_that_fails_is_the_one_that_is_raised_and_nothing_is_written(
    store: Database, account: Account, wanted: bool
) -> None:
    before = labels_of(store, account)
    with pytest.raises(Invalid, match="number"), store.tenant(account.org_id) as tx:
        change(tx, account.account_id, "Label_1")
        tx.leave("list_thread_messages", refuse, account_id=account.account_id, thread_id="t", limit=2**64)
        change(tx, account.account_id, "Label_2")
        if wanted:
            accounts.get(tx, account.account_id)
    assert labels_of(store, account) == before


def test_who_has_lost_the_claim_writes_nothing_with_it(store: Database, account: Account, held: ClaimedJob) -> None:
    before = labels_of(store, account)
    with pytest.raises(ClaimLost), store.claimed(account.org_id, held.job_id, uuid4()) as tx:
        change(tx, account.account_id, "Label_1")
    assert labels_of(store, account) == before


def test_a_claim_that_was_lost_is_noticed_where_nothing_is_asked(store: Database, held: ClaimedJob) -> None:
    with pytest.raises(ClaimLost), store.claimed(held.org_id, held.job_id, uuid4()):
        pass


def test_an_answer_that_is_waited_for_keeps_no_other_thread_waiting(
    store: Database, database: Connection, account: Account
) -> None:
    def lock() -> str:
        with store.tenant(account.org_id) as tx:
            return str(accounts.lock(tx, account.account_id))

    with ThreadPoolExecutor(1) as threads:
        with store.tenant(account.org_id) as tx:
            accounts.lock(tx, account.account_id)
            waiting = threads.submit(lock)
            until_a_lock_is_waited_for(database, describe="nobody waits")
            assert accounts.ask_for(tx, account.account_id).answer.status == "active"
        assert waiting.result(timeout=30) == "active"


def test_nothing_is_sent_before_all_is(store: Database, account: Account, database: Connection) -> None:
    """A process that freezes between two statements of a trip holds no lock, which nobody would take from it."""
    seen: list[int] = []

    class Looking(Mapping[str, object]):
        """Parameters that look at the sessions in a transaction when they are read."""

        def __getitem__(self, name: str) -> object:
            ((count,),) = database.execute(
                "select count(*) from pg_locks where relation = 'accounts'::regclass and mode = 'RowShareLock'"
                " and database = (select oid from pg_database where datname = current_database())"
            ).fetchall()
            seen.append(count)
            return account.account_id

        def __iter__(self) -> Iterator[str]:
            return iter(("account_id",))

        def __len__(self) -> int:
            return 1

    lock = ("select id from accounts where id = %(account_id)s for update", {"account_id": account.account_id})
    look = ("select id from accounts where id = %(account_id)s", Looking())
    with store.tenant(account.org_id) as tx:
        assert accounts.get(tx, account.account_id) == account
        connection = tx._connection  # noqa: SLF001 - what the trips of a transaction are made on
        (one,), (two,) = fetch_together(connection, [lock, look])
    assert (one.id, two.id, seen) == (account.account_id, account.account_id, [0])
