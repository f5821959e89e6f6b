"""How long the light job types take, from start to settlement; a type that takes longer must not be light."""

from collections.abc import Iterable
from datetime import date
from functools import partial
from uuid import UUID

import psycopg

import tasks  # noqa: F401  # fills the catalogue
from bench.contenders.contender import Setting, processes, running
from bench.contenders.ours import QUIET
from bench.contest import Contest, Target, take_turns
from bench.run_folder import RunFolder
from bench.setup import ContestGroup, Setup, Sizes
from bench.stores import bulk_sql
from domain.jobs.job import NewJob
from domain.payloads.budgets import AlertPayload
from engine import enqueue
from engine.app import publish_catalogue
from sandbox.servers.waiting import wait_until

NAME = "light_types_p99_ms"
EACH = 500
"""Jobs of each type: five are slower than the 99th percentile."""
TARGET = Target("ours", "at most", 50)
TYPES = ("budgets.alert", "deadletter.quarantine")
WITHIN_S = 120.0

WORDS = ("-m", "celery", "-A", "tasks", "worker", "-Q", "default,notifications,deadletter", "-I", "bench.noop_jobs")
SETTING = Setting("1 process of 4 threads", processes((*WORDS, *QUIET, "-P", "threads", "-c", "4"), 1), ready=1)


def run_contests(setup: Setup) -> Iterable[Contest]:
    """The slowest type's 99th percentile, in milliseconds."""
    seen: dict[str, float] = {}

    def measure() -> float:
        seen.update(_measure(setup))
        return max(seen.values())

    rounds = take_turns({"postroom": measure}, setup.sizes.rounds, setup.print_line)
    setup.note_dropped("light_types", dict(rounds.dropped))
    if figures := rounds.figures.get("postroom"):
        facts = {"jobs_of_each": EACH, "p99_ms_of_last_round": seen, "ours_setting": SETTING.label}
        yield Contest(NAME, figures, unit="ms", better="lower", targets=(TARGET,), facts=facts)


def names(_sizes: Sizes) -> list[str]:
    """The one contest of this group."""
    return [NAME]


GROUP = ContestGroup("light types", names, run_contests)


def _measure(setup: Setup) -> dict[str, float]:
    ours = setup.ours
    ours.restore("noop", 0)
    with ours.runtime():
        publish_catalogue()
        enqueue.enqueue_many(NewJob("noop_jobs.dying", ours.org, {}) for _ in range(EACH))
        enqueue.enqueue_many(
            AlertPayload(day=day, daily_microcents=1).job(org_id=org_id) for org_id, day in _exhausted(setup)
        )
    with running(ours, SETTING, RunFolder(setup.folder / "run"), setup.folder / "light_types.log"):
        for job_type in TYPES:
            wait_until(partial(_all_done, setup, job_type), within=WITHIN_S, describe=f"all jobs of {job_type}")
    with psycopg.connect(setup.stores.database_url(), autocommit=True) as database:
        return {name: float(p99) for name, p99 in database.execute(bulk_sql("p99_of_types"), {"types": list(TYPES)})}


def _all_done(setup: Setup, job_type: str) -> bool:
    done = f"select count(*) from jobs where job_type = '{job_type}' and state = 'succeeded'"  # noqa: S608  # our names
    return setup.stores.scalar(done) == EACH


def _exhausted(setup: Setup) -> list[tuple[UUID, date]]:
    with psycopg.connect(setup.stores.database_url(), autocommit=True) as database:
        return [(UUID(str(org)), day) for org, day in database.execute(bulk_sql("add_exhausted_days"), {"orgs": EACH})]
