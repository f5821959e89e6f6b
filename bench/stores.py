"""The stores of a run: a database copied from a prepared one, a broker database filled from a prepared one."""

from importlib.resources import files

import psycopg
from psycopg import sql
from redis import Redis

from sandbox.servers.servers import Servers

RUN_DATABASE = "run"
"""The PostgreSQL database in which every run takes place."""

OURS, RUN_BROKER, FIRST_BACKLOG = 0, 1, 2
"""Numbered databases of the broker: ours, the peers' runs, and from 2 on the prepared backlogs."""

CHUNK = 1000


class Stores:
    """Prepares and restores what a run consumes: a backlog is enqueued once and drained many times."""

    def __init__(self, servers: Servers) -> None:
        """Use the benchmark's own servers."""
        self._servers = servers
        self._numbers: dict[str, int] = {}

    def spread_checkpoints(self) -> None:
        """Keep checkpoints out of the runs, for every contender alike; durability does not change."""
        with self._owner() as owner:
            owner.execute("alter system set max_wal_size = '8GB'")
            owner.execute("alter system set checkpoint_timeout = '30min'")
            owner.execute("select pg_reload_conf()")

    def database_url(self, name: str = RUN_DATABASE) -> str:
        """The URL of the owner's connection."""
        return self._servers.postgres.url(name)

    def broker_url(self, number: int = RUN_BROKER) -> str:
        """The URL of a numbered database of the broker."""
        return self._servers.valkey.url(number)

    @property
    def postmaster(self) -> int:
        """The process id of PostgreSQL's first process, which starts all others."""
        return self._servers.postgres.process.pid

    def has_database(self, name: str) -> bool:
        """Whether a database of this name exists."""
        with self._owner() as owner:
            return owner.execute("select 1 from pg_database where datname = %s", [name]).fetchone() is not None

    def make_database(self, name: str, template: str = "template1") -> None:
        """Make a database anew as a copy of the template, file by file instead of through the write-ahead log."""
        with self._owner() as owner:
            owner.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))
            # A session that is still closing would forbid the copy.
            owner.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", [template])
            copy = sql.SQL("create database {} template {} strategy file_copy")
            owner.execute(copy.format(sql.Identifier(name), sql.Identifier(template)))

    def vacuum(self, name: str = RUN_DATABASE) -> None:
        """Vacuum, analyse and checkpoint, so that every run begins in the same state."""
        with psycopg.connect(self.database_url(name), autocommit=True) as connection:
            connection.execute("vacuum analyze")
            connection.execute("checkpoint")

    def execute(self, statements: bytes, name: str = RUN_DATABASE) -> None:
        """Run statements as the owner."""
        with psycopg.connect(self.database_url(name), autocommit=True) as connection:
            connection.execute(statements)

    def scalar(self, query: str, name: str = RUN_DATABASE) -> int:
        """The number that a query returns; `LookupError` when it returns no row."""
        with psycopg.connect(self.database_url(name), autocommit=True) as connection:
            row = connection.execute(query.encode()).fetchone()
        if row is None:
            raise LookupError(f"no row: {query}")
        return int(row[0])

    def postgres_version(self) -> str:
        """The version that the server reports."""
        with self._owner() as owner:
            return str(owner.info.parameter_status("server_version"))

    def valkey_version(self) -> str:
        """The version that the server reports."""
        with Redis.from_url(self.broker_url()) as broker:
            info = broker.info("server")
        return str(info.get("valkey_version", info["redis_version"]))

    def has_backlog(self, name: str) -> bool:
        """Whether a broker database is reserved under this name."""
        return name in self._numbers

    def backlog_url(self, name: str) -> str:
        """Reserve an empty broker database for a backlog; returns its URL."""
        number = self._numbers.setdefault(name, FIRST_BACKLOG + len(self._numbers))
        url = self.broker_url(number)
        self.empty_broker(number)
        return url

    def empty_broker(self, number: int = RUN_BROKER) -> None:
        """Remove everything from a numbered database."""
        with Redis.from_url(self.broker_url(number)) as broker:
            broker.flushdb()

    def restore_backlog(self, name: str) -> None:
        """Copy a backlog into the broker database of the runs."""
        self.empty_broker()
        with Redis.from_url(self.broker_url(self._numbers[name])) as broker:
            keys = list(broker.scan_iter(count=CHUNK))
            for start in range(0, len(keys), CHUNK):
                with broker.pipeline(transaction=False) as pipe:
                    for key in keys[start : start + CHUNK]:
                        pipe.copy(key, key, destination_db=RUN_BROKER, replace=True)
                    pipe.execute()

    def _owner(self) -> "psycopg.Connection[tuple[object, ...]]":
        return psycopg.connect(self._servers.postgres.url(), autocommit=True)


def bulk_sql(name: str) -> bytes:
    """The text of a statement in `bench/sql`."""
    return (files("bench") / "sql" / f"{name}.sql").read_bytes()
