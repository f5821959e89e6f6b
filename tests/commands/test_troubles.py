"""Each trouble of an installation is named with cause and remedy, in one line, by doctor, commands and worker."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from pydantic import SecretStr

from commands.doctor import (
    broker_check,
    examine,
    names_check,
    of_ledger,
)
from domain.jobs.failures import Forbidden
from engine.runtime import Runtime
from operations import health
from sandbox.servers.child_process import ChildProcess, Command
from sandbox.servers.free_port import find_free_port
from sandbox.servers.postgres_server import PostgresServer
from settings import Settings
from storage.models.money import model_calls
from storage.models.money.model_calls import ModelCall
from storage.postgres.logins import refusal
from storage.postgres.migrate import upgrade
from storage.postgres.readiness import Check
from tests.doubles.factories import claim_one, enqueue_one, make_job_type
from tests.doubles.mail_factories import make_account
from tests.house.reading import ROOT
from tests.servers.python_processes import run_python, spawn_python
from tests.waiting import eventually

answers_check = of_ledger(health.answers_check)


def celery(*words: str, environment: Mapping[str, str], status: int = 1) -> str:
    """What the real command ends with; never a traceback, and never a secret."""
    ended, said = run_python("celery", "-A", "tasks", *words, folder=ROOT, environment=environment)
    assert ended == status, said
    assert "Traceback" not in said
    assert "hunter2" not in said
    return said


def told(settings: Settings, **changed: str) -> dict[str, Check]:
    """What the doctor says with these settings instead, by the name of the check."""
    process = Runtime(settings.model_copy(update={name: SecretStr(value) for name, value in changed.items()}))
    found = {check.name: check for check in examine(process)}
    process.close()
    assert "hunter2" not in str(found)
    return found


@pytest.fixture(scope="module")
def walled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A migrated PostgreSQL that asks our roles for a password, and turns one user away."""
    with PostgresServer(tmp_path_factory.mktemp("walled"), durable=False) as server:
        upgrade(Settings(database_url=SecretStr(server.url())))
        rules = server.data / "pg_hba.conf"
        lines = ("postroom_ledger scram-sha-256", "postroom_tenant scram-sha-256", "turned_away reject")
        added = "".join(f"host all {user} 127.0.0.1/32 {way}\n" for user, way in map(str.split, lines))
        rules.write_text(added + rules.read_text())
        with psycopg.connect(server.url(), autocommit=True) as owner:
            owner.execute("create role sleeper nologin")
            owner.execute("select pg_reload_conf()")
            eventually(lambda: refused(server, "turned_away"), within=10, describe="pg_hba.conf was not read")
        yield server


def refused(server: PostgresServer, user: str) -> bool:
    try:
        psycopg.connect(server.url(), user=user, connect_timeout=2).close()
    except psycopg.OperationalError as error:
        return "pg_hba" in str(error)
    return False


def test_a_server_that_is_down_is_told_from_one_that_lets_nobody_in(settings: Settings) -> None:
    found = told(settings, database_url=f"postgresql://postgres:hunter2@127.0.0.1:{find_free_port()}/x")
    assert found["ledger role"].finding == "PostgreSQL: nobody listens at its address"
    assert "start PostgreSQL" in found["ledger role"].remedy


def test_a_database_that_does_not_exist_is_named(settings: Settings) -> None:
    found = told(settings, database_url=settings.database_url.get_secret_value() + "_none")["ledger role"]
    assert found.finding == "PostgreSQL: the database does not exist"
    assert "create it" in found.remedy


@pytest.mark.parametrize(
    ("user", "finding"),
    [
        ("nobody_of_ours", "the role does not exist"),
        ("sleeper", "the role may not log in"),
        ("turned_away", "the server admits no such login from this machine"),
        ("postroom_ledger:hunter2", "the password is wrong, or the role does not exist"),
        ("postroom_ledger", "the password is wrong, or the role does not exist"),
    ],
)
def test_each_refusal_of_a_login_has_its_own_words(
    settings: Settings, walled: PostgresServer, user: str, finding: str
) -> None:
    url = walled.url().replace("postgres@", f"{user}@")
    check = told(settings, database_url=walled.url(), ledger_database_url=url)["ledger role"]
    assert check.finding == f"PostgreSQL: {finding}"
    assert check.remedy


