"""The audit log is counted once, whoever counts, and never past what may still be written."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.failures import Failure, Permanent, Transient
from domain.jobs.gate_causes import Cause
from domain.jobs.job import Cancel, Done, NewJob, Origin, Outcome, Snooze
from domain.jobs.lifecycle import LossCause, settlement_of
from domain.jobs.monitoring.counting import observed
from domain.jobs.monitoring.metrics import (
    ATTEMPTS,
    CLAIMS_LOST,
    DEAD_LETTERS,
    FAILED,
    JOB_TYPES,
    REFUSED_MESSAGES,
    SECONDS,
    TICKS,
    Metric,
)
from domain.jobs.queues import category_of
from domain.jobs.retry import STANDARD
from engine.catalogue import catalogue
from engine.counting.fleet_samples import samples_of
from engine.counting.job_counter import JobCounter
from engine.runtime import Runtime
from settings import Settings
from storage.jobs import gates, ledger, recovery, relay
from storage.jobs.audit_log import counting
from storage.jobs.gates import Gate
from storage.jobs.schedules import ticks
from storage.postgres.database import Database
from storage.postgres.queries import statement
from tests.doubles.factories import (
    HINT_TIMEOUT,
    claim_one,
    enqueue_one,
    make_job_type,
    make_org,
    make_worker,
    pass_time,
)

BEGAN = datetime.now(UTC) - timedelta(seconds=2)


@pytest.fixture
def org(database: Connection, store: Database) -> UUID:
    make_job_type(store)
    return make_org(database)


@pytest.fixture
def counter(settings: Settings) -> Iterator[JobCounter]:
    yield from made(settings)


@pytest.fixture
def other(settings: Settings) -> Iterator[JobCounter]:
    yield from made(settings)


def made(settings: Settings) -> Iterator[JobCounter]:
    runtime = Runtime(settings)
    yield JobCounter(runtime, interval_s=60)
    runtime.close()


def end(store: Database, org: UUID, outcome: Outcome | Failure, job_type: str = "probe.run") -> UUID:
    """A job that ends, or goes back, by this outcome."""
    job_id = enqueue_one(store, org, job_type)
    worker = make_worker(store)
    with store.ledger() as tx:
        (job,) = ledger.claim(tx, [job_id], worker.worker_id, lease=timedelta(minutes=1)).jobs
        tx.raw("update jobs set claimed_at = %(at)s where id = %(job)s", {"at": BEGAN, "job": job_id})
    settlement = settlement_of(job, outcome, STANDARD, datetime.now(UTC), 0.0, began_at=BEGAN, cost_microcents=5)
    with store.ledger() as tx:
        assert not ledger.settle(tx, [settlement]).refused
    return job_id


def values(counter: JobCounter, metric: str) -> dict[str, float]:
    """A counter's values by the third label, or the empty text."""
    assert counter.counts is not None
    return {one.label: total for one, total in counter.counts.totals.items() if one.metric == metric}


def test_every_way_of_ending_is_counted(store: Database, org: UUID, counter: JobCounter) -> None:
    make_job_type(store, "probe.paid", providers=("anthropic",))
    end(store, org, Done())
    end(store, org, Permanent("no", code="gmail.notADraft"))
    end(store, org, Transient("maybe"))
    end(store, org, Snooze(datetime.now(UTC) + timedelta(hours=1), "later"))
    end(store, org, Cancel("pointless"))
    end(store, org, Done(), job_type="probe.paid")
    canceled = enqueue_one(store, org)
    expired = enqueue_one(store, org, expires_at=datetime.now(UTC) - timedelta(seconds=1))
    with store.ledger() as tx:
        ledger.cancel(tx, [canceled], "not wanted", by=Origin())
        ledger.end_unclaimed(tx, [expired])
    counter.turn()
    assert counter.counts is not None
    assert sum(n for s, n in counter.counts.totals.items() if s.metric == "jobs_enqueued_total") == 8
    assert values(counter, "jobs_started_total")
    assert values(counter, "jobs_failed_total") == {"gmail.notADraft": 1}
    assert values(counter, "jobs_canceled_total") == {"canceled": 2, "expired": 1}
    assert values(counter, "jobs_retried_total") == {"failure": 1, "snooze": 1}
    assert values(counter, "jobs_cost_microcents_total") == {"": 5}
    buckets, seconds = observed(places(counter, "jobs_duration_seconds", "probe.run"), SECONDS)
    assert dict(buckets)["+Inf"] == 5
    assert dict(buckets)["1"] == 0
    assert seconds >= 10
    buckets, attempts = observed(places(counter, "jobs_attempts_histogram", "probe.run"), ATTEMPTS)
    assert (dict(buckets)["1"], attempts) == (2, 2)
    assert Counter(one.name for one in samples_of(counter.counts, 0.0)).most_common(1)[0][1] == 1


