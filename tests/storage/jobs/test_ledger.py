"""The ledger's verbs against a real PostgreSQL."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from domain.jobs.effects import EffectStatus, Standing, Strategy
from domain.jobs.job import Done, NewJob, Origin, Snooze, State
from domain.jobs.lifecycle import MAX_LOSSES, Settlement, settlement_of
from domain.jobs.retry import STANDARD
from storage.jobs import effects, gates, ledger, recovery, relay, retention
from storage.jobs.answers import Settled
from storage.jobs.gates import Gate
from storage.jobs.requests import as_requests
from storage.postgres.database import Database
from tests.doubles.factories import (
    HINT_TIMEOUT,
    LEASE,
    claim_demanded,
    claim_one,
    enqueue_one,
    make_job_type,
    make_org,
    make_worker,
    pass_time,
    relay_once,
)


@pytest.fixture
def org(database: Connection, store: Database) -> UUID:
    make_job_type(store)
    make_job_type(store, "deadletter.quarantine", queue="deadletter")
    return make_org(database)


def state_of(database: Connection, job_id: UUID) -> str:
    row = database.execute("select state from jobs where id = %s", (job_id,)).fetchone()
    assert row is not None
    return str(row[0])


def events_of(database: Connection, job_id: UUID) -> list[str]:
    rows = database.execute("select event from audit_log where job_id = %s order by id", (job_id,)).fetchall()
    return [str(row[0]) for row in rows]


def finish(store: Database, job_id: UUID, token: UUID, state: State = State.SUCCEEDED) -> Settled:
    error = {"code": "x", "reason": "x"} if state in {State.FAILED, State.DEAD} else None
    with store.ledger() as tx:
        return ledger.settle(tx, [Settlement(job_id, token, state, output={"n": 1}, error=error)])


def test_ac_28_a_job_goes_from_queued_to_succeeded_with_a_whole_audit_log(
    database: Connection, store: Database, org: UUID
) -> None:
    job_id = enqueue_one(store, org, payload={"n": 1})
    job = claim_one(store, job_id)
    assert (job.payload, job.attempt, job.max_attempts) == ({"n": 1}, 1, 5)
    assert not finish(store, job_id, job.token).refused
    assert state_of(database, job_id) == "succeeded"
    assert events_of(database, job_id) == ["job.enqueued", "job.started", "job.succeeded"]


def test_ac_29_of_two_claims_one_gets_the_job(store: Database, org: UUID) -> None:
    job_id = enqueue_one(store, org)
    first, second = make_worker(store), make_worker(store)
    claim_one(store, job_id, first)
    with store.ledger() as tx:
        claims = ledger.claim(tx, [job_id], second.worker_id, lease=LEASE)
    assert (claims.jobs, claims.refused) == ((), {})


def test_a_lost_claim_settles_nothing(database: Connection, store: Database, org: UUID) -> None:
    job_id = enqueue_one(store, org)
    job = claim_one(store, job_id)
    assert finish(store, job_id, uuid4()).refused == (job_id,)
    assert state_of(database, job_id) == "running"
    assert not finish(store, job_id, job.token).refused
    assert finish(store, job_id, job.token, State.FAILED).refused == (job_id,)
    assert state_of(database, job_id) == "succeeded"


def test_of_several_claims_of_a_job_those_that_were_lost_are_refused(store: Database, org: UUID) -> None:
    job_id = enqueue_one(store, org)
    token = claim_one(store, job_id).token
    with store.ledger() as tx:
        claims = [Settlement(job_id, name, State.SUCCEEDED) for name in (uuid4(), token, uuid4())]
        assert ledger.settle(tx, claims).refused == (job_id, job_id)


def test_of_several_claims_of_a_job_only_the_one_that_holds_has_children(
    database: Connection, store: Database, org: UUID
) -> None:
    job = claim_one(store, enqueue_one(store, org))
    other = claim_one(store, enqueue_one(store, org))
    born = as_requests([job.child(NewJob("probe.run", org, {"place": place})) for place in range(2)])
    with store.ledger() as tx:
        claims = [Settlement(job.job_id, one, State.SUCCEEDED, children=born) for one in (uuid4(), job.token)]
        # Its token is that of a claim which holds, on another job.
        settled = ledger.settle(tx, [*claims, Settlement(other.job_id, job.token, State.SUCCEEDED, children=born)])
    assert sorted(settled.refused) == sorted([job.job_id, other.job_id])
    made = database.execute("select id, payload ->> 'place' from jobs where parent_id = %s", (job.job_id,)).fetchall()
    assert sorted(place for _, place in made) == ["0", "1"]
    assert {hint.job_id for hint in settled.hints} == {job_id for job_id, _ in made}
    with store.ledger() as tx:
        assert ledger.settle(tx, claims).refused == (job.job_id, job.job_id), "an answer was lost, and it is sent again"
    assert database.execute("select count(*) from jobs where parent_id is not null").fetchone() == (2,)


def test_ac_32_a_silent_workers_job_is_rescued_and_its_late_writes_are_refused(
    database: Connection, store: Database, org: UUID
) -> None:
    job_id = enqueue_one(store, org)
    job = claim_one(store, job_id)
    pass_time(database, LEASE + timedelta(seconds=1))
    with store.ledger() as tx:
        assert recovery.rescue(tx, batch=10).job_ids == {job_id}
    assert state_of(database, job_id) == "queued"
    assert finish(store, job_id, job.token).refused == (job_id,)
    assert events_of(database, job_id)[-1] == "job.retried"


def test_a_living_worker_keeps_its_long_job(database: Connection, store: Database, org: UUID) -> None:
    job_id = enqueue_one(store, org)
    worker = make_worker(store)
    claim_one(store, job_id, worker)
    pass_time(database, LEASE + timedelta(seconds=1))
    with store.ledger() as tx:
        ledger.renew_lease(tx, worker, LEASE)
        assert recovery.rescue(tx, batch=10).job_ids == frozenset()
    assert state_of(database, job_id) == "running"


def test_ac_03_expire_stale_jobs_function(database: Connection, store: Database, org: UUID) -> None:
    """An attempt past its deadline loses its claim although its worker lives (docs: seeds.md#003-24)."""
    make_job_type(store, "probe.quick", deadline=timedelta(seconds=20))
    job_id = enqueue_one(store, org, "probe.quick")
    worker = make_worker(store)
    claim_one(store, job_id, worker)
    pass_time(database, timedelta(seconds=21))
    with store.ledger() as tx:
        assert recovery.rescue(tx, batch=10).job_ids == {job_id}
    assert state_of(database, job_id) == "queued"


def test_a_job_that_keeps_losing_its_worker_is_poison(database: Connection, store: Database, org: UUID) -> None:
    job_id = enqueue_one(store, org)
    for _ in range(1 + MAX_LOSSES):  # the first time others may have done it
        pass_time(database, timedelta(minutes=1))  # a charged job rests
        claim_one(store, job_id)
        pass_time(database, LEASE + timedelta(seconds=1))
        with store.ledger() as tx:
            recovery.rescue(tx, batch=10)
    assert state_of(database, job_id) == "dead"
    letter = database.execute("select reason, plan, history from dead_letters where job_id = %s", (job_id,)).fetchone()
    assert letter is not None
    assert "worker process was lost" in letter[0]
    assert [h["event"] for h in letter[2]].count("job.started") == 1 + MAX_LOSSES
    assert events_of(database, job_id)[-2:] == ["job.failed", "job.deadlettered"]
    quarantine = database.execute("select payload from jobs where job_type = 'deadletter.quarantine'").fetchall()
    assert quarantine == [({"job_id": str(job_id)},)]


def test_ac_13_expire_stale_service(database: Connection, store: Database, org: UUID) -> None:
    """A rescue says which jobs it moved, and costs a job that never began nothing (docs: seeds.md#003-38)."""
    job_id = enqueue_one(store, org)
    with store.ledger() as tx:
        ledger.claim(tx, [job_id], make_worker(store).worker_id, lease=LEASE)
    assert state_of(database, job_id) == "claimed"
    pass_time(database, LEASE + timedelta(seconds=1))
    with store.ledger() as tx:
        assert [len(recovery.rescue(tx, batch=10).job_ids) for _ in range(2)] == [1, 0]
    assert database.execute("select state, attempt, losses from jobs").fetchall() == [("queued", 0, 0)]


def test_a_stopping_node_gives_its_jobs_and_their_attempts_back(
    database: Connection, store: Database, org: UUID
) -> None:
    job_id = enqueue_one(store, org)
    worker = make_worker(store)
    job = claim_one(store, job_id, worker)
    with store.ledger() as tx:
        assert recovery.return_claims(tx, worker.node_id, LEASE).job_ids == {job_id}
    assert database.execute("select state, attempt, losses from jobs").fetchall() == [("queued", 0, 0)]
    assert finish(store, job_id, job.token).refused == (job_id,)


def test_early_expired_and_canceled_jobs_are_not_claimed(database: Connection, store: Database, org: UUID) -> None:
    now = datetime.now(UTC)
    early = enqueue_one(store, org, run_at=now + timedelta(hours=1))
    expired = enqueue_one(store, org, expires_at=now - timedelta(seconds=1))
    canceled = enqueue_one(store, org)
    with store.ledger() as tx:
        assert ledger.cancel(tx, [canceled], "not needed", by=Origin()) == {canceled: "canceled"}
    with store.ledger() as tx:
        claims = ledger.claim(tx, [early, expired, canceled], make_worker(store).worker_id, lease=LEASE)
        ledger.end_unclaimed(tx, list(claims.refused))
    assert claims.jobs == ()
    assert claims.refused == {early: "early", expired: "expired"}
    reasons = database.execute("select cancel_reason from jobs where state = 'canceled' order by 1").fetchall()
    assert reasons == [("expired",), ("not needed",)]


def test_a_gate_keeps_jobs_queued_and_unpublished(store: Database, org: UUID) -> None:
    with store.ledger() as tx:
        gates.close(tx, Gate("queue", "default", "maintenance", None, "an operator"))
        enqueued = ledger.enqueue(tx, [NewJob("probe.run", org, {})], publisher=True, hint_timeout=HINT_TIMEOUT)
    assert not enqueued[0].publish
    with store.ledger() as tx:
        assert ledger.claim(tx, [enqueued[0].job_id], make_worker(store).worker_id, lease=LEASE).refused == {
            enqueued[0].job_id: "gated"
        }
        assert gates.open_gate(tx, "queue", "default")
    assert relay_once(store) == []
    assert claim_demanded(store) == [enqueued[0].job_id]


def test_a_job_whose_hint_was_lost_is_claimed_by_demand(database: Connection, store: Database, org: UUID) -> None:
    slow = enqueue_one(store, org)
    assert relay_once(store) == []
    assert claim_demanded(store) == []
    pass_time(database, HINT_TIMEOUT + timedelta(seconds=1))
    assert relay_once(store) == []
    assert claim_demanded(store) == [slow]
    recalled = enqueue_one(store, org)
    with store.ledger() as tx:
        assert relay.recall_hints(tx, batch=10) == 1
    assert claim_demanded(store) == [recalled]


def test_one_job_per_concurrency_key_runs_and_the_next_is_called(store: Database, org: UUID) -> None:
    make_job_type(store, "probe.serial", serial_field="account_id")
    first, second, other = (
        enqueue_one(store, org, "probe.serial", payload={"account_id": account, "n": n})
        for n, account in enumerate(("a", "a", "b"))
    )
    worker = make_worker(store)
    with store.ledger() as tx:
        claims = ledger.claim(tx, [first, second, other], worker.worker_id, lease=LEASE)
    assert {job.job_id for job in claims.jobs} == {first, other}
    assert claims.refused == {second: "serial"}
    held = next(job for job in claims.jobs if job.job_id == first)
    moved = finish(store, first, held.token)
    assert [hint.job_id for hint in moved.hints] == [second]
    claim_one(store, second, worker)


@pytest.mark.parametrize(
    ("mode", "queued", "running", "ended"),
    [("while_queued", False, True, True), ("while_active", False, False, True), ("for_ttl", False, False, False)],
)
def test_when_a_second_job_of_a_key_is_accepted(
    store: Database, org: UUID, mode: str, queued: bool, running: bool, ended: bool
) -> None:
    make_job_type(store, "probe.unique", unique_mode=mode, unique_fields=("account_id",))

    def again() -> bool:
        new = NewJob("probe.unique", org, {"account_id": "a", "n": str(uuid4())})
        with store.ledger() as tx:
            answer = ledger.enqueue(tx, [new], publisher=True, hint_timeout=HINT_TIMEOUT)[0]
            created = answer.created
            if created:
                ledger.cancel(tx, [answer.job_id], "only asked", by=Origin())
        return created

    first = enqueue_one(store, org, "probe.unique", payload={"account_id": "a"})
    assert again() is queued
    job = claim_one(store, first)
    assert again() is running
    finish(store, first, job.token)
    assert again() is ended


def test_a_refused_enqueue_names_the_job_that_was_there_first(store: Database, org: UUID) -> None:
    make_job_type(store, "probe.unique", unique_mode="while_active")
    jobs = [NewJob("probe.unique", org, {"a": 1, "b": 2}), NewJob("probe.unique", org, {"b": 2, "a": 1})]
    with store.ledger() as tx:
        first, second = ledger.enqueue(tx, jobs, publisher=True, hint_timeout=HINT_TIMEOUT)
    assert (first.created, second.created) == (True, False)
    assert first.job_id == second.job_id


def test_a_job_that_is_handed_over_again_takes_its_key_no_second_time(
    database: Connection, store: Database, org: UUID
) -> None:
    make_job_type(store, "probe.sole", unique_mode="while_queued")
    first = enqueue_one(store, org, "probe.sole", job_id=uuid4())
    finish(store, first, claim_one(store, first).token)
    # Its answer was lost, or the broker delivered it twice.
    assert enqueue_one(store, org, "probe.sole", job_id=first) == first
    assert database.execute("select status from idempotency_keys").fetchall() == [("succeeded",)]
    second = enqueue_one(store, org, "probe.sole", job_id=uuid4())
    assert second != first
    assert enqueue_one(store, org, "probe.sole", job_id=first) == first
    assert database.execute("select job_id, status from idempotency_keys").fetchall() == [(second, "pending")]


def test_a_guard_past_its_time_is_free(database: Connection, store: Database, org: UUID) -> None:
    make_job_type(store, "probe.unique", unique_mode="for_ttl", keep_key_for=timedelta(hours=1))
    first = enqueue_one(store, org, "probe.unique")
    assert enqueue_one(store, org, "probe.unique") == first
    finish(store, first, claim_one(store, first).token)
    pass_time(database, timedelta(minutes=59))
    assert enqueue_one(store, org, "probe.unique") == first
    pass_time(database, timedelta(minutes=1, seconds=1))
    assert enqueue_one(store, org, "probe.unique") != first


def test_a_snoozed_job_keeps_its_attempt_and_waits(database: Connection, store: Database, org: UUID) -> None:
    job = claim_one(store, enqueue_one(store, org))
    until = datetime.now(UTC) + timedelta(minutes=10)
    settlement = settlement_of(job, Snooze(until, "later"), STANDARD, datetime.now(UTC), 0.5)
    assert settlement is not None
    with store.ledger() as tx:
        ledger.settle(tx, [settlement])
    assert relay_once(store) == []
    assert database.execute("select state, attempt, run_at from jobs").fetchall() == [("queued", 0, until)]


def test_ac_07_a_rolled_back_enqueue_leaves_nothing(database: Connection, store: Database, org: UUID) -> None:
    with pytest.raises(ZeroDivisionError), store.ledger() as tx:
        ledger.enqueue(tx, [NewJob("probe.run", org, {})], publisher=True, hint_timeout=HINT_TIMEOUT)
        raise ZeroDivisionError
    for table in ("jobs", "audit_log"):
        assert database.execute(f"select count(*) from {table}").fetchone() == (0,)


def test_the_sql_door_enqueues_and_finds_the_key_again(database: Connection, store: Database, org: UUID) -> None:
    make_job_type(store, "probe.unique", unique_mode="while_queued", aliases=("OLD_NAME",))
    call = "select postroom.enqueue('OLD_NAME', %s, '{\"n\": 1}', actor_id => 'billing')"
    first, second = (database.execute(call, (org,)).fetchone() for _ in range(2))
    assert first is not None
    assert first == second
    assert claim_demanded(store) == [first[0]]
    actor = database.execute("select actor_id, job_type from jobs").fetchall()
    assert actor == [("billing", "probe.unique")]


def test_retention_deletes_finished_jobs_only(database: Connection, store: Database, org: UUID) -> None:
    done, open_job = enqueue_one(store, org), enqueue_one(store, org)
    finish(store, done, claim_one(store, done).token)
    pass_time(database, timedelta(days=8))
    with store.ledger() as tx:
        assert retention.delete_finished(tx, keep_for=timedelta(days=7), batch=10).deleted == 1
    assert database.execute("select id from jobs").fetchall() == [(open_job,)]
    assert events_of(database, done) == ["job.enqueued", "job.started", "job.succeeded"]


def test_ac_11_complete_with_output(store: Database, database: Connection, org: UUID) -> None:
    """What a handler returns is the output of a job that succeeded (docs: seeds.md#003-35)."""
    job = claim_one(store, enqueue_one(store, org))
    settlement = settlement_of(job, Done({"n": 2}), STANDARD, datetime.now(UTC), 0.0)
    with store.ledger() as tx:
        assert not ledger.settle(tx, [settlement]).refused
    assert database.execute("select state, output from jobs").fetchall() == [("succeeded", {"n": 2})]


def test_a_lost_answer_costs_a_suspect_no_attempt(store: Database, database: Connection, org: UUID) -> None:
    """Its claim began it; only the ledger knows that there is an attempt to return."""
    job_id, worker = enqueue_one(store, org), make_worker(store)
    database.execute("update jobs set suspect = true, attempt = 2 where id = %s", (job_id,))
    token = uuid4()
    with store.ledger() as tx:
        (job,) = ledger.claim(tx, [job_id], worker.worker_id, lease=LEASE, token=token).jobs
        assert (job.started, job.attempt) == (True, 3)
        assert recovery.return_unanswered(tx, [token], LEASE).job_ids == {job_id}
    assert database.execute("select state, attempt from jobs").fetchall() == [("queued", 2)]


def test_a_claim_that_was_never_begun_gives_no_earlier_attempt_back(
    store: Database, database: Connection, org: UUID
) -> None:
    job_id, worker = enqueue_one(store, org), make_worker(store)
    database.execute("update jobs set attempt = 2 where id = %s", (job_id,))
    with store.ledger() as tx:
        (job,) = ledger.claim(tx, [job_id], worker.worker_id, lease=LEASE).jobs
        ledger.settle(tx, [Settlement.unstarted(job, "shutdown")])
    assert database.execute("select state, attempt from jobs").fetchall() == [("queued", 2)]
    assert events_of(database, job_id) == ["job.enqueued", "job.claimed", "job.retried"]


def test_jobs_of_one_claim_do_not_take_an_effect_from_each_other(store: Database, org: UUID) -> None:
    """They have the same token, and threads run them at the same time."""
    job_ids = [enqueue_one(store, org), enqueue_one(store, org)]
    with store.ledger() as tx:
        first, second = ledger.claim(tx, job_ids, make_worker(store).worker_id, lease=LEASE).jobs
    assert first.token == second.token
    with store.ledger() as tx:
        assert effects.begin_effect(tx, first, "send", Strategy.FIND).standing is Standing.ACT
        assert effects.begin_effect(tx, second, "send", Strategy.FIND).standing is Standing.BUSY
        assert not effects.finish_effect(tx, second, "send", EffectStatus.FAILED, error={"code": "x"})
        assert effects.finish_effect(tx, first, "send", EffectStatus.SUCCEEDED, result={})