def test_a_wrong_sealing_key_shows_as_a_wrong_password(settings: Settings, walled: PostgresServer) -> None:
    assert told(settings, database_url=walled.url())["ledger role"].ok
    check = told(settings, database_url=walled.url(), sealing_keys="hunter2hunter2")["ledger role"]
    assert "POSTROOM_SEALING_KEYS" in check.remedy


@pytest.mark.parametrize(
    ("url", "finding"),
    [
        ("hunter2", "is no URL"),
        ("postgresql://u@h:hunter2/x", "is no URL"),
        ("mysql://u:hunter2@h/x", "postgresql://"),
        ("postgresql://u:hunter2@h/x?sslmod=require", "does not take: sslmod"),
        ("postgresql://u@h/x?connect_timeout=hunter2", "does not take: connect_timeout"),
        ("postgresql://u@h/x?port=hunter2", "does not take: port"),
    ],
)
def test_a_url_that_cannot_be_read_is_named_by_its_setting(settings: Settings, url: str, finding: str) -> None:
    check = told(settings, database_url=url)["database URL"]
    assert finding in check.finding
    assert check.remedy == "mend POSTROOM_DATABASE_URL"


def test_a_command_names_the_setting_of_a_url_that_cannot_be_read(settings: Settings) -> None:
    url = "postgresql://u:hunter2@h/x?sslmod=require"
    environment = {"POSTROOM_DATABASE_URL": url, "POSTROOM_BROKER_URL": settings.broker_url.get_secret_value()}
    assert "POSTROOM_DATABASE_URL" in celery("jobs", "list", environment=environment)


@pytest.mark.parametrize("url", ["nonsense://hunter2", "redis://h:hunter2/0"])
def test_a_broker_url_that_cannot_be_read_is_named(settings: Settings, url: str) -> None:
    check = broker_check(settings.model_copy(update={"broker_url": SecretStr(url)}))
    assert (check.ok, check.finding) == (False, "its URL cannot be read")


def test_an_unmigrated_database_ends_commands_and_workers_with_one_line(
    settings: Settings, empty_database_url: str, broker_url: str
) -> None:
    found = told(settings, database_url=empty_database_url)
    for name in ("tenant role", "auditor role", "writes", "migrations", "catalogue"):
        assert found[name].finding == "PostgreSQL: the database is not migrated to this release"
        assert found[name].remedy == "run `celery -A tasks database migrate`"
    environment = {"POSTROOM_DATABASE_URL": empty_database_url, "POSTROOM_BROKER_URL": broker_url}
    for words in (("jobs", "list"), ("worker", "-Q", "default")):
        assert "database migrate" in celery(*words, environment=environment).splitlines()[-1]
    assert "not migrated" in celery("doctor", environment=environment)


def test_a_worker_ends_with_the_cause_when_its_database_does_not_exist(settings: Settings) -> None:
    url = settings.database_url.get_secret_value() + "_none"
    environment = {"POSTROOM_DATABASE_URL": url, "POSTROOM_BROKER_URL": settings.broker_url.get_secret_value()}
    last = celery("worker", "-Q", "default", environment=environment).splitlines()[-1]
    assert last.startswith("Error: ledger role: PostgreSQL: ")


def test_a_newer_schema_serves_and_is_not_to_be_migrated(
    settings: Settings, process: Runtime, database: psycopg.Connection
) -> None:
    database.execute("update alembic_version set version_num = '9999_pre_later'")
    check = {check.name: check for check in examine(process)}["migrations"]
    assert check.ok
    assert "newer release" in check.finding
    with pytest.raises(Forbidden, match="a newer release has migrated"):
        upgrade(settings)


