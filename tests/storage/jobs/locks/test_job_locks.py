"""Whoever waits for several jobs locks them by their ids; whoever holds one waits for no other."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.failures import Busy
from domain.jobs.job import ClaimedJob, Done, Origin
from domain.jobs.lifecycle import settlement_of
from domain.jobs.retry import STANDARD
from storage.jobs import ledger, recovery, results
from storage.mail.actions import undos
from storage.postgres.database import Database, Transaction
from tests.doubles.factories import LEASE, claim_one, enqueue_one, make_job_type, make_org, make_worker
from tests.doubles.mail_factories import make_account
from tests.storage.jobs.test_end_hooks import NOW
from tests.waiting import eventually, patient, until_a_lock_is_waited_for

WAITS = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"

Step = Callable[[Transaction], object]


def until_so_many_wait(database: Connection, count: int) -> None:
    eventually(lambda: database.execute(WAITS).fetchone() == (count,), describe=f"{count} transactions to wait")


class Held:
    """Three jobs of one worker."""

    def __init__(self, store: Database, database: Connection) -> None:
        org = make_org(database)
        make_job_type(store)
        self.worker = make_worker(store)
        self.jobs = sorted((claim_one(store, enqueue_one(store, org), self.worker) for _ in range(3)), key=_by_id)
        self.ids = [job.job_id for job in self.jobs]

    def cancel(self, tx: Transaction) -> None:
        ledger.cancel(tx, self.ids, "not wanted", by=Origin())

    def settle(self, tx: Transaction) -> None:
        # The plan for a table of more than a few rows.
        tx.raw("set local enable_seqscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off")
        ledger.settle(tx, [settlement_of(job, Done(), STANDARD, NOW, 0.0) for job in reversed(self.jobs)])

    def ask(self, tx: Transaction) -> None:
        results.ask_for(tx, [(one, str(one)) for one in reversed(self.ids)], is_sent=False)


def _by_id(job: ClaimedJob) -> UUID:
    return job.job_id


@pytest.fixture
def held(store: Database, database: Connection) -> Held:
    return Held(store, database)


WAITERS: dict[str, Callable[[Held], Step]] = {
    "cancel": lambda held: held.cancel,
    "settle": lambda held: held.settle,
    "ask": lambda held: held.ask,
}


@pytest.mark.parametrize("second", WAITERS)
@pytest.mark.parametrize("first", WAITERS)
def test_two_that_wait_for_the_same_jobs_do_not_deadlock(
    store: Database, database: Connection, held: Held, first: str, second: str
) -> None:
    """Somebody holds the middle job; both wait for it, and then for each other's where they lock in two orders."""

    def run(name: str) -> None:
        with patient(store.ledger()) as tx:
            WAITERS[name](held)(tx)

    with ThreadPoolExecutor(2) as threads:
        with store.ledger() as tx:
            tx.raw("select from jobs where id = %(id)s for update", {"id": held.ids[1]})
            begun = []
            for waiting, name in enumerate((first, second), 1):
                begun.append(threads.submit(run, name))
                until_so_many_wait(database, waiting)
        for one in begun:
            one.result(timeout=30)


@pytest.mark.parametrize("first", [name for name in WAITERS if name != "settle"])
def test_each_locks_the_first_of_the_ids_first(store: Database, database: Connection, held: Held, first: str) -> None:
    """Whoever waits for the lowest has locked none of the others."""

    def run() -> None:
        with patient(store.ledger()) as tx:
            WAITERS[first](held)(tx)

    with ThreadPoolExecutor(1) as threads:
        with store.ledger() as tx:
            tx.raw("select from jobs where id = %(id)s for update", {"id": held.ids[0]})
            begun = threads.submit(run)
            until_a_lock_is_waited_for(database, describe="nobody waits")
            with store.ledger() as other:
                free = other.raw("select id from jobs order by id for update skip locked")
        begun.result(timeout=30)
    assert [row.id for row in free] == held.ids[1:]


class Snoozed:
    """An undo that runs, and the older job that would wake its message."""

    def __init__(self, store: Database) -> None:
        self.org_id = make_account(store).org_id
        make_job_type(store, "actions.undo")
        make_job_type(store, "actions.unsnooze")
        self.wake = enqueue_one(store, self.org_id, "actions.unsnooze")
        self.worker = make_worker(store)
        self.undo = claim_one(store, enqueue_one(store, self.org_id, "actions.undo"), self.worker)

    def cancel_both(self, tx: Transaction) -> dict[UUID, str]:
        return ledger.cancel(tx, [self.undo.job_id, self.wake], "not wanted", by=Origin())

    def cancel_again(self, tx: Transaction) -> str:
        return str(undos.cancel_wake(tx, self.undo, self.wake))


@pytest.fixture
def snoozed(store: Database) -> Snoozed:
    return Snoozed(store)


def test_an_undo_does_not_wait_for_who_cancels_both_jobs(
    store: Database, database: Connection, snoozed: Snoozed
) -> None:
    """The cancellation holds the older one and waits for the undo's transaction."""

    def cancel() -> dict[UUID, str]:
        with patient(store.ledger()) as tx:
            return snoozed.cancel_both(tx)

    with ThreadPoolExecutor(1) as threads:
        with (
            pytest.raises(Busy, match="somebody else"),
            store.claimed(snoozed.org_id, snoozed.undo.job_id, snoozed.undo.token) as tx,
        ):
            tx.send()
            canceled = threads.submit(cancel)
            until_a_lock_is_waited_for(database, describe="nobody waits for the undo")
            snoozed.cancel_again(tx)
        assert canceled.result(timeout=30) == {snoozed.wake: "canceled", snoozed.undo.job_id: "running"}
    with store.claimed(snoozed.org_id, snoozed.undo.job_id, snoozed.undo.token) as tx:
        assert snoozed.cancel_again(tx) == "ran"


def test_a_node_that_gives_jobs_back_waits_for_no_handler(store: Database, snoozed: Snoozed) -> None:
    """What a handler's transaction has locked follows when that has ended."""
    claim_one(store, snoozed.wake, snoozed.worker)

    def give_back() -> tuple[set[UUID], set[UUID]]:
        with store.ledger() as tx:
            moved = recovery.return_claims(tx, snoozed.worker.node_id, LEASE)
        return set(moved.job_ids), set(moved.locked)

    with store.claimed(snoozed.org_id, snoozed.undo.job_id, snoozed.undo.token) as tx:
        tx.send()
        assert give_back() == ({snoozed.wake}, {snoozed.undo.job_id})
        assert snoozed.cancel_again(tx) == "canceled"
    assert give_back() == ({snoozed.undo.job_id}, set())


def test_an_undo_that_was_in_nobodys_way_cancels_the_waking_job(store: Database, snoozed: Snoozed) -> None:
    with store.claimed(snoozed.org_id, snoozed.undo.job_id, snoozed.undo.token) as tx:
        assert snoozed.cancel_again(tx) == "canceled"
