"""`make soak`: a steady load while old jobs leave; writes `build/soak/report.json` and says whether all stayed flat."""

import argparse
import json
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console

from bench.contenders.contender import ROOT
from bench.contenders.ours import QUIET, TEMPLATE, Ours
from bench.machine import here_and_now
from bench.measured_job import VARIABLE
from bench.pipeline.usage import Usage, used_until_now
from bench.run_folder import RunFolder
from bench.soak.load import Load, new_lines
from bench.soak.verdict import Sample, compare, failures, p99, window_s
from bench.stores import RUN_DATABASE, Stores, bulk_sql
from observability import logs
from sandbox.demo.endings import Busy, Stopped, alone_in, forget_settings, stopped_by_signals
from sandbox.demo.fleet import empty
from sandbox.servers.child_process import ChildProcess, Command
from sandbox.servers.servers import run_servers
from sandbox.servers.waiting import wait_until

FOLDER = ROOT / "build" / "soak"
OTHER_QUEUES = "critical,notifications,planning,exports,maintenance,deadletter"
START_S = QUIET_S = 120.0
GROWING = {"audit_entries.table", "audit_entries.indexes"}
"""The audit log stays."""

FLEET = {
    "one": ("worker", "-Q", "default", "-P", "threads", "-c", "4"),
    "two": ("worker", "-Q", "default", "-P", "threads", "-c", "4"),
    "other": ("worker", "-Q", OTHER_QUEUES, "-P", "threads", "-c", "4"),
    "beat": ("beat", "--pidfile="),
}


def main() -> int:
    """Run it; the exit status is 0 only when no limit was broken."""
    options = _options()
    forget_settings()
    logs.configure("ERROR")
    console = Console(highlight=False)
    try:
        with stopped_by_signals(), alone_in(options.folder):
            return soak(options, console)
    except Stopped as stopped:
        return stopped.exit_status
    except Busy as reason:
        console.print(str(reason))
        return 1


def soak(options: argparse.Namespace, console: Console) -> int:
    """Run fleet and load, sample, and write the report."""
    folder, seconds = options.folder.absolute(), options.minutes * 60
    empty(folder)
    with run_servers(folder / "servers", durable=True) as servers:
        stores = Stores(servers)
        ours = Ours(stores)
        stores.make_database(RUN_DATABASE, TEMPLATE)
        loaded, other = (RunFolder(folder / name) for name in ("loaded", "other"))
        with ours.runtime() as runtime, _fleet(ours, folder, options.retention) as members:
            wait_until(lambda: _workers(stores) == len(FLEET) - 1, within=START_S, describe="every worker's lease")
            load, began = Load(runtime, ours, options.rate), _used(stores, members)
            load.start()
            samples = list(_samples(stores, loaded, other, seconds, options.every))
            load.stop()
            wait_until(lambda: _sums(stores)["unfinished"] == 0, within=QUIET_S, describe="every job to end")
            used = _used(stores, members).since(began)
            died = [name for name, member in members.items() if not member.running]
        sums = {"enqueued_by_us": load.enqueued + load.probes, **_sums(stores)}
    compared = compare(samples, seconds)
    broken = failures(compared, samples, GROWING) + [f"{name} ended by itself" for name in died]
    if sums["enqueued"] < 0.98 * options.rate * seconds:
        broken.append(f"{sums['enqueued']} jobs were enqueued, of {options.rate * seconds:.0f}: the load fell behind")
    report = {
        **here_and_now(),
        "asked": {"seconds": seconds, "rate": options.rate, "retention_s": options.retention},
        "window_s": window_s(seconds),
        "sums": sums,
        "each_job": _cost(used, sums["succeeded"]),
        "compared": compared,
        "latest_other_ms": round(max((ms for sample in samples for ms in sample.other_ms), default=0.0), 1),
        "failures": broken,
        "samples": [_shown(sample) for sample in samples],
    }
    (folder / "report.json").write_text(json.dumps(report, indent=2) + "\n")
    console.print(
        json.dumps({name: report[name] for name in ("sums", "each_job", "compared", "latest_other_ms")}, indent=2)
    )
    for reason in broken:
        console.print(reason, style="red")
    console.print("FAILED" if broken else "it stayed flat")
    return 1 if broken else 0


