"""Jobs leave the backlog by their claim, the oldest first, and no two processes get one."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import dict_row

from domain.jobs.job import NewJob, Origin
from domain.jobs.lifecycle import MOST_REFUSED_SUSPECTS, SUSPECT_REST, Settlement
from domain.jobs.scheduling.backlog_demand import BacklogKey
from settings import Settings
from storage.jobs import gates, ledger, recovery, relay
from storage.jobs.answers import ClaimResult
from storage.jobs.gates import Gate
from storage.jobs.ledger import Worker
from storage.postgres.database import Database
from storage.postgres.queries import statement
from tests.doubles.factories import HINT_TIMEOUT, LEASE, make_job_type, make_org, make_worker
from tests.invariants import check_ledger
from tests.waiting import eventually


@pytest.fixture
def org(database: Connection, store: Database) -> UUID:
    make_job_type(store, "probe.note")
    make_job_type(store, "probe.serial", serial_field="account_id")
    make_job_type(store, "probe.run")
    return make_org(database)


def fill(store: Database, org: UUID, count: int, job_type: str = "probe.note", *, priority: int = 0) -> list[UUID]:
    """So many jobs in an org's backlog."""
    with store.ledger() as tx:
        jobs = [NewJob(job_type, org, {"account_id": "ann"}, priority=priority) for _ in range(count)]
        return [one.job_id for one in ledger.enqueue(tx, jobs, publisher=True, hint_timeout=HINT_TIMEOUT, burst=0)]


def claim_from_backlog(store: Database, worker: Worker, org: UUID, count: int, *, priority: int = 0) -> ClaimResult:
    """Claim so many jobs from the backlog."""
    with store.ledger() as tx:
        demand = {BacklogKey("default", priority, org): count}
        return ledger.claim(tx, [], worker.worker_id, lease=LEASE, demand=demand)


def test_the_oldest_of_an_org_are_claimed_and_do_not_begin(store: Database, org: UUID, database: Connection) -> None:
    worker, job_ids = make_worker(store), fill(store, org, 10)
    fill(store, make_org(database, "another org"), 3)
    fill(store, org, 3, priority=5)
    claims = claim_from_backlog(store, worker, org, 4)
    assert {job.job_id for job in claims.jobs} == set(job_ids[:4])
    assert not any(job.started for job in claims.jobs)
    assert {job.job_id for job in claim_from_backlog(store, worker, org, 100).jobs} == set(job_ids[4:])
    assert claim_from_backlog(store, worker, org, 100).jobs == ()


def test_the_priorities_of_a_backlog_are_found(store: Database, org: UUID) -> None:
    for priority in (0, 5, 5, -100):
        fill(store, org, 2, priority=priority)
    with store.ledger() as tx:
        assert relay.backlog(tx, ["default", "exports"]) == {"default": [5, 0, -100]}


def test_one_statement_claims_from_several_backlogs_and_says_how_far_it_came_in_each(
    store: Database, org: UUID
) -> None:
    fill(store, org, 4, priority=5)
    fill(store, org, 2, "probe.run")
    fill(store, org, 2)
    demand = {BacklogKey("default", 0, org): 3, BacklogKey("default", 5, org): 2}
    with store.ledger() as tx:
        claims = ledger.claim(tx, [], make_worker(store).worker_id, lease=LEASE, demand=demand)
    assert Counter(job.job_type for job in claims.jobs) == {"probe.note": 3, "probe.run": 2}
    assert set(claims.cursors) == set(demand)


def test_no_job_begins_with_its_claim(store: Database, org: UUID, database: Connection) -> None:
    """Its worker knows when its turn has come, and a job that did not begin spends no attempt."""
    make_job_type(store, "probe.once", unique_mode="while_active", unique_fields=("account_id",))
    job_ids = fill(store, org, 1, "probe.once") + fill(store, org, 2, "probe.run")
    claims = claim_from_backlog(store, make_worker(store), org, 3)
    assert {job.job_id: (job.started, job.attempt) for job in claims.jobs} == dict.fromkeys(job_ids, (False, 1))
    assert database.execute("select distinct state, attempt from jobs").fetchall() == [("claimed", 0)]
    assert database.execute("select count(*) from audit_log where event = 'job.started'").fetchone() == (0,)


