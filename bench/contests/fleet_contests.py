"""The ledger's own figures: the fan-out to every account, and what claim and settle allow without Celery."""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from uuid import UUID

import psycopg

from bench.arena import Arena, Stage
from bench.contest import Contest, Target, take_turns
from bench.contests.growth_contests import work
from bench.drain import Heat, drain
from bench.ours import TEMPLATE, THREADS
from bench.stores import PLAY, bulk_sql
from domain.jobs.job import SYSTEM_ORG, NewJob
from engine.app import publish_catalogue
from engine.process.runtime import Runtime
from engine.worker.execution import MARKERS, perform
from engine.worker.lease import renew
from settings import Settings
from storage.ledger import ledger
from tasks.maintenance import fallback_sync

LIMIT_JOBS, AT_ONCE, PROCESSES = 20_000, 200, 2
FAN_OUT, LIMIT = "fan_out_100k_accounts_s", "limit_claim_and_settle"


def fan_out(arena: Arena) -> Iterable[Contest]:
    """Seconds of the job that enqueues a sync for every account, from its claim to its settlement."""
    accounts = arena.sizes.accounts
    rounds = take_turns({"postroom": lambda: _fan_out_once(arena, accounts)}, arena.sizes.rounds, arena.tell)
    arena.dropped("fan_out", dict(rounds.dropped))
    if figures := rounds.figures.get("postroom"):
        limit = (Target("ours", "at most", 5),)
        facts = {
            "accounts": accounts,
            "ours_setting": "maintenance.fallback_sync, all jobs enqueued, the relay publishes",
        }
        yield Contest(FAN_OUT, figures, unit="s", better="lower", targets=limit, facts=facts)


def limit(arena: Arena) -> Iterable[Contest]:
    """Our light drain against the ledger's claim and settle alone, from as many processes and with no Celery at all."""
    jobs = min(LIMIT_JOBS, arena.sizes.jobs)
    heat = Heat(arena.ours, THREADS, "light_noop", jobs, arena.sizes.box_s)
    runners: dict[str, Callable[[], float]] = {
        "postroom": lambda: drain(heat, arena.folder).rate,
        "the ledger alone": lambda: _raw_rate(arena, jobs),
    }
    rounds = take_turns(runners, arena.sizes.rounds, lambda told: arena.tell(f"limit, {told}"))
    arena.dropped("limit", dict(rounds.dropped))
    ours, raw = (rounds.figures.get(name) for name in runners)
    if ours and raw:
        told = f"{PROCESSES} processes, {AT_ONCE} jobs per statement, claim and settle only"
        facts = {"jobs": jobs, "ours_setting": THREADS.label, "peer_setting": told}
        yield Contest(LIMIT, ours, raw, facts=facts)


STAGES = (Stage("fan_out", lambda _: [FAN_OUT], fan_out), Stage("limit", lambda _: [LIMIT], limit))


def _fan_out_once(arena: Arena, accounts: int) -> float:
    arena.ours  # noqa: B018  # the template must stand
    arena.stores.make_database(PLAY, TEMPLATE)
    with psycopg.connect(arena.stores.database_url(), autocommit=True) as owner:
        owner.execute(bulk_sql("add_accounts"), {"accounts": accounts})
    with arena.ours.runtime() as runtime:
        job_id = _prepare(runtime)
        arena.stores.settle()
        began = time.perf_counter()
        status = _run_one(runtime, job_id)
        seconds = time.perf_counter() - began
    made = arena.stores.scalar("select count(*) from jobs where job_type = 'gmail.sync'")
    if status != "succeeded" or made != accounts:
        raise RuntimeError(f"the fan-out {status} with {made} of {accounts} jobs")
    return seconds


def _run_one(runtime: Runtime, job_id: UUID) -> str:
    """Claim a job, run it as a pool's slot does, and settle it; returns what became of it."""
    with runtime.database.lane() as tx:
        (job,) = ledger.claim(tx, [job_id], runtime.worker.worker_id, lease=runtime.lease.length).jobs
    place = MARKERS.take()
    (report,) = perform([job], place)
    MARKERS.free(place)
    if report.settlement is not None:
        with runtime.database.lane() as tx:
            ledger.settle(tx, [report.settlement])
    return report.status


def _prepare(runtime: Runtime) -> UUID:
    publish_catalogue()
    renew(runtime)
    with runtime.database.ledger() as tx:
        new = NewJob(fallback_sync.name, SYSTEM_ORG, {})
        return ledger.enqueue(tx, [new], publisher=False, patience=runtime.patience)[0].hint.job_id


def _raw_rate(arena: Arena, jobs: int) -> float:
    arena.ours.restore("light_noop", jobs)
    with psycopg.connect(arena.stores.database_url()) as owner:
        job_ids = [row[0] for row in owner.execute("select id from jobs order by id")]
    shares = [job_ids[place::PROCESSES] for place in range(PROCESSES)]
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        list(pool.map(_work_all, [arena.ours.settings()] * PROCESSES, [share[:0] for share in shares]))
        began = time.perf_counter()
        list(pool.map(_work_all, [arena.ours.settings()] * PROCESSES, shares))
        return jobs / (time.perf_counter() - began)


def _work_all(settings: Settings, job_ids: list[UUID]) -> None:
    runtime = Runtime(settings)
    try:
        renew(runtime)
        for start in range(0, len(job_ids), AT_ONCE):
            work(runtime, job_ids[start : start + AT_ONCE])
    finally:
        runtime.close()
