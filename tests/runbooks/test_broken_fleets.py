"""Real processes of a broken fleet name the cause and the remedy in their own logs."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
from pydantic import SecretStr

from domain.jobs.queues import Queue
from sandbox.servers.child_process import ChildProcess, Command
from sandbox.servers.free_port import LOOPBACK, find_free_port
from sandbox.servers.postgres_server import PostgresServer
from sandbox.servers.valkey_server import ValkeyServer
from settings import Settings
from storage.mail.accounts.accounts import Consent
from storage.orgs.secrets.sealing import Sealer
from storage.postgres.database import Database
from storage.postgres.migrate import upgrade
from tests.cluster.nodes import WorkerNode
from tests.doubles.mail_factories import connect_account
from tests.fleet.fleet import Fleet
from tests.gateway.serving import ask
from tests.house.reading import ROOT
from tests.servers.python_processes import run_python, spawn_python
from tests.waiting import eventually

WITHIN_S = 60.0
"""How long a process may take to start on a busy machine of two cores, in seconds."""
LATER = "99.0.0"


@pytest.fixture
def fleet(database_url: str, broker_url: str, tmp_path: Path) -> Iterator[Fleet]:
    """A fleet without workers yet."""
    with ExitStack() as stack:
        yield Fleet(database_url, broker_url, tmp_path, stack)


@pytest.fixture
def own_database_url(own_postgres: PostgresServer) -> str:
    """Of a migrated database on a server of the test's own: roles are the whole server's."""
    upgrade(Settings(database_url=SecretStr(own_postgres.url())))
    return own_postgres.url()


def run_doctor(environment: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The lines of `celery -A tasks doctor --json` of a process of its own, which finds something wrong, by name."""
    words = ("celery", "-A", "tasks", "doctor", "--json")
    status, said = run_python(*words, folder=ROOT, environment=environment)
    assert status == 1, said
    return {row["name"]: row for row in json.loads(said[said.index("[") :])}