def shown(counter: JobCounter, metric: Metric) -> dict[tuple[str, ...], float]:
    """A metric's values as a scrape has them, by their labels."""
    assert counter.counts is not None
    return {sample.labels: sample.value for sample in samples_of(counter.counts, 0.0)[metric]}


def test_the_first_event_of_a_type_is_the_growth_of_a_counter_that_was_there(
    store: Database, org: UUID, counter: JobCounter
) -> None:
    counter.turn()
    types = {(job.name, job.queue.value) for job in catalogue} | {("unknown", "deadletter")}
    assert shown(counter, DEAD_LETTERS) == dict.fromkeys(types, 0)
    assert shown(counter, CLAIMS_LOST) == {(*one, cause.value): 0 for one in types for cause in LossCause}
    assert shown(counter, FAILED) == {}, "nobody knows the codes that handlers and providers bring"
    drafts = next(one for one in catalogue if one.name == "drafts.write")
    make_job_type(store, drafts.name, queue=drafts.queue.value, max_attempts=1)
    end(store, org, Transient("maybe"), job_type=drafts.name)
    counter.turn()
    labels = drafts.name, drafts.queue.value
    assert {one: value for one, value in shown(counter, DEAD_LETTERS).items() if value} == {labels: 1}
    assert shown(counter, DEAD_LETTERS).keys() == types
    assert shown(counter, FAILED) == {(*labels, "transient"): 1}


def places(counter: JobCounter, metric: str, job_type: str) -> dict[str, float]:
    assert counter.counts is not None
    totals = counter.counts.totals.items()
    return {one.label: total for one, total in totals if (one.metric, one.job_type) == (metric, job_type)}


def test_jobs_of_a_lost_worker_are_counted_until_they_are_poison(
    database: Connection, store: Database, org: UUID, counter: JobCounter
) -> None:
    job_id = enqueue_one(store, org)
    # The first loss makes it a suspect; each later one, alone in its worker, counts.
    for _ in range(4):
        pass_time(database, timedelta(minutes=1))  # a charged job rests
        claim_one(store, job_id)
        pass_time(database, timedelta(minutes=2))
        with store.ledger() as tx:
            recovery.rescue(tx, batch=10)
    counter.turn()
    assert values(counter, "jobs_claims_lost_total") == {"lost": 4}
    assert values(counter, "jobs_retried_total") == {"lost": 3}
    assert values(counter, "jobs_failed_total") == {"poison": 1}
    assert values(counter, "deadletter_total") == {"": 1}
    assert values(counter, "jobs_started_total") == {"": 4}


def test_what_is_not_committed_holds_the_count_up_and_is_not_passed_over(
    store: Database, org: UUID, counter: JobCounter
) -> None:
    enqueue_one(store, org)
    counter.turn()
    with store.ledger() as tx:
        with store.ledger() as late:
            # Its entry has the smaller number, and is committed last.
            ledger.enqueue(tx, [NewJob("probe.run", org, {})], publisher=True, hint_timeout=HINT_TIMEOUT)
            ledger.enqueue(late, [NewJob("probe.run", org, {})], publisher=True, hint_timeout=HINT_TIMEOUT)
        counter.turn()
        counter.turn()
        assert values(counter, "jobs_enqueued_total") == {"": 1}
    counter.turn()
    assert values(counter, "jobs_enqueued_total") == {"": 3}


def test_one_process_counts_and_the_next_goes_on_where_it_was(
    database: Connection, store: Database, org: UUID, counter: JobCounter, other: JobCounter
) -> None:
    enqueue_one(store, org)
    counter.turn()
    other.turn()
    assert other.counts is None
    enqueue_one(store, org)
    database.execute("update counting set held_at = held_at - interval '1 hour'")
    other.turn()
    counter.turn()
    assert counter.counts is None
    assert values(other, "jobs_enqueued_total") == {"": 2}


def test_a_turn_that_comes_back_after_its_place_was_taken_counts_nothing_twice(
    database: Connection, store: Database, org: UUID, counter: JobCounter, other: JobCounter
) -> None:
    for _ in range(5):
        enqueue_one(store, org)
        database.execute("update counting set holder = null, held_at = null")
        counter.turn()
        database.execute("update counting set holder = null, held_at = null")
        other.turn()
    assert values(other, "jobs_enqueued_total") == {"": 5}


