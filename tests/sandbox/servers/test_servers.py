"""The local stack's servers start, answer, can be stopped, killed and restarted, and end with their parent."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from sandbox.servers.child_process import ChildProcess, Command
from sandbox.servers.postgres_server import PostgresServer
from sandbox.servers.valkey_server import ValkeyServer
from tests.waiting import eventually

PARENT = """
import signal
import sys
from pathlib import Path
from threading import Event
from sandbox.servers.servers import run_servers
# A shell starts what runs in the background with this signal ignored, and its children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
with run_servers(Path(sys.argv[1]), durable=False) as servers:
    print(servers.postgres.process.pid, servers.valkey.process.pid, flush=True)
    Event().wait()
"""


def test_postgres_keeps_committed_rows_and_its_address_over_kill_and_restart(own_postgres: PostgresServer) -> None:
    with psycopg.connect(own_postgres.url()) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
    for interrupt in (own_postgres.restart, own_postgres.kill):
        interrupt()
        if not own_postgres.process.running:
            own_postgres.start()
        with psycopg.connect(own_postgres.url()) as connection:
            assert connection.execute("SELECT number FROM kept").fetchone() == (7,)


def test_postgres_serves_its_loopback_port_only_and_has_the_promised_settings(own_postgres: PostgresServer) -> None:
    with psycopg.connect(own_postgres.url()) as connection:
        row = connection.execute(
            "SELECT current_setting('server_version_num')::int / 10000, current_setting('listen_addresses'),"
            " current_setting('unix_socket_directories'), current_setting('max_connections'), current_setting('fsync')"
        ).fetchone()
    assert row == (18, "127.0.0.1", "", "300", "off")


def test_postgres_ignores_a_password(own_postgres: PostgresServer) -> None:
    with_password = own_postgres.url().replace("postgres@", "postgres:anything@")
    with psycopg.connect(with_password) as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("postgres",)


def test_postgres_killed_in_the_middle_of_a_query_starts_again_at_once(own_postgres: PostgresServer) -> None:
    busy = psycopg.connect(own_postgres.url(), autocommit=True)
    busy.pgconn.send_query(b"SELECT count(*) FROM generate_series(1, 10000000000)")
    at_work = "SELECT state = 'active' FROM pg_stat_activity WHERE pid = %s"
    with psycopg.connect(own_postgres.url(), autocommit=True) as watcher:
        eventually(
            lambda: watcher.execute(at_work, [busy.info.backend_pid]).fetchone() == (True,),
            describe="the query's start",
        )
    own_postgres.kill()
    own_postgres.start(within=10)
    busy.close()


def test_a_durable_postgres_syncs(tmp_path: Path) -> None:
    server = PostgresServer(tmp_path / "a folder with spaces", durable=True)
    with server, psycopg.connect(server.url()) as connection:
        assert connection.execute("SHOW fsync").fetchone() == ("on",)


def test_a_postgres_that_cannot_start_says_why(own_postgres: PostgresServer, tmp_path: Path) -> None:
    second = PostgresServer(tmp_path / "second", durable=False, port=own_postgres.port)
    with pytest.raises(RuntimeError, match="Address already in use"):
        second.start()
    assert not second.process.running


@pytest.mark.parametrize("interrupt", [ValkeyServer.stop, ValkeyServer.kill])
def test_valkey_forgets_everything_but_its_address(own_valkey: ValkeyServer, interrupt: object) -> None:
    assert callable(interrupt)
    with redis.Redis.from_url(own_valkey.url(3)) as client:
        client.set("hint", "1")
        interrupt(own_valkey)
        own_valkey.start()
        assert client.get("hint") is None
        assert client.dbsize() == 0


def test_valkey_that_cannot_start_says_why(own_valkey: ValkeyServer, tmp_path: Path) -> None:
    second = ValkeyServer(tmp_path / "second", port=own_valkey.port)
    with pytest.raises(RuntimeError, match="Address already in use"):
        second.start()


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_no_server_outlives_its_parent(tmp_path: Path, end: signal.Signals) -> None:
    parent = subprocess.Popen(  # noqa: S603  # our own interpreter with the script above
        [sys.executable, "-c", PARENT, str(tmp_path / "stack")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with parent:
        assert parent.stdout is not None
        pids = [int(word) for word in parent.stdout.readline().split()]
        assert len(pids) == 2
        assert all(psutil.pid_exists(pid) for pid in pids)
        parent.send_signal(end)
    eventually(lambda: not any(map(_runs, pids)), within=15, describe=f"the servers' end after {end.name}")


def test_a_frozen_process_does_nothing_until_it_is_thawed(tmp_path: Path) -> None:
    script = "from itertools import count\nfor n in count(): print(n, flush=True)"
    process = ChildProcess(Command([sys.executable, "-c", script]), log=tmp_path / "log")
    process.start()
    eventually(process.read_log, describe="the first line")
    process.freeze()
    eventually(lambda: psutil.Process(process.pid).status() == psutil.STATUS_STOPPED, describe="the frozen state")
    size = process.log.stat().st_size
    assert process.running
    assert process.log.stat().st_size == size
    process.thaw()
    eventually(lambda: process.log.stat().st_size > size, describe="another line")
    assert process.stop() == -signal.SIGTERM
    assert not process.running


def test_a_process_that_ignores_the_request_is_killed(tmp_path: Path) -> None:
    script = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('deaf', flush=True)\nsignal.pause()"
    process = ChildProcess(Command([sys.executable, "-c", script + "\nsignal.pause()"]), log=tmp_path / "log")
    process.start()
    eventually(lambda: "deaf" in process.read_log(), describe="the deaf process")
    assert process.stop(within=0.2) == -signal.SIGKILL


def _runs(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
