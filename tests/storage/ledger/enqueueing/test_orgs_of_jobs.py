"""Every job has its org: what a foreign key does row by row, done by statement and trigger."""

from uuid import uuid4

import pytest
from psycopg import Connection
from psycopg.errors import ForeignKeyViolation, LockNotAvailable

from domain.jobs.failures import Invalid
from domain.jobs.job import NewJob
from storage.ledger import ledger
from storage.postgres.database import Database
from tests.doubles.factories import HINT_TIMEOUT, enqueue_one, make_job_type, make_org


def test_no_job_is_an_unknown_orgs(store: Database, database: Connection) -> None:
    make_job_type(store)
    good, unknown = make_org(database), uuid4()
    with pytest.raises(Invalid, match="org_id: "), store.ledger() as tx:
        ledger.enqueue(
            tx, [NewJob("probe.run", org, {}) for org in (good, unknown)], publisher=True, hint_timeout=HINT_TIMEOUT
        )
    assert database.execute("select count(*) from jobs").fetchone() == (0,)


def test_an_org_with_jobs_cannot_be_deleted(store: Database, database: Connection) -> None:
    make_job_type(store)
    org, empty = make_org(database), make_org(database, "an empty org")
    enqueue_one(store, org)
    with pytest.raises(ForeignKeyViolation):
        database.execute("delete from orgs where id = %s", (org,))
    database.execute("delete from orgs where id = %s", (empty,))


def test_an_org_cannot_go_while_its_first_job_comes(store: Database, database: Connection) -> None:
    make_job_type(store)
    org = make_org(database)
    with store.ledger() as tx:
        ledger.enqueue(tx, [NewJob("probe.run", org, {})], publisher=True, hint_timeout=HINT_TIMEOUT)
        database.execute("set lock_timeout = '100ms'")
        with pytest.raises(LockNotAvailable):
            database.execute("delete from orgs where id = %s", (org,))