def test_what_waits_is_measured(store: Database, org: UUID, counter: JobCounter) -> None:
    enqueue_one(store, org, run_at=datetime.now(UTC) - timedelta(minutes=5))
    enqueue_one(store, org, run_at=datetime.now(UTC) + timedelta(minutes=5))
    with store.ledger() as tx:
        relay.close_queue(tx, "exports")
    make_job_type(store, "probe.slow", queue="exports")
    enqueue_one(store, org, "probe.slow")
    claim_one(store, enqueue_one(store, org))
    counter.turn()
    assert counter.counts is not None
    samples = {metric.name: found for metric, found in samples_of(counter.counts, 0.0).items()}
    depth = {sample.labels: sample.value for sample in samples["queue_jobs"]}
    assert depth == {("default", "published"): 1, ("exports", "backlog"): 1, ("default", "held"): 1}
    ages = {sample.labels: sample.value for sample in samples["queue_oldest_job_age_seconds"]}
    assert 300 <= ages["default",] < 400
    assert ages["critical",] == 0
    assert [sample.value for sample in samples["workers_alive"]] == [1]


def test_each_job_type_is_shown_with_its_category(counter: JobCounter) -> None:
    counter.turn()
    assert counter.counts is not None
    shown = {sample.labels for sample in samples_of(counter.counts, 0.0)[JOB_TYPES]}
    assert shown == {(job.name, job.queue, category_of(job.name, job.queue)) for job in catalogue}
    assert ("audit.enrich", "maintenance", "audit_enrichment") in shown


def test_counting_and_measuring_read_no_finished_jobs(database: Connection, store: Database, org: UUID) -> None:
    """Among finished jobs a handful waits: what is asked every few seconds must not read the others."""
    with store.ledger() as tx:
        jobs = [NewJob("probe.run", org, {}) for _ in range(5000)]
        ids = [one.job_id for one in ledger.enqueue(tx, jobs, publisher=True, hint_timeout=HINT_TIMEOUT)]
    with store.ledger() as tx:
        ledger.cancel(tx, ids[:4990], "not wanted", by=Origin())
    database.execute("vacuum analyze jobs, audit_entries, dead_letters, idempotency_keys")
    given: dict[str, dict[str, object]] = {
        "count_events": {"after": 9_900, "upto": 10_000, "bounds": list(SECONDS)},
        "measure_queues": {"queues": ["default", "critical"], "most": counting.MOST_MEASURED},
        "measure_ledger": {"most": counting.MOST_MEASURED},
    }
    for name, parameters in given.items():
        with store.ledger() as tx:
            plan = "\n".join(row[0] for row in tx.raw(f"explain {statement(name)}", parameters))
        assert "Seq Scan on jobs " not in plan, plan
        assert "Seq Scan on audit_entries" not in plan, plan


def overdue(counter: JobCounter) -> dict[str, float]:
    """What the metric of beat's ticks shows, by the job."""
    assert counter.counts is not None
    return {sample.labels[0]: sample.value for sample in samples_of(counter.counts, 0.0)[TICKS]}


def test_ticks_are_overdue_by_the_time_after_their_own_and_none_is_shown_before_the_first(
    store: Database, database: Connection, counter: JobCounter
) -> None:
    counter.turn()
    assert overdue(counter) == {}
    with store.ledger() as tx:
        for name in ("maintenance.raise_alerts", "maintenance.full_sync"):
            ticks.note(tx, name)
    database.execute("update beat_ticks set ticked_at = now() - interval '11 minutes'")
    counter.turn()
    found = overdue(counter)
    assert found["maintenance.full_sync"] == 0
    assert 600 <= found["maintenance.raise_alerts"] < 660
    with store.ledger() as tx:
        gates.close(tx, Gate("job_type", "maintenance.raise_alerts", "a test", None, "ann", Cause.PAUSE))
    counter.turn()
    assert overdue(counter) == {"maintenance.full_sync": 0, "maintenance.raise_alerts": 0}


def test_refused_messages_of_the_hour_are_shown(counter: JobCounter, database: Connection) -> None:
    query = "insert into refused_messages (at, task, task_id, field, reason, sealed_content)"
    for age in ("0 minutes", "59 minutes", "61 minutes"):
        database.execute(f"{query} values (now() - interval '{age}', 'a', 'b', 'c', 'd', '')")
    counter.turn()
    assert counter.counts is not None
    assert [sample.value for sample in samples_of(counter.counts, 0.0)[REFUSED_MESSAGES]] == [2]