def test_two_processes_with_the_same_demand_get_different_jobs(store: Database, org: UUID) -> None:
    job_ids, (one, two) = fill(store, org, 6), (make_worker(store), make_worker(store))
    demand = {BacklogKey("default", 0, org): 4}
    with store.ledger() as first, store.ledger() as second:
        second.raw("set local lock_timeout = '1s'")
        taken = ledger.claim(first, [], one.worker_id, lease=LEASE, demand=demand)
        rest = ledger.claim(second, [], two.worker_id, lease=LEASE, demand=demand)
    assert (len(taken.jobs), len(rest.jobs)) == (4, 2)
    assert {job.job_id for job in (*taken.jobs, *rest.jobs)} == set(job_ids)


def test_a_hint_and_demand_for_one_job_claim_it_once(store: Database, org: UUID) -> None:
    worker, job_ids = make_worker(store), fill(store, org, 2)
    with store.ledger() as tx:
        demand = {BacklogKey("default", 0, org): 1}
        claims = ledger.claim(tx, job_ids, worker.worker_id, lease=LEASE, demand=demand)
    assert sorted(job.job_id for job in claims.jobs) == sorted(job_ids)


def test_gates_keys_and_cancels_hold_for_the_backlog_too(store: Database, org: UUID, database: Connection) -> None:
    worker, job_ids = make_worker(store), fill(store, org, 2, "probe.serial")
    claims = claim_from_backlog(store, worker, org, 2)
    assert ([job.job_id for job in claims.jobs], claims.refused) == ([job_ids[0]], {job_ids[1]: "serial"})
    with store.ledger() as tx:
        gates.close(tx, Gate("org", str(org), "a pause", None, "ada"))
    gated = fill(store, org, 1)
    assert claim_from_backlog(store, worker, org, 5).jobs == ()
    waiting = database.execute("select id, parked_by from jobs where backlog_since is null and state = 'queued'")
    assert dict(waiting.fetchall()) == {job_ids[1]: f"key:probe.serial:{org}:ann", gated[0]: f"gate:org:{org}"}
    with store.ledger() as tx:
        gates.open_gate(tx, "org", str(org))
        canceled = fill(store, org, 1)
        ledger.cancel(tx, canceled, "not wanted", by=Origin())
    assert claim_from_backlog(store, worker, org, 5).jobs == ()


def test_what_can_stand_against_a_claim_is_looked_at_in_the_backlog_too(
    store: Database, org: UUID, database: Connection
) -> None:
    make_job_type(store, "probe.once", unique_mode="while_active", unique_fields=("account_id",))
    (guarded,), (plain, suspect, expired) = fill(store, org, 1, "probe.once"), fill(store, org, 3)
    database.execute("update jobs set suspect = true where id = %s", (suspect,))
    database.execute("update jobs set expires_at = now() where id = %s", (expired,))
    claims = claim_from_backlog(store, make_worker(store), org, 5)
    assert {job.job_id: job.started for job in claims.jobs} == {plain: False, guarded: False, suspect: True}
    assert claims.refused == {expired: "expired"}
    assert database.execute("select status from idempotency_keys").fetchall() == [("running",)]
    with store.ledger() as tx:
        ledger.end_unclaimed(tx, list(claims.refused))
    check_ledger(database, open_jobs=3)


def test_a_job_that_moves_between_the_claims_snapshot_and_its_lock_waits_for_the_next(
    store: Database, org: UUID, settings: Settings, database: Connection
) -> None:
    (moving, still), worker = fill(store, org, 2), make_worker(store)
    # The statement as it is, but that it stands between the two for as long as this lock is held elsewhere.
    stands = statement("claim_jobs").replace("as open)", "as open, pg_advisory_xact_lock(1))")
    assert stands != statement("claim_jobs")
    line = {
        "queues": ["default"],
        "priorities": [0],
        "org_ids": [org],
        "counts": [5],
        "cursors": [],
    }
    suspects = {"alone": False, "suspects_rest": SUSPECT_REST, "most_suspect": MOST_REFUSED_SUSPECTS}
    claim_of = {"job_ids": [], "token": uuid4(), "worker_id": worker.worker_id, "lease": LEASE}
    given = claim_of | line | suspects
    database.execute("select pg_advisory_lock(1)")
    with (
        psycopg.connect(settings.database_url.get_secret_value(), autocommit=True, row_factory=dict_row) as other,
        ThreadPoolExecutor() as pool,
    ):
        claim = pool.submit(lambda: other.execute(stands.encode(), given).fetchall())
        waiting = (
            "select 1 from pg_locks where locktype = 'advisory' and not granted"
            " and database = (select oid from pg_database where datname = current_database())"
        )
        assert eventually(lambda: database.execute(waiting).fetchone(), within=10, describe="the claim to stand")
        database.execute("update jobs set progress = '{}' where id = %s", (moving,))
        database.execute("select pg_advisory_unlock(1)")
        assert [row["job_id"] for row in claim.result() if row["answer"] == "claimed"] == [still]
    assert [job.job_id for job in claim_from_backlog(store, worker, org, 5).jobs] == [moving]


