"""A claim or a settlement that PostgreSQL refuses stops its own job, and no other of its batch."""

from datetime import timedelta
from uuid import UUID

import pytest
from psycopg import Connection, connect

from domain.jobs.job import NewJob
from domain.jobs.scheduling.backlog_demand import BacklogKey
from engine.broker.hints import Message, demand_message
from engine.runtime import Runtime
from storage.jobs import ledger
from tests.doubles.end_hooks import make_hook
from tests.doubles.factories import HINT_TIMEOUT, make_job_type, make_org, pass_time
from tests.engine.worker.test_loop import Broker, make_loop, turn_until_idle

NOOP = "probe_jobs.noop"


@pytest.fixture
def org(database: Connection, process: Runtime) -> UUID:
    make_job_type(process.database, NOOP)
    return make_org(database)


def enqueue(process: Runtime, *jobs: NewJob) -> list[UUID]:
    with process.database.ledger() as tx:
        return [one.job_id for one in ledger.enqueue(tx, jobs, publisher=True, hint_timeout=HINT_TIMEOUT, burst=0)]


def demand(org: UUID) -> Message:
    """A claim of one job of each priority, all in one batch."""
    return demand_message({BacklogKey("default", priority, org): 2 for priority in (0, 1, 2)})


def states(database: Connection, job_ids: list[UUID]) -> list[str]:
    rows: dict[UUID, str] = dict(database.execute("select id, state from jobs").fetchall())
    return [rows[job_id] for job_id in job_ids]


def test_a_hook_that_enqueues_the_key_of_a_job_in_the_batch_stops_no_claim(
    process: Runtime, org: UUID, database: Connection
) -> None:
    """The hook of an expired job changes the guard of a job that the same claim takes."""
    store = process.database
    make_job_type(store, NOOP, unique_mode="while_queued", unique_fields=("flow",))
    make_hook(
        database, "advance", f"perform postroom.enqueue('{NOOP}', (facts ->> 'org_id')::uuid, '{{\"flow\": 1}}');"
    )
    make_job_type(store, "probe.node", on_end="advance")
    soon = database.execute("select now() + interval '1 minute'").fetchone()
    assert soon is not None
    job_ids = enqueue(process, NewJob("probe.node", org, {}, expires_at=soon[0]), NewJob(NOOP, org, {"flow": 1}))
    pass_time(database, timedelta(minutes=2))
    broker, (loop, consumer) = Broker(), make_loop(process)
    loop.received(broker.message(demand(org)))
    for _ in range(2):
        loop.turn()
    assert (loop.database_away, consumer.pool.jobs, broker.acknowledged) == (False, job_ids[1:], 1)
    assert states(database, job_ids) == ["canceled", "claimed"]


def test_a_job_that_cannot_be_claimed_is_put_aside_and_the_others_are_claimed(
    process: Runtime, org: UUID, database: Connection
) -> None:
    job_ids = enqueue(process, *[NewJob(NOOP, org, {"place": place}, priority=place) for place in range(3)])
    refuse(database, "(new.payload ->> 'place')::int = 1 and new.state = 'claimed'")
    broker, (loop, consumer) = Broker(), make_loop(process)
    loop.received(broker.message(demand(org)))
    for _ in range(2):
        loop.turn()
    assert sorted(consumer.pool.jobs) == sorted([job_ids[0], job_ids[2]])
    assert (loop.database_away, broker.acknowledged, loop.health()["hinted"]) == (False, 1, 0)
    assert states(database, job_ids) == ["claimed", "queued", "claimed"]


def test_a_job_whose_end_cannot_be_written_dies_and_the_other_is_settled(
    process: Runtime, org: UUID, database: Connection
) -> None:
    job_ids = enqueue(process, *[NewJob(NOOP, org, {"place": place}, priority=place) for place in range(2)])
    broker, (loop, consumer) = Broker(), make_loop(process)
    loop.received(broker.message(demand(org)))
    loop.turn()
    refuse(database, "(new.payload ->> 'place')::int = 1 and new.state = 'succeeded'")
    loop.deliver(consumer.pool.reports(seconds=0.1))
    loop.turn()
    assert loop.idle
    assert states(database, job_ids) == ["succeeded", "dead"]


