"""An installation that is broken says why and what to do: at a terminal, by HTTP, and in the log."""

import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from os import geteuid
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
import redis
from psycopg import Connection
from pydantic import SecretStr

from domain.jobs.queues import Queue
from engine.app import publish_catalogue
from engine.runtime import Runtime
from sandbox.emulator.control import FaultOrder
from sandbox.servers.free_port import LOOPBACK
from sandbox.servers.postgres_server import PostgresServer
from sandbox.servers.valkey_server import ValkeyServer
from settings import Settings
from storage.jobs import ledger
from storage.jobs.ledger import Worker
from storage.mail.accounts.accounts import Consent
from storage.orgs.secrets.sealing import Sealer
from storage.postgres.migrate import upgrade
from storage.postgres.readiness import newest_revision
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.mail_factories import connect_account
from tests.runbooks.broken import installed, look

PASSWORD = "hunter2hunter2"
DISK_MB = 256
MIGRATE = "celery -A tasks database migrate"


def test_a_wrong_sealing_key(settings: Settings, process: Runtime) -> None:
    consent = Consent(SecretStr("access"), SecretStr("refresh"), datetime.now(UTC) + timedelta(hours=1))
    with process.database.ledger() as tx:
        connect_account(tx, Sealer(["the key of the others"]), "acme", "reader@example.com", consent)
    seen = look(settings)
    assert seen.ready == 200, "other orgs' mail goes on"
    assert seen.names("sealed tokens", "the tokens of 1 mailboxes", "POSTROOM_SEALING_KEYS")


@pytest.mark.parametrize(("revision", "ready"), [("0000_none", 503), ("9999_post_later", 200)])
def test_a_migration_that_is_missing_or_too_new(
    settings: Settings, process: Runtime, database: Connection, revision: str, ready: int
) -> None:
    assert process
    database.execute("update alembic_version set version_num = %s", (revision,))
    seen = look(settings)
    assert seen.ready == ready
    if ready == 503:
        assert seen.names("migrations", f"this release needs {newest_revision()}", MIGRATE)
    for row in (seen.doctor["migrations"], seen.readyz["migrations"]):
        assert revision in row["finding"]
        assert row["ok"] == (ready == 200)
        assert row["remedy"].startswith("nothing while a release is deployed" if row["ok"] else "run")


@pytest.fixture
def own_settings(own_postgres: PostgresServer, settings: Settings) -> Settings:
    """Of a database on a server of the test's own: roles are the whole server's."""
    return migrated(settings, own_postgres)


def migrated(settings: Settings, postgres: PostgresServer) -> Settings:
    """Of a database on this server that a gateway can serve from."""
    own = settings.model_copy(update={"database_url": SecretStr(postgres.url())})
    upgrade(own)
    with installed(own):
        publish_catalogue()
    return own


@pytest.mark.parametrize(
    ("harm", "check", "cause", "remedy"),
    [
        ("alter role postroom_tenant rename to somebody", "tenant role", "the role does not exist", MIGRATE),
        ("alter role postroom_ledger nologin", "ledger role", "the role may not log in", "alter role … login"),
        ("revoke insert, update on jobs from postroom_ledger", "writes", "insert on jobs; update on jobs", "grant it"),
        ("revoke select on job_types from postroom_ledger", "catalogue", "denied for table job_types", "grant it"),
    ],
)
def test_a_role_that_is_missing_or_lacks_a_right(
    own_settings: Settings, own_postgres: PostgresServer, harm: str, check: str, cause: str, remedy: str
) -> None:
    with psycopg.connect(own_postgres.url(), autocommit=True) as superuser:
        superuser.execute(harm.encode())
    seen = look(own_settings)
    assert seen.ready == 503
    assert seen.names(check, cause, remedy)


def test_a_wrong_password_of_the_broker(settings: Settings, process: Runtime, own_valkey: ValkeyServer) -> None:
    assert process
    with redis.Redis.from_url(own_valkey.url()) as server:
        server.config_set("requirepass", PASSWORD)
    url = f"redis://:not-{PASSWORD}@{LOOPBACK}:{own_valkey.port}/0"
    seen = look(settings.model_copy(update={"broker_url": SecretStr(url)}))
    assert seen.names("rate limits", "invalid username-password pair", "POSTROOM_BROKER_URL")
    assert "invalid username-password pair" in seen.doctor["broker"]["finding"]
    assert "mend the login" in seen.doctor["broker"]["remedy"]
    assert PASSWORD not in str(seen)


