"""Every job has its org: what a foreign key does row by row, done by statement, and orgs stay."""

from uuid import uuid4

import pytest
from psycopg import Connection
from psycopg.errors import ForeignKeyViolation

from domain.jobs.failures import Invalid
from domain.jobs.job import NewJob
from storage.jobs import ledger
from storage.postgres.database import Database
from tests.doubles.factories import HINT_TIMEOUT, make_job_type, make_org


def test_no_job_is_an_unknown_orgs(store: Database, database: Connection) -> None:
    make_job_type(store)
    good, unknown = make_org(database), uuid4()
    with pytest.raises(Invalid, match="org_id: "), store.ledger() as tx:
        ledger.enqueue(
            tx, [NewJob("probe.run", org, {}) for org in (good, unknown)], publisher=True, hint_timeout=HINT_TIMEOUT
        )
    assert database.execute("select count(*) from jobs").fetchone() == (0,)


def test_an_org_is_never_deleted(database: Connection) -> None:
    org = make_org(database)
    with pytest.raises(ForeignKeyViolation, match="never deleted"):
        database.execute("delete from orgs where id = %s", (org,))


def test_an_enqueue_waits_for_nobody_who_has_locked_the_org(store: Database, database: Connection) -> None:
    make_job_type(store)
    org = make_org(database)
    jobs = [NewJob("probe.run", org, {})]
    with database.transaction():
        database.execute("select from orgs where id = %s for update", (org,))
        for some in (jobs, jobs * 2):
            with store.ledger() as tx:
                assert ledger.enqueue(tx, some, publisher=True, hint_timeout=HINT_TIMEOUT)