def test_a_claim_begins_where_the_last_one_ended(store: Database, org: UUID) -> None:
    worker, old = make_worker(store), fill(store, org, 2)
    claims, line = claim_from_backlog(store, worker, org, 1), BacklogKey("default", 0, org)
    young = fill(store, org, 2)
    with store.ledger() as tx:
        cursors = {line: claims.cursors[line] + timedelta(microseconds=1)}
        rest = ledger.claim(tx, [], worker.worker_id, lease=LEASE, demand={line: 5}, cursors=cursors)
        assert {job.job_id for job in rest.jobs} == set(young)
        late = ledger.claim(tx, [], worker.worker_id, lease=LEASE, demand={line: 5})
    assert [job.job_id for job in late.jobs] == old[1:]
    assert rest.cursors[line] > late.cursors[line] == claims.cursors[line]
    assert claim_from_backlog(store, worker, org, 5).cursors == {}


def test_backlogs_are_counted_up_to_a_bound(store: Database, org: UUID, database: Connection) -> None:
    other = make_org(database, "another org")
    fill(store, org, 10)
    fill(store, other, 3)
    fill(store, other, 2, "probe.run")
    wanted = {
        BacklogKey("default", 0, org): 6,
        BacklogKey("default", 0, other): 100,
        BacklogKey("default", 0, uuid4()): 5,
    }
    with store.ledger() as tx:
        assert list(relay.count_backlog(tx, wanted).values()) == [6, 5, 0]
        # What is claimed is counted no more.
        ledger.claim(tx, [], make_worker(store).worker_id, lease=LEASE, demand={BacklogKey("default", 0, other): 2})
        assert list(relay.count_backlog(tx, wanted).values()) == [6, 3, 0]


def test_a_tenant_with_a_backlog_stays_over_its_burst(store: Database, org: UUID) -> None:
    fill(store, org, 1)
    with store.ledger() as tx:
        relay.clear_over_burst(tx, relay.backlog(tx, ["default"]))
        answer = ledger.enqueue(tx, [NewJob("probe.note", org, {})], publisher=True, hint_timeout=HINT_TIMEOUT)
    assert not answer[0].publish


def test_claims_that_nobody_heard_of_go_back_by_their_token(store: Database, org: UUID, database: Connection) -> None:
    worker, job_ids, token = make_worker(store), fill(store, org, 3), uuid4()
    kept = fill(store, org, 1, "probe.run")
    with store.ledger() as tx:
        ledger.claim(tx, kept, worker.worker_id, lease=LEASE)
        ledger.claim(tx, [], worker.worker_id, lease=LEASE, demand={BacklogKey("default", 0, org): 2}, token=token)
    with store.ledger() as tx:
        assert recovery.return_unanswered(tx, [token, uuid4()], LEASE).job_ids == set(job_ids[:2])
        assert recovery.return_unanswered(tx, [token], LEASE).job_ids == frozenset()
    said = database.execute(
        "select event, data ->> 'cause' from audit_log where job_id = %s order by id", (job_ids[0],)
    )
    assert said.fetchall() == [("job.enqueued", None), ("job.claimed", None), ("job.retried", "unanswered")]
    again = claim_from_backlog(store, worker, org, 5)
    assert {job.job_id for job in again.jobs} == set(job_ids)
    assert {job.attempt for job in again.jobs} == {1}
    with store.ledger() as tx:
        ledger.settle(tx, [Settlement.unstarted(job, "shutdown") for job in again.jobs])
    check_ledger(database, open_jobs=4)


def test_a_suspect_begins_with_its_claim(store: Database, org: UUID, database: Connection) -> None:
    worker = make_worker(store)
    fill(store, org, 1)
    claim_from_backlog(store, worker, org, 1)
    database.execute("update workers set lease_until = now() - interval '1 s'")
    database.execute("update jobs set next_check_at = now() - interval '1 s'")
    with store.ledger() as tx:
        assert recovery.rescue(tx, batch=10).job_ids
        ledger.renew_lease(tx, worker, timedelta(seconds=60))
    again = claim_from_backlog(store, worker, org, 1).jobs
    assert [(job.suspect, job.started) for job in again] == [(True, True)]
