"""Makes the rows and values that tests need, with defaults for every field that does not matter."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from psycopg import Connection

from domain.jobs.job import ClaimedJob, Hint, NewJob
from domain.jobs.queues import Queue
from domain.jobs.scheduling.backlog_demand import BacklogKey
from domain.jobs.scheduling.fairness import share
from domain.payloads import payload_types
from domain.payloads.own_packages import FLEET, package_of
from domain.payloads.shape import shape_of
from settings import Settings
from storage.jobs import gates, job_types, ledger, relay
from storage.jobs.job_types import JobType
from storage.jobs.ledger import Worker
from storage.postgres.database import Database

LEASE = timedelta(seconds=60)
HINT_TIMEOUT = timedelta(seconds=30)


def unmetered(_method: str, _units: int) -> None:
    """Count nothing: a client's meter where the fleet's limits do not matter."""


def make_settings(**given: Any) -> Settings:  # noqa: ANN401 - any setting's value
    """Settings with the given values, the rest by default; URLs may be plain text."""
    return Settings.model_validate(given)


def make_org(database: Connection, name: str = "an org") -> UUID:
    """An org, made as the owner."""
    row = database.execute("insert into orgs (name) values (%s) returning id", (name,)).fetchone()
    assert row is not None
    return UUID(str(row[0]))


def make_project(database: Connection, org_id: UUID, project_id: UUID | None = None) -> UUID:
    """A project of an org."""
    query = "insert into projects (id, org_id, name) values (coalesce(%s, uuidv7()), %s, 'a festival') returning id"
    (made,) = database.execute(query, (project_id, org_id)).fetchone() or (None,)
    return UUID(str(made))


def make_job_type(store: Database, name: str = "probe.run", **given: Any) -> JobType:  # noqa: ANN401 - any field's value
    """A job type, as the catalogue publishes it; one that this process has belongs to the package that has it."""
    known = payload_types.find(name)
    fields: dict[str, Any] = {
        "aliases": (),
        "queue": "default",
        "payload_version": 1,
        "payload_shape": shape_of({}),
        "max_attempts": 5,
        "deadline": timedelta(minutes=30),
        "unique_mode": None,
        "unique_fields": None,
        "keep_key_for": timedelta(days=30),
        "serial_field": None,
        "serial_limit": 1,
        "providers": (),
        "package": FLEET if known is None else package_of(known),
    }
    kind = JobType(name=name, **(fields | given))
    with store.ledger() as tx:
        job_types.publish(tx, [kind])
    return kind


def make_worker(store: Database, *, pid: int = 1, node_id: UUID | None = None) -> Worker:
    """A registered worker process."""
    worker = Worker(uuid4(), node_id or uuid4(), "host", pid)
    with store.ledger() as tx:
        ledger.renew_lease(tx, worker, LEASE)
    return worker


def enqueue_one(store: Database, org_id: UUID, job_type: str = "probe.run", **given: Any) -> UUID:  # noqa: ANN401 - any field
    """A queued job; returns its id."""
    with store.ledger() as tx:
        job = NewJob(job_type=job_type, org_id=org_id, payload=given.pop("payload", {}), **given)
        return ledger.enqueue(tx, [job], publisher=True, hint_timeout=HINT_TIMEOUT)[0].job_id


def relay_once(store: Database, *, burst: int = 20) -> list[Hint]:
    """All hints that one round of the relay would publish; what is in the backlog waits for demand."""
    with store.ledger() as tx:
        gates.forget_ended(tx)
        relay.unpark(tx, [park for park in relay.parks(tx, after="", most=1000, batch=1000) if park.room])
        return [*relay.publish_due(tx, batch=1000, hint_timeout=HINT_TIMEOUT, burst=burst).hints]


def claim_demanded(store: Database, *, room: int = 1000) -> list[UUID]:
    """The jobs of the backlog that are claimed when the relay sends demand for so much room in each queue."""
    claimed: list[UUID] = []
    with store.ledger() as tx:
        for queue, priorities in relay.backlog(tx, [queue.value for queue in Queue]).items():
            left = room
            for priority in priorities:
                tenants = relay.waiting_tenants(tx, queue, priority, start=UUID(int=0), most=1000)
                quotas, _ = share(left, tenants, None)
                wanted = {BacklogKey(queue, priority, org): quota for org, quota in quotas.items() if quota}
                demand = relay.count_backlog(tx, wanted) if wanted else {}
                worker = make_worker(store)
                claimed += [
                    job.job_id for job in ledger.claim(tx, [], worker.worker_id, lease=LEASE, demand=demand).jobs
                ]
                left -= sum(demand.values())
    return claimed


def claim_one(store: Database, job_id: UUID, worker: Worker | None = None) -> ClaimedJob:
    """A job that a worker has claimed and begun; fails when it could not be claimed."""
    worker = worker or make_worker(store)
    with store.ledger() as tx:
        claims = ledger.claim(tx, [job_id], worker.worker_id, lease=LEASE)
        assert claims.jobs, f"not claimed: {claims.refused}"
        (job,) = claims.jobs
        ledger.record_starts(tx, [(job.job_id, job.token, ledger.read_time(tx))])
    return job._replace(started=True)


def pass_time(database: Connection, span: timedelta) -> None:
    """Let time pass for the whole ledger, by moving all its times into the past."""
    columns = {
        "jobs": (
            "created_at",
            "run_at",
            "expires_at",
            "published_at",
            "next_check_at",
            "backlog_since",
            "claimed_at",
            "started_at",
            "finished_at",
        ),
        "workers": ("lease_until", "started_at"),
        "idempotency_keys": ("first_seen_at", "last_seen_at", "expires_at", "begun_at", "may_last_until"),
        "gates": ("until", "closed_at"),
        "serial_slots": ("taken_at",),
        "orgs_over_burst": ("since",),
        "accounts": ("sending_paused_until", "labels_until"),
        "automatic_answers": ("answered_at",),
        "outgoing_mails": ("send_began_at", "sent_at"),
        "backfills": ("next_page_at",),
        "bulk_actions": ("next_batch_at",),
        "emails": ("by_hand_at",),
        "workflow_runs": ("created_at", "deadline_at", "timer_at", "finished_at"),
        "workflow_nodes": ("wait_until", "started_at"),
        "workflow_events": ("at",),
    }
    for table, names in columns.items():
        moves = ", ".join(f"{name} = {name} - %(span)s" for name in names)
        database.execute(f"update {table} set {moves}", {"span": span})