def test_a_wrong_grant_is_named(process: Runtime, database: psycopg.Connection) -> None:
    database.execute("revoke select on alembic_version from postroom_ledger")
    check = {check.name: check for check in examine(process)}["migrations"]
    assert check.finding == "PostgreSQL: a right is missing: permission denied for table alembic_version"
    assert "owner grant it again" in check.remedy


def test_settings_under_which_no_lease_holds_end_with_one_line() -> None:
    said = celery("doctor", environment={"POSTROOM_LEASE_S": "10", "POSTROOM_PROVIDER_CALL_LIMIT_S": "9"})
    assert said.startswith("Error: settings: provider_call_limit_s: 9 must be less than 6.66667")
    said = celery("jobs", "list", environment={"POSTROOM_BURST": "hunter2"})
    assert said.startswith("Error: settings: POSTROOM_BURST: ")


@pytest.mark.parametrize(
    ("unusable", "usable", "ok"), [(9, 0, True), (10, 11, True), (10, 10, False), (20, 0, False), (0, 0, True)]
)
def test_a_model_whose_answers_cannot_be_used_is_named(
    process: Runtime, *, unusable: int, usable: int, ok: bool
) -> None:
    """A request that fits no model, or a model that was renamed; a few are what some mail brings about."""
    account = make_account(process.database)
    said = ModelCall("classify", "a-model", "refused", 0)
    make_job_type(process.database)
    job = claim_one(process.database, enqueue_one(process.database, account.org_id))
    with process.database.ledger() as tx:
        for _ in range(unusable):
            refused = replace(said, refusal="messages: status 400")
            model_calls.book(tx, job, uuid4(), refused, account_id=account.account_id)
        for _ in range(usable):
            model_calls.book(tx, job, uuid4(), said, account_id=account.account_id)
    check = answers_check(process)
    assert check.ok is ok
    assert check.finding.startswith(f"{unusable} of {unusable + usable} of the last hour could not be used")
    assert ok or check.finding.endswith("the vendor refused the latest: messages: status 400")


def test_two_workers_of_one_name_are_found(settings: Settings, tmp_path: Path) -> None:
    environment = {
        "POSTROOM_DATABASE_URL": settings.database_url.get_secret_value(),
        "POSTROOM_BROKER_URL": settings.broker_url.get_secret_value(),
    }
    assert names_check(settings).ok
    words = [sys.executable, "-m", "celery", "-A", "tasks", "worker", "-n", "twin@here", "-Q", "planning", "-P", "solo"]
    with ExitStack() as stack:
        for _ in range(2):
            worker = ChildProcess(Command(words, environment, ROOT), log=tmp_path / "log", spawn=spawn_python)
            worker.start()
            stack.callback(worker.stop)
        eventually(lambda: not names_check(settings).ok, within=60, describe="two of one name were not found")
        assert "twin@here" in names_check(settings).finding


@pytest.mark.parametrize("words", ["", "server closed the connection unexpectedly", "no answer within 18.0 s"])
def test_what_says_nothing_of_a_login_is_no_refusal(words: str) -> None:
    assert refusal(words) is None


@pytest.mark.parametrize(
    "words", [("jobs", "enqueue", "maintenance.full_sync"), ("worker", "-Q", "default"), ("beat",), ("doctor",)]
)
def test_a_brokers_url_that_cannot_be_used_ends_every_command_before_it_has_done_anything(
    words: tuple[str, ...],
) -> None:
    url = "rediss://:hunter2@broker/0?ssl_cert_reqs=bogus"
    said = celery(*words, environment={"POSTROOM_BROKER_URL": url})
    assert said.startswith("Error: settings: POSTROOM_BROKER_URL: ssl_cert_reqs ")
    assert "hunter2" not in said


def test_a_brokers_url_that_cannot_be_used_ends_the_gateway() -> None:
    environment = {"POSTROOM_BROKER_URL": "redis://broker:hunter2/0"}
    ended, said = run_python("gateway", "--port", "0", folder=ROOT, environment=environment)
    assert (ended, said.count("\n"), "hunter2" in said) == (1, 1, False)
    assert said.startswith("Error: settings: POSTROOM_BROKER_URL: ")
