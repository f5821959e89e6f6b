"""`make chaos`: minutes of mixed load while all is killed, wiped, restarted, cut and stalled; then a reckoning."""

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
from engine.process.runtime import Runtime, install
from sandbox.demo.endings import Busy, Stopped, alone_in, forget_settings, stopped_by_signals
from sandbox.demo.fleet import empty
from sandbox.servers.waiting import wait_until
from tests.chaos.brokers import BROKERS
from tests.chaos.chaos_fleet import POOLS, ChaosFleet
from tests.chaos.chaos_report import WHOLE, Demands, as_table, find_failures, make_report
from tests.chaos.deeds import Outside
from tests.chaos.load import Accepted, CeleryDoor, Door, PythonDoor, SqlDoor
from tests.chaos.mischief import Imp
from tests.chaos.plan import Plan
from tests.chaos.verdict import judge
from tests.doubles.factories import make_org
from tests.house import ROOT

FOLDER = ROOT / "build" / "chaos"
QUIET_WITHIN_S = 300.0
"""How long what is left may take after the last mischief; what has not ended then is lost."""
MOST_COMPLAINTS = 30


def main() -> int:
    """Run it; the exit status is 0 only when every promise was kept."""
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
    """Load, mischief, quiet, reckoning."""
    folder = options.folder.absolute()
    demands = Demands() if options.any_size else WHOLE
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
        doors: list[Door] = [
            PythonDoor(client, *place),
            SqlDoor(fleet.postgres.url(), *place),
            CeleryDoor(foreign_broker, fleet.postgres.url(), *place),
        ]
        imp = Imp(fleet, orgs, console.print)
        for door in doors:
            door.start()
        imp.run(plan.events(), plan.seconds)
        imp.record.write(folder / "mischief.jsonl")
        took = _quieten(fleet, doors, console)
        facts: dict[str, Any] = {"broker": broker.name, "lease_s": plan.lease_s, "quiet_after_s": round(took, 1)}
        with psycopg.connect(fleet.postgres.url()) as owner:
            owner.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ  # what still moves must not look like a gap
            verdict = judge(owner, Outside(folder), accepted.job_ids, imp.record.silences())
    report = make_report(plan, accepted, imp.record, verdict, facts)
    failures = find_failures(report, demands)
    failures += [f"the {door.name} door did not finish" for door in doors if not door.finished]
    failures += [end for member in fleet.members for end in member.ended]
    report |= {"failures": failures, "problems": verdict.problems[:1000]}
    (folder / "report.json").write_text(json.dumps(report, indent=2) + "\n")
    console.print(as_table(report))
    for complaint in [*verdict.problems[:MOST_COMPLAINTS], *failures]:
        console.print(complaint, style="red")
    console.print("FAILED" if failures else "every promise was kept")
    return 1 if failures else 0


def _quieten(fleet: ChaosFleet, doors: list[Door], console: Console) -> float:
    """Let the doors finish and every job end, as far as they do; returns how long that took."""
    began = time.monotonic()
    fleet.stop_beats()

    def at_rest() -> bool:
        fleet.keep_up()
        return not any(door.is_alive() for door in doors) and not _unfinished(fleet)

    try:
        wait_until(at_rest, within=QUIET_WITHIN_S, describe="every job to end")
    except TimeoutError as late:
        console.print(str(late), style="red")
    for door in doors:
        door.stop()
    for door in doors:
        door.join(10)
    return time.monotonic() - began


def _unfinished(fleet: ChaosFleet) -> int:
    return int(fleet.ask("select count(*) from jobs where finished_at is null")[0][0])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Load the fleet while everything around it breaks; then count.")
    parser.add_argument("--seconds", type=float, default=180.0, help="how long load and mischief last")
    parser.add_argument("--jobs", type=int, default=21_000, help="jobs to hand over in that time")
    parser.add_argument("--lease", type=float, default=10.0, help="the workers' lease in seconds")
    parser.add_argument(
        "--seed", type=int, default=random.SystemRandom().randrange(10**6), help="repeats a run's order"
    )
    parser.add_argument("--workers", type=int, choices=range(2, len(POOLS) + 1), default=len(POOLS), help="how many")
    wanted = "rabbitmq" if os.environ.get("POSTROOM_BROKER_URL", "").startswith("amqp") else "valkey"
    parser.add_argument("--broker", choices=BROKERS, default=wanted, help="the run's own; RabbitMQ must be installed")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where data, logs and report go; emptied first")
    parser.add_argument("--any-size", action="store_true", help="pass without the counts that the whole run must reach")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
