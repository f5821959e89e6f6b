"""PostgreSQL 18 from the wheel as a child process; a restarted server keeps its loopback port."""

import contextlib
import signal
from pathlib import Path

import psutil
import psycopg

from sandbox.servers.child_process import ChildProcess, Command
from sandbox.servers.free_port import LOOPBACK, find_free_port
from sandbox.servers.startable import ServerProcess
from sandbox.servers.unprivileged import UNPRIVILEGED, give, make_reachable, may_become
from sandbox.servers.waiting import wait_until
from sandbox.servers.wheel_binaries import find_postgres_programs

OWNER = "postgres"
"""The superuser that initdb makes; it owns the databases of the local stack."""


class PostgresServer(ServerProcess):
    """A PostgreSQL on the loopback that accepts every connection without a password.

    It has no unix socket, so its folder's path may be of any length. PostgreSQL refuses to run as root, so a server
    started by root runs as the user `nobody`.
    """

    title = "PostgreSQL"

    def __init__(self, folder: Path, *, durable: bool = True, port: int | None = None) -> None:
        """Keep data and log in `folder`, choose a free port unless one is given.

        With `durable=False`, for tests, data survives a crash of the server but not of the machine; writes are faster.
        """
        self.folder = folder.absolute()
        self.port = find_free_port() if port is None else port
        self._user = UNPRIVILEGED if may_become() else None
        # SIGINT is PostgreSQL's "fast" shutdown: it ends sessions instead of waiting for them.
        self.process = ChildProcess(
            Command(arguments=self._arguments(durable=durable), user=self._user),
            log=self.folder / "postgres.log",
            stop_signal=signal.SIGINT,
        )

    @property
    def data(self) -> Path:
        """The data directory (PGDATA)."""
        return self.folder / "data"

    def url(self, database: str = "postgres") -> str:
        """The owner's connection to one database, as libpq takes it."""
        return f"postgresql://{OWNER}@{LOOPBACK}:{self.port}/{database}"

    def start(self, *, within: float = 30.0) -> None:
        """Make the data directory if there is none, start, and wait until a query is answered.

        `TimeoutError` when it does not answer in time, `RuntimeError` with the log's end when it died.
        """
        if not (self.data / "PG_VERSION").exists():
            self._initialise()
        self.start_process(within=within)

    def stop(self) -> None:
        """Shut down in good order, ending all sessions; every committed transaction is kept."""
        self.process.stop(within=30.0)

    def kill(self) -> None:
        """End it and all its backends with SIGKILL; the next `start` recovers from the write-ahead log."""
        self.process.kill()
        wait_until(self._end_backends, within=10, describe="the end of PostgreSQL's backends")

    def become_standby(self) -> None:
        """Restart as a server that answers and takes no writes, as a primary comes back after a failover.

        For a durable server: a standby can replay no shorter log.
        """
        self.stop()
        (self.data / "standby.signal").touch()
        self.start()

    def promote(self) -> None:
        """Let a standby take writes; its connections stay."""
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute("select pg_promote()")

    def _initialise(self) -> None:
        self.data.mkdir(parents=True, exist_ok=True)
        if self._user is not None:
            make_reachable(find_postgres_programs() / "postgres")
            make_reachable(self.data)
            give(self.data, self._user)
        arguments = [str(find_postgres_programs() / "initdb"), "-D", str(self.data), "-U", OWNER, "--auth=trust"]
        arguments += ["--no-sync", "--encoding=UTF8", "--locale=C"]
        arguments += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        command = Command(arguments=arguments, folder=self.folder, user=self._user)
        initdb = ChildProcess(command, log=self.folder / "initdb.log")
        initdb.start()
        if (status := initdb.wait(within=60)) != 0:
            raise RuntimeError(f"initdb ended with status {status}: {initdb.read_log()}")
        initdb.stop()

    def _end_backends(self) -> bool:
        """Kill the backends that are left; true when there are none.

        A backend in the middle of a query notices late that its postmaster is dead, and no other server can start while
        the backend lives. Its parent process is gone, so it is found by its working directory, the data directory.
        """
        folder = str(self.data.resolve())
        backends = [process for process in psutil.process_iter(["cwd"]) if process.info["cwd"] == folder]
        for backend in backends:
            with contextlib.suppress(psutil.NoSuchProcess):
                backend.kill()
        return not backends

    def answers(self) -> bool:
        """Whether this server, and no other on its port, answers a query."""
        try:
            with psycopg.connect(self.url(), connect_timeout=2) as connection:
                # Another server may hold the port; ours then fails to bind it and ends a moment later.
                return connection.execute("SHOW data_directory").fetchone() == (str(self.data),)
        except psycopg.OperationalError:
            return False

    def _arguments(self, *, durable: bool) -> list[str]:
        settings = {
            "listen_addresses": LOOPBACK,
            "port": str(self.port),
            "unix_socket_directories": "",
            "max_connections": "300",
            "shared_buffers": "128MB",
            "timezone": "UTC",
            "log_timezone": "UTC",
            "fsync": "on" if durable else "off",
            "full_page_writes": "on" if durable else "off",
            # A database that lives for seconds would have statistics, and other plans, only where autovacuum came by.
            "autovacuum": "on" if durable else "off",
            # No replica or archive reads the write-ahead log, so bulk loads and new indexes can bypass it.
            **({} if durable else {"wal_level": "minimal", "max_wal_senders": "0"}),
            # Its files are in memory: to hand a read to another process takes longer than the read. A database that a
            # test makes and drops brings three checkpoints.
            **({} if durable else {"io_method": "sync", "log_checkpoints": "off"}),
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [str(find_postgres_programs() / "postgres"), "-D", str(self.data), *options]