def log_of_gateway(environment: Mapping[str, str], folder: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The answer of `/readyz`, and the lines of the log about what is wrong, by the check."""
    port = find_free_port()
    words = [sys.executable, "-m", "gateway", "--port", str(port)]
    gateway = ChildProcess(Command(words, environment, ROOT), log=folder / "gateway.log", spawn=spawn_python)
    gateway.start()
    try:
        eventually(lambda: "Uvicorn running" in gateway.read_log(), within=WITHIN_S, describe="the gateway to listen")
        url = f"http://{LOOPBACK}:{port}/readyz"
        eventually(lambda: bool(ask(url).json["fleet"]), within=WITHIN_S, describe="the look at the fleet")
        answer = ask(url).json
    finally:
        gateway.stop()
    lines = [json.loads(line) for line in gateway.read_log().splitlines() if line.startswith("{")]
    return answer, {line["check"]: line for line in lines if line["event"] == "found_wrong"}


def test_a_queue_without_a_worker_no_beat_and_two_releases(fleet: Fleet, tmp_path: Path) -> None:
    # Python takes the first package of that name for the one that is installed.
    later = tmp_path / "later" / f"postroom-{LATER}.dist-info"
    later.mkdir(parents=True)
    (later / "METADATA").write_text(f"Metadata-Version: 2.4\nName: postroom\nVersion: {LATER}\n")
    served = tuple(queue.value for queue in Queue if queue is not Queue.EXPORTS)
    fleet.worker("one", queues=served).ready()
    with worker_of_later_release(fleet, later.parent):
        look_at_three_troubles(fleet, tmp_path)


@contextmanager
def worker_of_later_release(fleet: Fleet, packages: Path) -> Iterator[None]:
    """A worker of its own Python: one that was forked would have read its packages before."""
    words = [sys.executable, "-m", "celery", "-A", "tasks", "worker", "-Q", "default", "-P", "solo", "-n", "later@%h"]
    command = Command(words, fleet.environment | {"PYTHONPATH": str(packages)}, ROOT)
    process = ChildProcess(command, log=fleet.outside.folder / "later.log")
    process.start()
    try:
        counted = "select count(*) from workers where version = %s"
        eventually(lambda: fleet.ask(counted, LATER) == [(1,)], within=WITHIN_S, describe="the later release")
        yield
    finally:
        process.stop()


def look_at_three_troubles(fleet: Fleet, folder: Path) -> None:
    fleet.ask("update workers set started_at = started_at - interval '2 hours'")
    expected = {
        "beat": ("none has ever run", "celery -A tasks beat"),
        "served queues": ("serves exports:", "celery -A tasks worker -Q exports"),
        "releases": (f"1 of {LATER}", "end the deploy"),
    }
    rows = run_doctor(fleet.environment)
    answer, log = log_of_gateway(fleet.environment, folder)
    assert answer["status"] == "ok"
    for name, (cause, remedy) in expected.items():
        for row in (rows[name], answer["fleet"][name], log[name]):
            assert cause in row["finding"], row
            assert remedy in row["remedy"], row


def test_a_worker_without_a_key_says_what_it_cannot_open(fleet: Fleet) -> None:
    database = Database(Settings(database_url=SecretStr(fleet.database_url)))
    consent = Consent(SecretStr("access"), SecretStr("refresh"), datetime.now(UTC) + timedelta(hours=1))
    with database.ledger() as tx:
        connect_account(tx, Sealer(["the key of the others"]), "acme", "reader@example.com", consent)
    database.dispose()
    worker = fleet.worker()
    worker.wait_for_log("sealing_keys_missing")
    (line,) = [json.loads(one) for one in worker.logs().splitlines() if "sealing_keys_missing" in one]
    assert line["mailboxes"] == 1
    assert "POSTROOM_SEALING_KEYS" in line["remedy"]


def test_a_worker_with_a_wrong_password_of_the_broker_says_so_and_waits(fleet: Fleet, own_valkey: ValkeyServer) -> None:
    with redis.Redis.from_url(own_valkey.url()) as server:
        server.config_set("requirepass", "hunter2hunter2")
    url = f"redis://:not-hunter2@{LOOPBACK}:{own_valkey.port}/0"
    worker = fleet.worker(POSTROOM_BROKER_URL=url)
    lines = eventually(lambda: lost_connections(worker), within=WITHIN_S, describe="the consumer's lost connection")
    assert all("invalid username-password pair" in line["cause"] for line in lines)
    assert all("POSTROOM_BROKER_URL" in line["remedy"] for line in lines)
    assert worker.alive
    assert "hunter2" not in worker.logs()


def lost_connections(worker: WorkerNode) -> list[dict[str, Any]]:
    """The lines of the consumer; the relay has some of its own, and so has a refusal that was slow to come."""
    said = [json.loads(one) for one in worker.logs().splitlines() if '"again_in_s"' in one]
    return [line for line in said if line["event"] == "broker_unavailable"]


@pytest.mark.parametrize(
    ("harm", "cause", "remedy"),
    [
        ("update alembic_version set version_num = '0000_none'", "the database is at 0000_none", "database migrate"),
        ("alter role postroom_tenant rename to somebody", "the role does not exist", "database migrate"),
        ("revoke insert on jobs from postroom_ledger", "a right is missing: insert on jobs", "grant it again"),
    ],
)
def test_a_worker_that_can_never_work_ends_with_the_cause(
    own_database_url: str, broker_url: str, harm: str, cause: str, remedy: str
) -> None:
    with psycopg.connect(own_database_url, autocommit=True) as superuser:
        superuser.execute(harm.encode())
    environment = {"POSTROOM_DATABASE_URL": own_database_url, "POSTROOM_BROKER_URL": broker_url}
    status, said = run_python("celery", "-A", "tasks", "worker", "-P", "solo", folder=ROOT, environment=environment)
    assert status == 1
    last = said.strip().splitlines()[-1]
    assert last.startswith("Error: ")
    assert cause in last
    assert remedy in last
