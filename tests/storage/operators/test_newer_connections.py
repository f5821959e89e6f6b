"""What a job from before a new connection of its account would do again is nobody's order any more."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from psycopg import Connection, connect

from domain.jobs.failures import Conflict
from domain.jobs.job import NewJob
from storage.accounts.accounts import Account
from storage.ledger import ledger
from storage.operators.replays import check_connection
from storage.postgres.database import Database, Transaction
from tests.doubles.factories import make_job_type
from tests.doubles.mail_factories import make_account
from tests.waiting import eventually


def check(tx: Transaction, org_id: UUID, account: Account) -> None:
    """Judge a job of yesterday by the one that would do it again."""
    job = NewJob("probe.run", org_id, {"account_id": str(account.account_id)})
    again = ledger.enqueue(tx, [job], publisher=False, hint_timeout=timedelta(0))[0].job_id
    check_connection(tx, job, again, made_at=datetime.now(UTC) - timedelta(days=1))


def test_an_account_of_another_org_that_a_payload_names_keeps_no_job_back(store: Database) -> None:
    """A payload may name what it likes; it tells nothing about another org."""
    make_job_type(store)
    own, foreign = make_account(store), make_account(store, org="another org", email="you@example.com")
    with store.ledger() as tx:
        with pytest.raises(Conflict, match="connected anew"):
            check(tx, own.org_id, own)
        check(tx, own.org_id, foreign)


def test_a_connection_that_is_under_way_is_waited_for(store: Database, database: Connection, database_url: str) -> None:
    make_job_type(store)
    account = make_account(store)
    database.execute("update accounts set connected_at = now() - interval '2 days'")

    def judge() -> None:
        with store.ledger() as tx:
            check(tx, account.org_id, account)

    judge()
    with connect(database_url) as connecting, ThreadPoolExecutor(1) as pool:
        connecting.execute("update accounts set connected_at = now()")
        judged = pool.submit(judge)
        blocked = "select count(*) from pg_locks where not granted"
        eventually(lambda: judged.done() or database.execute(blocked).fetchone() != (0,), describe="it waits or ends")
        connecting.commit()
        with pytest.raises(Conflict, match="connected anew"):
            judged.result()
