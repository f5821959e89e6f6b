"""An undo cancels the job that would wake its message; an operator who cancels both jobs waits for it."""

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

from psycopg import Connection

from domain.jobs.job import Origin
from storage.actions import undos
from storage.ledger import ledger
from storage.postgres.database import Database
from tests.doubles.factories import claim_one, enqueue_one, make_job_type
from tests.doubles.mail_factories import make_account
from tests.waiting import until_a_lock_is_waited_for


def test_a_cancellation_of_an_undo_and_of_the_waking_job_does_not_deadlock_with_the_undo(
    store: Database, database: Connection
) -> None:
    account = make_account(store)
    make_job_type(store, "actions.undo")
    make_job_type(store, "actions.unsnooze")
    wake = enqueue_one(store, account.org_id, "actions.unsnooze")
    undo = claim_one(store, enqueue_one(store, account.org_id, "actions.undo"))

    def cancel_both() -> dict[UUID, str]:
        with store.ledger() as tx:
            return ledger.cancel(tx, [wake, undo.job_id], "not wanted", by=Origin())

    with ThreadPoolExecutor(1) as threads:
        with store.claimed(account.org_id, undo.job_id, undo.token) as tx:
            canceled = threads.submit(cancel_both)
            until_a_lock_is_waited_for(database, describe="nobody waits for the undo")
            assert undos.cancel_wake(tx, undo, wake) == "canceled"
        assert canceled.result(timeout=30) == {undo.job_id: "running"}