def _shown(sample: Sample) -> dict[str, float]:
    tail = {"p99_ms": round(p99(sample.latencies_ms), 1)} if sample.latencies_ms else {}
    return {"at_s": round(sample.at_s, 1), **tail, **sample.measures, **sample.counters}


@contextmanager
def _fleet(ours: Ours, folder: Path, retention_s: float) -> Iterator[dict[str, ChildProcess]]:
    """Two workers for the load, one for all other queues, and beat with the real schedule."""
    with ExitStack() as stack:
        members = {}
        for name, words in FLEET.items():
            place = folder / ("other" if name == "other" else "loaded")
            environment = {**ours.environment(), "POSTROOM_RETENTION_S": str(retention_s), VARIABLE: str(place)}
            only_workers = (*QUIET, "-I", "bench.noop_jobs", "-n", f"{name}@soak") if words[0] == "worker" else ()
            command = Command([sys.executable, "-m", "celery", "-A", "tasks", *words, *only_workers], environment, ROOT)
            members[name] = ChildProcess(command, log=folder / f"{name}.log")
            (place / "start").touch()
            members[name].start()
            stack.callback(members[name].stop, within=20.0)
        yield members


def _samples(stores: Stores, loaded: RunFolder, other: RunFolder, seconds: float, every: float) -> Iterator[Sample]:
    latencies, others = new_lines(loaded.latencies_ms), new_lines(other.latencies_ms)
    began, pause = time.monotonic(), threading.Event()
    with psycopg.connect(stores.database_url(), autocommit=True) as owner:
        while (at_s := time.monotonic() - began) < seconds:
            measures, counters = _figures(owner, "soak_sizes"), _figures(owner, "soak_counters")
            yield Sample(at_s, measures, latencies(), others(), counters)
            pause.wait(max(min(every, seconds - (time.monotonic() - began)), 0.01))


def _figures(owner: psycopg.Connection, statement: str) -> dict[str, float]:
    return dict(owner.execute(bulk_sql(statement)).fetchall())


def _used(stores: Stores, members: Mapping[str, ChildProcess]) -> Usage:
    with psycopg.connect(stores.database_url(), autocommit=True) as owner:
        return used_until_now(owner, list(members.values()), stores.postmaster)


def _cost(used: Usage, jobs: int) -> dict[str, float]:
    """What each job cost: CPU of the fleet, and of PostgreSQL with all that enqueues and housekeeps; bytes."""
    grown = {table: size for table, size in used.table_bytes.items() if f"{table}.table" in GROWING}
    return {
        "fleet_cpu_us": round(used.worker_cpu_s / jobs * 1e6, 1),
        "postgres_cpu_us": round(used.postgres_cpu_s / jobs * 1e6, 1),
        "wal_bytes": round(used.wal_bytes / jobs),
        "audit_bytes": round(sum(grown.values()) / jobs),
    }


def _workers(stores: Stores) -> int:
    return stores.scalar("select count(*) from workers where lease_until > now()")


def _sums(stores: Stores) -> dict[str, int]:
    with psycopg.connect(stores.database_url(), autocommit=True) as owner:
        row: Any = owner.execute(bulk_sql("soak_sums")).fetchone()
    return dict(zip(("enqueued", "succeeded", "left", "unfinished"), row, strict=True))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0, help="how long the load lasts")
    parser.add_argument("--rate", type=float, default=2000.0, help="jobs per second")
    parser.add_argument("--retention", type=float, default=120.0, help="seconds that finished jobs are kept")
    parser.add_argument("--every", type=float, default=5.0, help="seconds between two samples")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where data, logs and report go; emptied first")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
