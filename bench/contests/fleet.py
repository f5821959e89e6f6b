"""The ledger's own figures: the fan-out to every account, and the rate of claim and settle without Celery."""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from uuid import UUID

import psycopg

import tasks  # noqa: F401 - fills the catalogue
from bench.contenders.ours import TEMPLATE, THREADS
from bench.contest import Contest, Target, take_turns
from bench.contests.growth import work
from bench.drain import DrainRun, drain
from bench.setup import ContestGroup, Setup
from bench.stores import RUN_DATABASE, bulk_sql
from domain.jobs.job import SYSTEM_ORG
from domain.payloads.maintenance import FallbackSyncPayload
from engine.app import publish_catalogue
from engine.runtime import Runtime
from engine.worker.execution import MARKERS, perform
from engine.worker.lease import renew
from settings import Settings
from storage.jobs import ledger

LIMIT_JOBS, AT_ONCE, PROCESSES = 20_000, 200, 2
FAN_OUT, LIMIT = "fan_out_100k_accounts_s", "limit_claim_and_settle"


def fan_out(setup: Setup) -> Iterable[Contest]:
    """Seconds of the job that enqueues a sync for every account, from its claim to its settlement."""
    accounts = setup.sizes.accounts
    rounds = take_turns({"postroom": lambda: _fan_out_once(setup, accounts)}, setup.sizes.rounds, setup.print_line)
    setup.note_dropped("fan_out", dict(rounds.dropped))
    if figures := rounds.figures.get("postroom"):
        limit = (Target("ours", "at most", 5),)
        facts = {
            "accounts": accounts,
            "ours_setting": "maintenance.fallback_sync, all jobs enqueued, the relay publishes",
        }
        yield Contest(FAN_OUT, figures, unit="s", better="lower", targets=limit, facts=facts)


def limit(setup: Setup) -> Iterable[Contest]:
    """Our drain against claim and settle alone, from as many processes and without Celery."""
    jobs = min(LIMIT_JOBS, setup.sizes.jobs)
    run = DrainRun(setup.ours, THREADS, "noop", jobs, setup.sizes.time_limit_s)
    runners: dict[str, Callable[[], float]] = {
        "postroom": lambda: drain(run, setup.folder).rate,
        "the ledger alone": lambda: _raw_rate(setup, jobs),
    }
    rounds = take_turns(runners, setup.sizes.rounds, lambda line: setup.print_line(f"limit, {line}"))
    setup.note_dropped("limit", dict(rounds.dropped))
    ours, raw = (rounds.figures.get(name) for name in runners)
    if ours and raw:
        label = f"{PROCESSES} processes, {AT_ONCE} jobs per statement, claim and settle only"
        facts = {"jobs": jobs, "ours_setting": THREADS.label, "peer_setting": label}
        yield Contest(LIMIT, ours, raw, facts=facts)


GROUPS = (ContestGroup("fan_out", lambda _: [FAN_OUT], fan_out), ContestGroup("limit", lambda _: [LIMIT], limit))


def _fan_out_once(setup: Setup, accounts: int) -> float:
    setup.ours  # noqa: B018  # the template must stand
    setup.stores.make_database(RUN_DATABASE, TEMPLATE)
    with psycopg.connect(setup.stores.database_url(), autocommit=True) as owner:
        owner.execute(bulk_sql("add_accounts"), {"accounts": accounts})
    with setup.ours.runtime() as runtime:
        job_id = _prepare(runtime)
        setup.stores.vacuum()
        began = time.perf_counter()
        status = _run_one(runtime, job_id)
        seconds = time.perf_counter() - began
    made = setup.stores.scalar("select count(*) from jobs where job_type = 'gmail.sync'")
    if status != "succeeded" or made != accounts:
        raise RuntimeError(f"the fan-out {status} with {made} of {accounts} jobs")
    return seconds


def _run_one(runtime: Runtime, job_id: UUID) -> str:
    """Claim a job, run it as a pool's slot does, and settle it; returns what became of it."""
    with runtime.database.pinned() as tx:
        (job,) = ledger.claim(tx, [job_id], runtime.worker.worker_id, lease=runtime.lease.length).jobs
    place = MARKERS.take()
    (report,) = perform([job], place)
    MARKERS.free(place)
    if report.settlement is not None:
        with runtime.database.pinned() as tx:
            ledger.settle(tx, [report.settlement])
    return report.status


def _prepare(runtime: Runtime) -> UUID:
    publish_catalogue()
    renew(runtime)
    with runtime.database.ledger() as tx:
        new = FallbackSyncPayload().job(org_id=SYSTEM_ORG)
        return ledger.enqueue(tx, [new], publisher=False, hint_timeout=runtime.hint_timeout)[0].hint.job_id


def _raw_rate(setup: Setup, jobs: int) -> float:
    setup.ours.restore("noop", jobs)
    with psycopg.connect(setup.stores.database_url()) as owner:
        job_ids = [row[0] for row in owner.execute("select id from jobs order by id")]
    shares = [job_ids[place::PROCESSES] for place in range(PROCESSES)]
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        list(pool.map(_work_all, [setup.ours.settings()] * PROCESSES, [share[:0] for share in shares]))
        began = time.perf_counter()
        list(pool.map(_work_all, [setup.ours.settings()] * PROCESSES, shares))
        return jobs / (time.perf_counter() - began)


def _work_all(settings: Settings, job_ids: list[UUID]) -> None:
    runtime = Runtime(settings)
    try:
        renew(runtime)
        for start in range(0, len(job_ids), AT_ONCE):
            work(runtime, job_ids[start : start + AT_ONCE])
    finally:
        runtime.close()
