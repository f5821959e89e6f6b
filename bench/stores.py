"""The stores of a run: a database cloned from a prepared one, a numbered broker database filled from a prepared one."""

from importlib.resources import files

import psycopg
from psycopg import sql
from redis import Redis

from sandbox.servers.servers import Servers

PLAY = "play"
"""The database, and number 1 the broker's, in which every run takes place."""

OURS, PLAYGROUND, FIRST_BACKLOG = 0, 1, 2
CHUNK = 1000


class Stores:
    """Prepares and restores what a run consumes, so that a backlog is enqueued once and drained many times."""

    def __init__(self, servers: Servers) -> None:
        """Use the benchmark's own servers."""
        self._servers = servers
        self._numbers: dict[str, int] = {}

    def spread_checkpoints(self) -> None:
        """Keep PostgreSQL from checkpointing in the middle of a run, for everybody alike; durability stays as it is."""
        with self._owner() as owner:
            owner.execute("alter system set max_wal_size = '8GB'")
            owner.execute("alter system set checkpoint_timeout = '30min'")
            owner.execute("select pg_reload_conf()")

    def database_url(self, name: str = PLAY) -> str:
        """The owner's connection."""
        return self._servers.postgres.url(name)

    def broker_url(self, number: int = PLAYGROUND) -> str:
        """A numbered database of the broker."""
        return self._servers.valkey.url(number)

    def has_database(self, name: str) -> bool:
        """Whether it was made."""
        with self._owner() as owner:
            return owner.execute("select 1 from pg_database where datname = %s", [name]).fetchone() is not None

    def make_database(self, name: str, template: str = "template1") -> None:
        """Make a database anew, as a copy; a large one is copied as files instead of through the log."""
        with self._owner() as owner:
            owner.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))
            # A session that is still closing would forbid the copy.
            owner.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", [template])
            copy = sql.SQL("create database {} template {} strategy file_copy")
            owner.execute(copy.format(sql.Identifier(name), sql.Identifier(template)))

    def settle(self, name: str = PLAY) -> None:
        """Let a run begin with fresh statistics and nothing left to write, the same for all."""
        with psycopg.connect(self.database_url(name), autocommit=True) as connection:
            connection.execute("vacuum analyze")
            connection.execute("checkpoint")

    def scalar(self, query: str, name: str = PLAY) -> int:
        """The number that a query tells."""
        with psycopg.connect(self.database_url(name), autocommit=True) as connection:
            row = connection.execute(query.encode()).fetchone()
        if row is None:
            raise LookupError(f"no row: {query}")
        return int(row[0])

    def postgres_version(self) -> str:
        """As the server says it."""
        with self._owner() as owner:
            return str(owner.info.parameter_status("server_version"))

    def valkey_version(self) -> str:
        """As the server says it."""
        with Redis.from_url(self.broker_url()) as broker:
            told = broker.info("server")
        return str(told.get("valkey_version", told["redis_version"]))

    def has_backlog(self, name: str) -> bool:
        """Whether a broker database was set aside under this name."""
        return name in self._numbers

    def backlog_url(self, name: str) -> str:
        """Set an empty broker database aside for a backlog."""
        number = self._numbers.setdefault(name, FIRST_BACKLOG + len(self._numbers))
        url = self.broker_url(number)
        self.empty_broker(number)
        return url

    def empty_broker(self, number: int = PLAYGROUND) -> None:
        """Remove everything from a numbered database."""
        with Redis.from_url(self.broker_url(number)) as broker:
            broker.flushdb()

    def restore_backlog(self, name: str) -> None:
        """Fill the broker's playground with a copy of a backlog."""
        self.empty_broker()
        with Redis.from_url(self.broker_url(self._numbers[name])) as broker:
            keys = list(broker.scan_iter(count=CHUNK))
            for start in range(0, len(keys), CHUNK):
                with broker.pipeline(transaction=False) as pipe:
                    for key in keys[start : start + CHUNK]:
                        pipe.copy(key, key, destination_db=PLAYGROUND, replace=True)
                    pipe.execute()

    def _owner(self) -> "psycopg.Connection[tuple[object, ...]]":
        return psycopg.connect(self._servers.postgres.url(), autocommit=True)


def bulk_sql(name: str) -> bytes:
    """A statement of `bench/sql`."""
    return (files("bench") / "sql" / f"{name}.sql").read_bytes()
