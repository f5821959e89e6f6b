"""`make chaos`: minutes of mixed load while faults are injected, then checks and a report."""

import argparse
import json
import os
import random
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console

from engine.app import publish_catalogue
from engine.runtime import Runtime, install
from sandbox.demo.endings import Busy, Stopped, alone_in, forget_settings, stopped_by_signals
from sandbox.demo.fleet import empty
from sandbox.servers.waiting import wait_until
from tests.chaos.brokers import BROKERS
from tests.chaos.chaos_fleet import POOLS, ChaosFleet
from tests.chaos.chaos_report import Minimum, as_table, find_failures, make_report, minimum_of
from tests.chaos.checks import check_run
from tests.chaos.fault_injector import FaultInjector
from tests.chaos.load import Accepted, CeleryProducer, Producer, PythonProducer, SqlProducer
from tests.chaos.outside import Outside
from tests.chaos.plan import Plan
from tests.doubles.factories import make_org
from tests.house.reading import ROOT

FOLDER = ROOT / "build" / "chaos"
QUIET_WITHIN_S = 300.0
"""How long the remaining jobs may take after the last fault; a job that has not ended then counts as lost."""
MOST_PROBLEMS = 30


def main() -> int:
    """Run it; the exit status is 0 only when no check failed."""
    options = _options()
    forget_settings()
    console = Console(highlight=False)
    plan = Plan(options.seed, options.seconds, options.jobs, options.lease)
    try:
        with stopped_by_signals(), alone_in(options.folder):
            return run(plan, options, console)
    except Stopped as stopped:
        console.print(f"stopped by {stopped}; everything is cleaned up")
        return stopped.exit_status
    except (Busy, LookupError) as reason:
        console.print(str(reason))
        return 1


def run(plan: Plan, options: argparse.Namespace, console: Console) -> int:
    """Inject faults under load, wait until the jobs have ended, check, and write the report."""
    folder = options.folder.absolute()
    minimum = Minimum() if options.any_size else minimum_of(plan.seconds)
    empty(folder)
    console.print(f"seed {plan.seed}: {plan.jobs} jobs in {plan.seconds:g} s, lease {plan.lease_s:g} s")
    broker = BROKERS[options.broker](folder / "broker")
    with ChaosFleet(folder, broker, plan.lease_s, options.workers) as fleet, ExitStack() as stack:
        console.print("the fleet is up")
        client = Runtime(fleet.settings_of(1))
        install(client)
        stack.callback(install, None)
        stack.callback(client.close)
        publish_catalogue()
        accepted = Accepted(folder / "accepted")
        with psycopg.connect(fleet.postgres.url(), autocommit=True) as owner:
            orgs = [make_org(owner, f"org {number}") for number in range(plan.orgs)]
        place = (plan, orgs, accepted)
        foreign_broker = fleet.settings_of(0).broker_url.get_secret_value()
        producers: list[Producer] = [
            PythonProducer(client, *place),
            SqlProducer(fleet.postgres.url(), *place),
            CeleryProducer(foreign_broker, fleet.postgres.url(), *place),
        ]
        injector = FaultInjector(fleet, orgs, console.print)
        for producer in producers:
            producer.start()
        injector.run(plan.events(), plan.seconds)
        injector.record.write(folder / "faults.jsonl")
        took = _drain(fleet, producers, console)
        facts: dict[str, Any] = {"broker": broker.name, "lease_s": plan.lease_s, "quiet_after_s": round(took, 1)}
        with psycopg.connect(fleet.postgres.url()) as owner:
            owner.isolation_level = (
                psycopg.IsolationLevel.REPEATABLE_READ
            )  # rows that change meanwhile must not look like a gap
            findings = check_run(owner, Outside(folder), accepted.job_ids, injector.record.silences())
    report = make_report(plan, accepted, injector.record, findings, facts)
    failures = find_failures(report, minimum)
    failures += [f"the {producer.name} producer did not finish" for producer in producers if not producer.finished]
    failures += [end for member in fleet.members for end in member.ended]
    report |= {"failures": failures, "problems": findings.problems[:1000]}
    (folder / "report.json").write_text(json.dumps(report, indent=2) + "\n")
    console.print(as_table(report))
    for problem in [*findings.problems[:MOST_PROBLEMS], *failures]:
        console.print(problem, style="red")
    console.print("FAILED" if failures else "every promise was kept")
    return 1 if failures else 0


def _drain(fleet: ChaosFleet, producers: list[Producer], console: Console) -> float:
    """Wait until the producers have finished and every job has ended; returns the seconds that took."""
    began = time.monotonic()
    fleet.stop_beats()

    def at_rest() -> bool:
        fleet.keep_up()
        return not any(producer.is_alive() for producer in producers) and not _unfinished(fleet)

    try:
        wait_until(at_rest, within=QUIET_WITHIN_S, describe="every job to end")
    except TimeoutError as late:
        console.print(str(late), style="red")
    for producer in producers:
        producer.stop()
    for producer in producers:
        producer.join(10)
    return time.monotonic() - began


def _unfinished(fleet: ChaosFleet) -> int:
    return int(fleet.ask("select count(*) from jobs where finished_at is null")[0][0])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Load the fleet while faults are injected, then check that no promise was broken."
    )
    parser.add_argument("--seconds", type=float, default=180.0, help="how long load and faults last")
    parser.add_argument("--jobs", type=int, default=21_000, help="jobs to enqueue in that time")
    parser.add_argument("--lease", type=float, default=10.0, help="the workers' lease in seconds")
    parser.add_argument(
        "--seed", type=int, default=random.SystemRandom().randrange(10**6), help="the same seed plans the same faults"
    )
    parser.add_argument(
        "--workers", type=int, choices=range(2, len(POOLS) + 1), default=len(POOLS), help="how many workers"
    )
    wanted = "rabbitmq" if os.environ.get("POSTROOM_BROKER_URL", "").startswith("amqp") else "valkey"
    parser.add_argument("--broker", choices=BROKERS, default=wanted, help="the run's own; RabbitMQ must be installed")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where data, logs and report go; emptied first")
    parser.add_argument("--any-size", action="store_true", help="require no counts of jobs and faults")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
