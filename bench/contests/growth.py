"""Growth: a job's cost in a database with few finished rows, with millions, and with a million scheduled ones."""

import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from uuid import UUID

import psycopg

from bench.contenders.ours import TEMPLATE
from bench.contest import Contest, Target, take_turns
from bench.setup import ContestGroup, Setup, Sizes
from bench.stores import bulk_sql
from domain.jobs.job import NewJob, State
from domain.jobs.lifecycle import Settlement
from domain.jobs.scheduling.backlog_demand import BacklogKey, Demand
from engine.runtime import Runtime
from engine.worker.lease import renew
from storage.jobs import ledger, relay

BATCH, BATCHES = 100, 40
FLAT = Target("ratio", "at least", round(1 / 1.15, 3))
CHUNK = 250_000
BASE, SCHEDULED = "growth_base", "growth_scheduled"


def run_contests(setup: Setup) -> Iterable[Contest]:
    """Microseconds per job for enqueue, relay, claim and settle in batches of 100, on all databases in turns."""
    few = setup.sizes.finished_rows[0]
    wanted = {name: rows for name, rows in databases(setup.sizes).items() if setup.wants(name)}
    cases = {BASE: (few, 0)} | wanted
    for name, (finished, scheduled) in cases.items():
        began = time.perf_counter()
        fill(setup, name, finished, scheduled)
        setup.print_line(
            f"{name}: {finished:,} finished and {scheduled:,} scheduled rows in {time.perf_counter() - began:.0f} s"
        )
    runners: dict[str, Callable[[], float]] = {name: _runner(setup, name) for name in cases}
    rounds = take_turns(runners, 2 * setup.sizes.rounds, lambda line: setup.print_line(f"microseconds per job, {line}"))
    setup.note_dropped("growth", dict(rounds.dropped))
    for name, (finished, scheduled) in cases.items():
        if name != BASE and name in rounds.figures:
            facts = {"finished_rows": finished, "scheduled_rows": scheduled, "peer_setting": f"{few:,} finished rows"}
            ours, base = rounds.figures[name], rounds.figures[BASE]
            yield Contest(name, ours, base, unit="us per job", better="lower", targets=(FLAT,), facts=facts)


def databases(sizes: Sizes) -> dict[str, tuple[int, int]]:
    """Each contest's finished and scheduled rows."""
    few, *many = sizes.finished_rows
    finished = {f"growth_{_short(rows)}_finished": (rows, 0) for rows in many}
    return finished | {f"growth_{_short(sizes.scheduled_rows)}_scheduled": (few, sizes.scheduled_rows)}


GROUP = ContestGroup("growth", databases, run_contests)


def fill(setup: Setup, database: str, finished: int, scheduled: int) -> None:
    """Copy the migrated database and fill the copy in bulk; only for these rows the check for secrets is dropped."""
    setup.ours  # noqa: B018  # the template must stand
    setup.stores.make_database(database, TEMPLATE)
    words = {"org": setup.ours.org, "job_type": "noop_jobs.noop", "span": timedelta(days=7)}
    with psycopg.connect(setup.stores.database_url(database), autocommit=True) as owner:
        owner.execute("set synchronous_commit = off")  # of the fill, not of what is measured
        owner.execute(bulk_sql("spare_scans"))
        for start in range(0, finished, CHUNK):
            part = {"start": start, "rows": min(CHUNK, finished - start), "total": finished}
            owner.execute(bulk_sql("fill_finished"), {**words, **part})
        for start in range(0, scheduled, CHUNK):
            part = {"start": start, "rows": min(CHUNK, scheduled - start), "total": scheduled}
            owner.execute(bulk_sql("fill_scheduled"), {**words, **part})
        owner.execute(bulk_sql("restore_scans"))
    setup.stores.vacuum(database)


def cost(runtime: Runtime, org: UUID) -> float:
    """Microseconds per job from enqueue to settlement, 100 jobs per statement."""
    began = time.perf_counter()
    for _ in range(BATCHES):
        with runtime.database.ledger() as tx:
            jobs = [NewJob("noop_jobs.noop", org, {}) for _ in range(BATCH)]
            ledger.enqueue(tx, jobs, publisher=False, hint_timeout=runtime.hint_timeout)
        key = BacklogKey("default", 0, org)
        with runtime.database.statements() as tx:
            relay.waiting_tenants(tx, "default", 0, start=UUID(int=0), most=1)
            waiting = relay.count_backlog(tx, {key: BATCH})
        work(runtime, [], waiting)
    return (time.perf_counter() - began) / (BATCH * BATCHES) * 1e6


def work(runtime: Runtime, job_ids: list[UUID], demand: Demand = ledger.NO_DEMAND) -> None:
    """Claim and settle these jobs and so many of the backlog; `RuntimeError` when not all of them could be claimed."""
    wanted = len(job_ids) + sum(demand.values())
    with runtime.database.statements() as tx:
        claims = ledger.claim(tx, job_ids, runtime.worker.worker_id, lease=runtime.lease.length, demand=demand)
    if len(claims.jobs) != wanted:
        raise RuntimeError(f"{wanted} jobs were there, {len(claims.jobs)} could be claimed")
    with runtime.database.statements() as tx:
        ledger.settle(tx, [Settlement(job.job_id, job.token, State.SUCCEEDED, output={}) for job in claims.jobs])


def _runner(setup: Setup, database: str) -> Callable[[], float]:
    def run() -> float:
        with setup.ours.runtime(database) as runtime:
            renew(runtime)
            cost_of_first = cost(runtime, setup.ours.org)  # what fills caches and prepares statements
            return min(cost_of_first, cost(runtime, setup.ours.org))

    return run


def _short(rows: int) -> str:
    million, thousand = 1_000_000, 1000
    return f"{rows // million}m" if rows >= million else f"{rows // thousand}k" if rows >= thousand else str(rows)
