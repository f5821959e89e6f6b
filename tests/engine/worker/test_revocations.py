"""What `celery control revoke` named is canceled beside the ledger loop, and a worker that stops leaves no promise."""

from uuid import UUID

import pytest
from psycopg import Connection, connect
from structlog.testing import capture_logs

from engine.runtime import Runtime
from tests.doubles.end_hooks import make_hook
from tests.doubles.factories import make_job_type, make_org
from tests.engine.worker.test_loop import fill, make_loop, states
from tests.waiting import eventually

NODE = "probe.node"
UNTIL_TOLD = """
  while exists (select from pg_locks where locktype = 'advisory' and objid = 7
      and database = (select oid from pg_database where datname = current_database())) loop
    perform pg_sleep(0.01);
  end loop;
"""
"""A hook's body that takes as long as the test holds its lock; it waits for no lock itself, which has a time limit."""


@pytest.fixture
def org(database: Connection, process: Runtime) -> UUID:
    make_job_type(process.database, NODE)
    return make_org(database)


def test_an_end_hook_that_takes_its_time_does_not_hold_up_the_loop(
    process: Runtime, org: UUID, database: Connection
) -> None:
    make_hook(database, "slow", UNTIL_TOLD)
    make_job_type(process.database, NODE, on_end="slow")
    loop, _ = make_loop(process)
    database.execute("select pg_advisory_lock(7)")
    assert loop.revocations.begin(fill(process, org, 1, NODE))
    loop.turn()
    assert states(database) == ["queued"], "the turn has ended before the hook"
    assert not loop.idle, "a worker that stops waits for what it has promised"
    database.execute("select pg_advisory_unlock(7)")
    eventually(lambda: loop.idle, describe="the job is canceled")
    assert states(database) == ["canceled"]


def test_a_worker_that_stops_promises_nothing_and_gives_up_what_is_locked(
    process: Runtime, org: UUID, database: Connection, database_url: str
) -> None:
    locked, free = fill(process, org, 2, NODE)
    loop, _ = make_loop(process)
    with connect(database_url) as holder, capture_logs() as logged:
        holder.execute("select from jobs where id = %s for update", (locked,))
        assert loop.revocations.begin([locked, free])
        eventually(lambda: "canceled" in states(database), describe="the free one is canceled")
        assert not loop.idle
        process.stopping.set()
        assert not loop.revocations.begin([free])
        eventually(lambda: loop.idle, describe="nothing is tried any more")
    assert states(database) == ["queued", "canceled"]
    given_up = [entry["jobs"] for entry in logged if entry["event"] == "revocations_given_up"]
    assert given_up == [[str(locked)]]