def test_a_clock_that_is_wrong(settings: Settings, process: Runtime) -> None:
    assert process
    seen = look(settings, lambda: datetime.now(UTC) - timedelta(minutes=5))
    assert seen.names("clock", "s from the database's", "NTP")
    assert float(seen.doctor["clock"]["finding"].split()[0]) == pytest.approx(300, abs=30)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, that a file can fill."""
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "none", str(folder)]
    if geteuid() or subprocess.run(words, check=False).returncode:  # noqa: S603  # our own words
        pytest.skip("nobody may mount a file system here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)  # noqa: S603, S607  # our own words


def fill(folder: Path) -> Path:
    """Take all the room that is left."""
    with (folder / "filler").open("wb", buffering=0) as filler:
        try:
            while filler.write(bytes(64 * 1024)):
                pass
        except OSError:
            return folder / "filler"
    raise AssertionError("the disk has no end")


def test_a_full_disk_of_postgresql(settings: Settings, small_disk: Path) -> None:
    with PostgresServer(small_disk / "postgres", durable=False) as postgres:
        own = migrated(settings, postgres)
        filler = fill(small_disk)
        seen = look(own)
        filler.unlink()
        assert seen.ready == 503
        assert seen.names("writes", "its disk is full", "make room")
        assert look(own).ready == 200, "it goes on by itself"


def test_a_provider_s_key_that_was_revoked(env: MailEnvironment) -> None:
    env.model.order(FaultOrder(operation="messages.create", status=401, reason="authentication_error", times=None))
    env.deliver("Lunch?", "Are you free tomorrow at noon?")
    env.enqueue("gmail.sync")
    due = "select id from jobs where state = 'queued' and run_at <= now() order by id limit 1"
    while (row := env.database.execute(due).fetchone()) and env.run(row[0]) != "not_claimed":
        pass
    seen = look(env.process.settings)
    assert seen.ready == 200
    assert seen.names("providers", "status 401", "gates open provider anthropic")


def test_a_queue_without_a_worker(settings: Settings, process: Runtime) -> None:
    served = tuple(queue.value for queue in Queue if queue is not Queue.EXPORTS)
    serve_queues(process, served)
    seen = look(settings)
    assert seen.ready == 200
    assert seen.names("served queues", "serves exports:", "celery -A tasks worker -Q exports")
    assert seen.doctor["queue exports"]["remedy"] == "start one: celery -A tasks worker -Q exports"


def serve_queues(process: Runtime, queues: tuple[str, ...], version: str = "1.0.0") -> None:
    """A worker with a lease, of a release."""
    with process.database.ledger() as tx:
        ledger.renew_lease(tx, Worker(uuid4(), uuid4(), "host", 1, version, queues, slots=1), timedelta(hours=1))


def test_no_beat(settings: Settings, process: Runtime, database: Connection) -> None:
    assert process
    assert look(settings).names("beat", "none has ever run", "celery -A tasks beat")
    database.execute(
        "insert into beat_ticks (job_type, ticked_at) values ('approvals.expire', now() - interval '1 hour')"
    )
    assert look(settings).names("beat", "none lives: the last tick was at", "celery -A tasks beat")


def test_two_releases_side_by_side(settings: Settings, process: Runtime, database: Connection) -> None:
    database.execute("delete from workers")
    for version in ("1.0.0", "1.1.0"):
        serve_queues(process, ("default",), version)
    seen = look(settings)
    deploying = seen.doctor["releases"], seen.readyz["releases"]
    assert all(row["ok"] and "1 of 1.0.0, 1 of 1.1.0" in row["finding"] for row in deploying)
    database.execute("update workers set started_at = now() - interval '2 hours'")
    assert look(settings).names("releases", "1 of 1.0.0, 1 of 1.1.0", "end the deploy")
