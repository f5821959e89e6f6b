"""`make bench`: ours beside plain Celery in one run, in turns; writes ratios, never promises."""

import argparse
import json
import platform
import shutil
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import noop_jobs
from bench.contest import Contest, hold
from bench.runs import Ours, PlainCelery, settings_of
from sandbox.servers import run_servers
from storage import job_types
from storage.database import Database
from storage.migrate import upgrade

FOLDER = Path("build/bench")


def main() -> None:
    """Start servers that sync to disk, hold the contests, and write `build/bench/results.json`."""
    options = argparse.ArgumentParser(description=main.__doc__)
    options.add_argument("--jobs", type=int, default=4000)
    options.add_argument("--rounds", type=int, default=3)
    asked = options.parse_args()
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    with run_servers(FOLDER / "servers", durable=True) as servers:
        settings = settings_of(servers)
        upgrade(settings)
        with Database(settings).ledger() as tx:
            job_types.publish(tx, [noop_jobs.noop.line()])
        ours, plain = Ours(settings, FOLDER), PlainCelery(servers.valkey.url(1), FOLDER)
        contests = compete(ours, plain, asked.jobs, asked.rounds)
    report(contests, asked.jobs)


def compete(ours: Ours, plain: PlainCelery, jobs: int, rounds: int) -> list[Contest]:
    """Hold every contest."""
    return [
        hold("drain_ordinary_vs_celery", lambda: ours.drain(jobs), lambda: plain.drain(jobs), rounds),
        hold("enqueue_many_vs_apply_async", lambda: ours.enqueue_many(jobs), lambda: plain.apply_async(jobs), rounds),
    ]


def report(contests: list[Contest], jobs: int) -> None:
    """Write the results and show them."""
    results = {contest.name: contest.result() for contest in contests}
    machine = {"machine": platform.platform(), "python": platform.python_version(), "at": datetime.now(UTC).isoformat()}
    (FOLDER / "results.json").write_text(json.dumps(results, indent=2) + "\n")
    (FOLDER / "machine.json").write_text(json.dumps(machine | {"jobs": jobs}, indent=2) + "\n")
    table = Table("contest", "ours /s", "peer /s", "ratio", "of the rounds")
    for name, result in results.items():
        spread = f"{result['min']}-{result['max']}"
        table.add_row(name, str(result["ours"]), str(result["peer"]), str(result["ratio"]), spread)
    Console().print(table)


if __name__ == "__main__":
    main()
