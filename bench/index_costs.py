"""What an index on jobs or on the audit log costs each job: `python -m bench.index_costs [ROUNDS] [WORD]`.

Each index is measured in a database of its own beside one without it, in turns. The figure is the CPU time of the
PostgreSQL backend per job, which the machine's other load disturbs less than elapsed time.
"""

import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from uuid import UUID, uuid4

import psutil
import psycopg
from pydantic import SecretStr

from domain.jobs.job import NewJob, Origin, State
from domain.jobs.lifecycle import Settlement
from sandbox.servers.postgres_server import PostgresServer
from settings import Settings
from storage.jobs import job_types, ledger
from storage.jobs.job_types import JobType
from storage.jobs.ledger import Worker
from storage.postgres.database import Database, Transaction
from storage.postgres.migrate import upgrade

JOBS = 15_000
ORGS = 50
BATCH = 250
LEASE = timedelta(hours=1)
PREPARED = "prepared"
NAMED_TOGETHER = 5
"""Jobs that one request causes."""


class Family(NamedTuple):
    """What the jobs of a measurement have that they share."""

    has_parent: bool = False
    is_named: bool = False


ROOTS = Family()
FAMILIES: Mapping[str, Family] = {"children:": Family(has_parent=True), "named": Family(is_named=True)}
"""By the first word of a candidate's name; the jobs of all others are roots without a named correlation."""

NO_LOOK_UPS = "drop index audit_entries_other, audit_entries_correlation"
LISTS = "create index measured on jobs (org_id, created_at desc, id desc)"
CANDIDATES: Mapping[str, str] = {
    "none": "",
    "lists: org, created": LISTS,
    "lists: org, state, created": "create index measured on jobs (org_id, state, created_at desc, id desc)",
    "lists: created, org": "create index measured on jobs (created_at, id, org_id)",
    "lists: org, created, unfinished only": f"{LISTS} where finished_at is null",
    "lists: org, created, failed and canceled only": f"{LISTS} where error is not null or cancel_reason is not null",
    "lists: created, in block ranges": "create index measured on jobs using brin (created_at)",
    "children: jobs_parent as it stands": "",
    "children: without jobs_parent": "drop index jobs_parent",
    "audit: as it stands": "",
    "audit: no index to look events up": NO_LOOK_UPS,
    "audit: only by org, besides moves": "drop index audit_entries_correlation",
    "audit: only by correlation where named, first event": "drop index audit_entries_other",
    "audit: org, number": f"{NO_LOOK_UPS}; create index measured on audit_entries (org_id, id)",
    "audit: correlation": f"{NO_LOOK_UPS}; create index measured on audit_entries (correlation_id)",
    "named audit: as it stands": "",
    "named audit: no index to look events up": NO_LOOK_UPS,
    "named audit: correlation": f"{NO_LOOK_UPS}; create index measured on audit_entries (correlation_id)",
    "named jobs: correlation, where named": f"{NO_LOOK_UPS}; create index measured on jobs (correlation_id)"
    " where correlation_id <> id::text",
}


def main(rounds: int, wanted: str) -> None:
    """Measure each candidate that has the word in its name, in turns; print medians in microseconds of CPU per job."""
    names = [name for name in CANDIDATES if wanted in name or name == "none"]
    figures: dict[str, list[tuple[float, ...]]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder, PostgresServer(Path(folder) / "data", durable=False) as server:
        _prepare(server)
        for turn in range(rounds):
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                with _copy(server, CANDIDATES[name]) as settings:
                    figures[name].append(_measure(settings, FAMILIES.get(name.split()[0], ROOTS)))
            sys.stderr.write(f"round {turn + 1} of {rounds}\n")
    sys.stdout.write("| index | enqueue | claim | settlement |\n|---|---|---|---|\n")
    for name, rows in figures.items():
        medians = " | ".join(f"{statistics.median(column):.1f}" for column in zip(*rows, strict=True))
        sys.stdout.write(f"| {name} | {medians} |\n")


def _prepare(server: PostgresServer) -> None:
    """Fill a database once: finished jobs of all orgs, so that an index has some depth."""
    with psycopg.connect(server.url(), autocommit=True) as owner:
        owner.execute(f"create database {PREPARED}")
    settings = Settings(database_url=SecretStr(server.url(PREPARED)))
    upgrade(settings)
    store = Database(settings)
    with psycopg.connect(settings.database_url.get_secret_value(), autocommit=True) as owner:
        owner.execute("insert into orgs (name) select 'org ' || n from generate_series(1, %s) as n", (ORGS,))
    with store.ledger() as tx:
        job_types.publish(tx, [_noop()])
    store.dispose()
    _measure(settings, ROOTS)


def _noop() -> JobType:
    return JobType(
        "bench.noop", (), "default", 1, {}, 5, timedelta(minutes=5), None, None, timedelta(days=1), None, 1,
        providers=(),
    )  # fmt: skip


@contextmanager
def _copy(server: PostgresServer, index: str) -> Iterator[Settings]:
    name = f"measured_{uuid4().hex}"
    with psycopg.connect(server.url(), autocommit=True) as owner:
        owner.execute(f"create database {name} template {PREPARED}")
        url = server.url(name)
        with psycopg.connect(url, autocommit=True) as inside:
            if index:
                inside.execute(index)
            inside.execute("vacuum analyze")
        yield Settings(database_url=SecretStr(url))
        owner.execute(f"drop database {name} with (force)")


def _measure(settings: Settings, family: Family) -> tuple[float, ...]:
    """Enqueue, claim and settle jobs, with a parent or a correlation for each few of them if their family has one.

    Returns the backend's microseconds of CPU per job for each.
    """
    store = Database(settings)
    with store.ledger() as tx:
        orgs = [row.id for row in tx.raw("select id from orgs")]
        worker = Worker(uuid4(), uuid4(), "bench", 1)
        ledger.renew_lease(tx, worker, LEASE)
    with store.pinned() as tx:
        backend = psutil.Process(tx.raw("select pg_backend_pid() as pid")[0].pid)
        marks = [_cpu(backend)]
        enqueued = [_enqueue(tx, orgs, first, family) for first in range(0, JOBS, BATCH)]
        marks.append(_cpu(backend))
        claimed = [ledger.claim(tx, ids, worker.worker_id, lease=LEASE).jobs for ids in enqueued]
        marks.append(_cpu(backend))
        for held in claimed:
            ended = [Settlement(job.job_id, job.token, State.SUCCEEDED, started_at=datetime.now(UTC)) for job in held]
            ledger.settle(tx, ended)
        marks.append(_cpu(backend))
    store.dispose()
    return tuple((after - before) / JOBS * 1e6 for before, after in pairwise(marks))


def _enqueue(tx: Transaction, orgs: Sequence[UUID], first: int, family: Family) -> Sequence[UUID]:
    parent_id = uuid4() if family.has_parent else None
    names = [f"request {uuid4()}" for _ in range(0, BATCH, NAMED_TOGETHER)] if family.is_named else []
    origins = [Origin(correlation_id=name) for name in names for _ in range(NAMED_TOGETHER)] or [Origin()] * BATCH
    jobs = [
        NewJob(
            "bench.noop", orgs[(first + place) % len(orgs)], {"n": first + place}, parent_id=parent_id, origin=origin
        )
        for place, origin in enumerate(origins)
    ]
    answers = ledger.enqueue(tx, jobs, publisher=True, hint_timeout=LEASE, burst=BATCH)
    return [answer.job_id for answer in answers]


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 5, sys.argv[2] if sys.argv[2:] else "")
