"""What a run uses: CPU of workers and PostgreSQL, transactions, bytes written ahead and kept, memory of the workers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import psutil
from psycopg import Connection

from bench.contests.memory import sizes
from sandbox.servers.child_process import ChildProcess
from sandbox.servers.waiting import wait_until

MS = 1000
TABLES = """
select relname, pg_total_relation_size(c.oid) from pg_class c join pg_namespace n on n.oid = relnamespace
where relkind = 'r' and nspname not in ('pg_catalog', 'information_schema')
"""
ENDED_WITHIN_S = 30.0
"""How long PostgreSQL may take to end the sessions of processes that have ended."""


@dataclass(frozen=True)
class Usage:
    """What was used until a moment; two moments make a span."""

    worker_cpu_s: float
    postgres_cpu_s: float
    wal_bytes: int
    table_bytes: Mapping[str, int]
    """By table, with its indexes, long values, dead rows and free space."""

    def since(self, earlier: "Usage") -> "Usage":
        """What was used between two moments."""
        return Usage(
            self.worker_cpu_s - earlier.worker_cpu_s,
            self.postgres_cpu_s - earlier.postgres_cpu_s,
            self.wal_bytes - earlier.wal_bytes,
            {table: size - earlier.table_bytes.get(table, 0) for table, size in self.table_bytes.items()},
        )


@dataclass
class Memory:
    """The most that all processes of a worker held together, in MiB."""

    rss: float = 0.0
    pss: float = 0.0

    def look(self, workers: list[ChildProcess]) -> None:
        """Look at the processes as they are now."""
        found = sizes(workers).values()
        self.rss = max(self.rss, sum(size.rss for size in found))
        self.pss = max(self.pss, sum(size.pss for size in found))


@dataclass(frozen=True)
class Cost:
    """What one run cost for each message."""

    usage: Usage
    messages: int
    transactions: float
    """For each message of the whole run, the warm-up's included."""
    memory: Memory

    @property
    def cpu_ms(self) -> float:
        """CPU of the workers and of PostgreSQL together, in milliseconds for each message."""
        return (self.usage.worker_cpu_s + self.usage.postgres_cpu_s) * MS / self.messages

    def as_facts(self) -> dict[str, float]:
        """The figures for the results."""
        used = self.usage
        return {
            "worker_cpu_ms": round(used.worker_cpu_s * MS / self.messages, 2),
            "postgres_cpu_ms": round(used.postgres_cpu_s * MS / self.messages, 2),
            "transactions": round(self.transactions, 2),
            "wal_bytes": round(used.wal_bytes / self.messages),
            "kept_bytes": round(sum(used.table_bytes.values()) / self.messages),
            "rss_mib": round(self.memory.rss, 1),
            "pss_mib": round(self.memory.pss, 1),
        }

    def kept_bytes(self) -> dict[str, int]:
        """By table, what each message has added to it, the largest first; without those that a message adds none to."""
        grown = {table: round(size / self.messages) for table, size in self.usage.table_bytes.items()}
        return dict(sorted(((table, size) for table, size in grown.items() if size > 0), key=lambda one: -one[1]))


def used_until_now(owner: "Connection[Any]", workers: list[ChildProcess], postmaster: int) -> Usage:
    """Read all counters that are exact at each moment; PostgreSQL counts transactions when a session ends."""
    return Usage(
        cpu_seconds(child.pid for child in workers),
        cpu_seconds([postmaster]),
        _number(owner, "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"),
        dict(owner.execute(TABLES).fetchall()),
    )


def committed(owner: "Connection[Any]", database: str) -> int:
    """The transactions that were committed in a database; waits until no session but the caller's is left.

    A session reports what it has committed at the latest when it ends, before it leaves the list of sessions.
    """
    others = "select count(*) from pg_stat_activity where datname = %s and pid <> pg_backend_pid()"
    wait_until(lambda: not _number(owner, others, database), within=ENDED_WITHIN_S, describe="the end of all sessions")
    return _number(owner, "select xact_commit from pg_stat_database where datname = %s", database)


def cpu_seconds(heads: Iterable[int]) -> float:
    """CPU of these processes and of all that they have started.

    A process that has ended counts with its parent, which has waited for it (`man 5 proc`, cutime and cstime).
    """
    families = [psutil.Process(pid) for pid in heads]
    everybody = [process for head in families for process in (head, *head.children(recursive=True))]
    return sum(sum(_times(process)) for process in everybody)


def _times(process: psutil.Process) -> tuple[float, ...]:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return ()
    return (times.user, times.system, times.children_user, times.children_system)


def _number(owner: "Connection[Any]", query: str, *values: object) -> int:
    row = owner.execute(query.encode(), values).fetchone()
    if row is None:
        raise LookupError(f"no row: {query}")
    return int(row[0])