def test_a_settlement_that_waits_for_a_lock_is_written_later_and_holds_up_no_other(
    process: Runtime, org: UUID, database: Connection
) -> None:
    job_ids = enqueue(process, *[NewJob(NOOP, org, {"place": place}, priority=place) for place in range(2)])
    broker, (loop, consumer) = Broker(), make_loop(process)
    loop.received(broker.message(demand(org)))
    loop.turn()
    refuse(database, "(new.payload ->> 'place')::int = 1 and new.state = 'succeeded'", sqlstate="55P03")
    loop.deliver(consumer.pool.reports(seconds=0.1))
    loop.turn()
    assert (loop.idle, loop.database_away) == (False, False)
    assert states(database, job_ids) == ["succeeded", "claimed"]
    database.execute("drop trigger refuse on jobs")
    turn_until_idle(loop)
    assert states(database, job_ids) == ["succeeded"] * 2


def test_a_row_that_somebody_holds_keeps_no_other_of_its_batch_from_its_end(
    process: Runtime, org: UUID, database: Connection, database_url: str
) -> None:
    job_ids = enqueue(process, *[NewJob(NOOP, org, {"place": place}, priority=place) for place in range(2)])
    broker, (loop, consumer) = Broker(), make_loop(process)
    loop.received(broker.message(demand(org)))
    loop.turn()
    with connect(database_url) as holder:
        holder.execute("select from jobs where id = %s for share", (job_ids[1],))
        loop.deliver(consumer.pool.reports(seconds=0.1))
        loop.turn()
        assert states(database, job_ids) == ["succeeded", "claimed"]
        # What comes next does not wait with it.
        later = enqueue(process, NewJob(NOOP, org, {}))
        loop.received(broker.message(demand(org)))
        for _ in range(2):
            loop.turn()
            loop.deliver(consumer.pool.reports(seconds=0.1))
        loop.turn()
        assert states(database, [job_ids[1], *later]) == ["claimed", "succeeded"]
        assert (loop.idle, loop.database_away) == (False, False)
    turn_until_idle(loop)
    assert states(database, job_ids) == ["succeeded"] * 2


def test_a_guard_that_a_handler_holds_keeps_no_other_of_its_batch_from_its_end(
    process: Runtime, org: UUID, database: Connection
) -> None:
    """A handler has enqueued the same once more, and has not committed."""
    make_job_type(process.database, NOOP, unique_mode="while_active", unique_fields=("place",))
    job_ids = enqueue(process, *[NewJob(NOOP, org, {"place": place}, priority=place) for place in range(2)])
    broker, (loop, consumer) = Broker(), make_loop(process)
    loop.received(broker.message(demand(org)))
    loop.turn()
    with process.database.tenant(org) as tx:
        tx.raw(f"select postroom.enqueue('{NOOP}', %(org)s, '{{\"place\": 1}}')", {"org": org})
        loop.deliver(consumer.pool.reports(seconds=0.1))
        loop.turn()
        assert states(database, job_ids) == ["succeeded", "claimed"]
    turn_until_idle(loop)
    assert states(database, job_ids) == ["succeeded"] * 2


def refuse(database: Connection, condition: str, *, sqlstate: str = "27000") -> None:
    """Let PostgreSQL refuse each update of a job that meets the condition, as it refuses a conflict of two writers."""
    database.execute(
        "create function refuse() returns trigger language plpgsql as $$"
        f" begin raise exception 'refused' using errcode = '{sqlstate}'; end $$".encode()
    )
    database.execute(
        "create trigger refuse before update on jobs for each row"
        f" when ({condition}) execute function refuse()".encode()
    )
