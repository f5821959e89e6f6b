"""The doctor finds what is wrong, says what to do about it, and ends with status 1."""

import socket
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from psycopg import Connection
from pydantic import SecretStr
from redis.exceptions import ConnectionError as BrokerLost

from beat_schedule import EVERY
from commands.doctor import ask_workers, broker_check, doctor, examine, limits_check, of_ledger, queue_checks
from commands.people_checks import people_check
from domain.jobs.gate_causes import Cause
from engine.beat import tick, tick_payload
from engine.runtime import Runtime
from operations import health
from sandbox.servers.child_process import ChildProcess, Command
from sandbox.servers.free_port import find_free_port
from sandbox.servers.valkey_server import ValkeyServer
from settings import Settings
from storage.jobs import gates
from storage.jobs.gates import Gate
from storage.mail.accounts import accounts, pushes
from storage.mail.accounts.accounts import Consent
from storage.notifications.alerts import MOST_LETTERS
from storage.orgs.secrets.sealing import Sealer
from storage.postgres.migrate import upgrade
from storage.postgres.readiness import Check, installation_checks
from tests.commands.calling import answer, call
from tests.doubles.audit_entries import add_entries, count_all, export_all
from tests.doubles.factories import enqueue_one
from tests.doubles.mail_factories import connect_account
from tests.house.reading import ROOT
from tests.servers.python_processes import spawn_python
from tests.waiting import eventually

OF_LEDGER = {name: of_ledger(check) for name, check in health.LEDGER_CHECKS}
beat_check, clock_check, seal_check = (OF_LEDGER[name] for name in ("beat", "clock", "sealed tokens"))


def wrong(checks: Sequence[Check]) -> set[str]:
    assert all(check.remedy for check in checks if not check.ok)
    return {check.name for check in checks if not check.ok}


def test_a_fleet_without_workers_is_ill_and_told_what_to_start(process: Runtime) -> None:
    assert process
    rows = answer(doctor, status=1)
    ill = {row["name"] for row in rows if not row["ok"]}
    assert ill == {"beat", "served queues"} | {f"queue {queue}" for queue in (
        "critical", "default", "notifications", "planning", "exports", "maintenance", "deadletter")}  # fmt: skip
    assert "celery -A tasks worker -Q critical" in call(doctor).output


def test_a_broker_that_is_too_old_is_told(settings: Settings, tmp_path: Path) -> None:
    # It does not know the command under its own name, as a Redis before 7.
    with ValkeyServer(tmp_path, options=["--rename-command", "BLMPOP", ""]) as old:
        found = broker_check(settings.model_copy(update={"broker_url": SecretStr(old.url())}))
    assert not found.ok
    assert found.remedy


def test_a_missing_database_and_broker_are_named_without_their_passwords(settings: Settings) -> None:
    away = settings.model_copy(
        update={
            "database_url": SecretStr(f"postgresql://postgres:hunter2@127.0.0.1:{find_free_port()}/none"),
            "broker_url": SecretStr(f"redis://:hunter2@127.0.0.1:{find_free_port()}/0"),
        }
    )
    found = examine(Runtime(away))
    assert wrong(found) == {
        "broker", "rate limits", "workers", "worker names", "ledger role", "tenant role", "auditor role", "writes",
        "migrations", "functions", "rights", "catalogue", "clock", "sealed tokens", "beat", "pushes", "watches",
        "model answers", "gates", "people", "console", "providers", "refused messages", "packages", "alerts",
        "audit log", "served queues", "releases", "own tables", "moves of orgs",
    }  # fmt: skip
    assert "hunter2" not in str(found)


@pytest.mark.parametrize("audit_retention_s", [None, 30 * 86_400.0])
def test_a_database_that_takes_connections_and_says_nothing_is_asked_once(
    settings: Settings, audit_retention_s: float | None
) -> None:
    # As a frozen server: the system takes the connection, and nobody reads from it.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://postgres@127.0.0.1:{silent.getsockname()[1]}/none"
        changes = {"database_url": SecretStr(url), "audit_retention_s": audit_retention_s}
        found = {check.name: check for check in examine(Runtime(settings.model_copy(update=changes)))}
        silent.settimeout(0)
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):
            silent.accept()
    assert "did not answer" in found["ledger role"].finding
    unasked = {
        "tenant role", "auditor role", "writes", "migrations", "functions", "rights", "clock", "beat", "providers",
        "audit log",
    }  # fmt: skip
    assert unasked <= wrong(list(found.values()))


def test_a_broker_that_ends_while_workers_are_asked_is_told(settings: Settings) -> None:
    def question(_app: object) -> None:
        raise BrokerLost("Connection closed by server.")

    assert ask_workers(settings, question) == (None, "ended the connection: Connection closed by server.")
    assert ask_workers(settings, lambda _: {"a worker": []}) == ({"a worker": []}, "")


def test_workers_are_asked_by_the_broker_of_the_settings(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELERY_BROKER_URL", f"redis://127.0.0.1:{find_free_port()}/0?foo=1")
    assert ask_workers(settings, lambda app: app.control.ping(timeout=0.1)) == ([], "")


def test_an_unpublished_catalogue_and_an_old_schema_are_found(process: Runtime, database: Connection) -> None:
    database.execute("delete from job_types")
    database.execute("update alembic_version set version_num = '0000'")
    assert {"catalogue", "migrations"} <= wrong(examine(process))


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ("alter function postroom.hold_claim(uuid, uuid) reset search_path", "definer without a safe search_path"),
        ("grant execute on function postroom.secure() to public", "everybody may execute it"),
        ("grant temporary on database {database} to public", "postroom_tenant may TEMPORARY"),
        ("alter role postroom_tenant in database {database} set search_path = x", "setting of a role"),
        ("grant update on accounts to postroom_tenant", "right to lock a table: accounts"),
        ("grant select (claim_token) on jobs to postroom_tenant", "handlers may read: jobs.claim_token"),
        ("grant execute on function pg_terminate_backend(integer, bigint) to postroom_tenant", "pg_terminate_backend"),
        ("alter table messages disable row level security", "row-level security is off: messages"),
    ],
)
def test_a_wrong_right_is_named_and_most_are_mended_by_migrating(
    process: Runtime, settings: Settings, database: Connection, change: str, finding: str
) -> None:
    assert wrong(installation_checks(process.database)) == set()
    database.execute(
        change.replace("function postroom.secure", "procedure postroom.secure")
        .format(database=database.info.dbname)
        .encode()
    )
    rights = {check.name: check for check in installation_checks(process.database)}["rights"]
    assert finding in rights.finding
    assert "migrate" in rights.remedy
    upgrade(settings)
    left = wrong(installation_checks(process.database))
    # What a table grants is a migration's, and a person's to take back.
    assert left == ({"rights"} if change.startswith(("grant update", "grant select", "alter table")) else set())


def test_a_function_that_is_not_as_in_this_release_is_named(process: Runtime, database: Connection) -> None:
    def functions() -> Check:
        return {check.name: check for check in installation_checks(process.database)}["functions"]

    assert functions().ok
    words = "returns interval language sql immutable as $$ select interval '1 day' $$"
    database.execute(f"create or replace function postroom.keep_effects_for() {words}".encode())
    database.execute(f"create function postroom.left_over() {words}".encode())
    assert not functions().ok
    assert functions().finding.endswith("keep_effects_for (effects.sql); left_over (in no file)")
    database.execute("update alembic_version set version_num = '9999_post_later'")
    assert functions().ok, "a newer release has functions of its own"


def test_a_clock_that_is_off_is_found(process: Runtime, settings: Settings) -> None:
    assert clock_check(process).ok
    late = Runtime(settings, clock=lambda: datetime.now(UTC) - timedelta(seconds=30))
    assert not clock_check(late).ok
    late.close()


def test_tokens_that_no_key_of_the_settings_opens_are_counted(process: Runtime) -> None:
    consent = Consent(SecretStr("access"), SecretStr("refresh"), datetime.now(UTC) + timedelta(hours=1))
    with process.database.ledger() as tx:
        connect_account(tx, process.sealer, "acme", "reader@example.com", consent)
    assert seal_check(process).ok
    with process.database.ledger() as tx:
        connect_account(tx, Sealer(["another key"]), "acme", "writer@example.com", consent)
    found = seal_check(process)
    assert not found.ok
    assert "1 mailboxes and 0 secrets" in found.finding


@pytest.mark.parametrize(("renewed_ago", "ok"), [(timedelta(hours=1), True), (timedelta(days=3), False), (None, False)])
def test_a_mailbox_that_no_longer_pushes_is_named(
    process: Runtime, database: Connection, renewed_ago: timedelta | None, ok: bool
) -> None:
    consent = Consent(SecretStr("access"), SecretStr("refresh"), datetime.now(UTC) + timedelta(hours=1))
    with process.database.ledger() as tx:
        made = connect_account(tx, Sealer(["a key"]), "acme", "reader@example.com", consent)
        if renewed_ago is not None:
            accounts.record_watch(tx, made.account_id, expires_at=datetime.now(UTC) + timedelta(days=5))
    if renewed_ago is not None:
        database.execute("update accounts set watch_renewed_at = now() - %s", (renewed_ago,))
    assert OF_LEDGER["watches"](process).ok, "it is being set up"
    database.execute("update accounts set status_changed_at = now() - interval '1 hour'")
    check = OF_LEDGER["watches"](process)
    assert check.ok == ok
    assert ("reader@example.com" in check.finding) != ok


def test_pushes_that_were_thrown_away_are_counted_by_their_reason(process: Runtime, database: Connection) -> None:
    assert OF_LEDGER["pushes"](process).finding.startswith("none was thrown away since 20")
    with process.database.ledger() as tx:
        for reason in ("unknown_account", "unknown_account", "bad_payload"):
            pushes.count_refused(tx, reason)
    check = OF_LEDGER["pushes"](process)
    assert check.ok
    assert check.finding.endswith(": 2 as unknown_account, 1 as bad_payload")
    database.execute("update refused_pushes set day = day - 3")
    assert OF_LEDGER["pushes"](process).finding.startswith("none")


def test_a_worker_makes_its_queues_well(settings: Settings, tmp_path: Path) -> None:
    assert broker_check(settings).ok
    assert len(wrong(queue_checks(settings))) == 7
    environment = {
        "POSTROOM_DATABASE_URL": settings.database_url.get_secret_value(),
        "POSTROOM_BROKER_URL": settings.broker_url.get_secret_value(),
    }
    words = [sys.executable, "-m", "celery", "-A", "tasks", "worker", "-Q", "critical,planning", "-P", "solo"]
    worker = ChildProcess(Command(words, environment, ROOT), log=tmp_path / "log", spawn=spawn_python)
    worker.start()
    try:
        left = {f"queue {name}" for name in ("default", "notifications", "exports", "maintenance", "deadletter")}
        eventually(lambda: wrong(queue_checks(settings)) == left, within=40, describe="no worker was seen")
    finally:
        worker.stop()


def test_calls_that_are_counted_per_process_only_are_told_and_wrong_in_production(settings: Settings) -> None:
    without = settings.model_copy(update={"broker_url": SecretStr("amqp://127.0.0.1")})
    check = limits_check(Runtime(without))
    assert check.ok
    assert check.finding
    strict = limits_check(Runtime(without.model_copy(update={"environment": "production"})))
    assert wrong([strict]) == {"rate limits"}
    assert "POSTROOM_LIMITS_URL" in strict.remedy
    assert limits_check(Runtime(without.model_copy(update={"limits_url": settings.broker_url}))).ok


def test_what_waits_for_a_person_is_told_and_is_no_fault_of_the_fleet(
    process: Runtime, database: Connection, org: UUID
) -> None:
    assert people_check(process).finding == "nothing waits for a person"
    job_id = enqueue_one(process.database, org, "maintenance.full_sync")
    database.execute(
        "insert into dead_letters (org_id, job_id, job_type, queue, payload, payload_version, reason, error, plan)"
        " select org_id, id, job_type, queue, payload, 1, 'x', '{}', 'x' from jobs where id = %s",
        (job_id,),
    )
    with process.database.ledger() as tx:
        gates.close(tx, Gate("account", str(org), "withdrawn", None, "postroom", Cause.CONSENT))
    told = people_check(process)
    assert told.ok
    assert "1 dead letters" in told.finding


def test_of_a_storm_of_dead_letters_a_part_is_counted(process: Runtime, database: Connection, org: UUID) -> None:
    database.execute(
        "insert into dead_letters (org_id, job_id, job_type, queue, payload, payload_version, reason, error, plan)"
        " select %s, uuidv7(), 'maintenance.full_sync', 'maintenance', '{}', 1, 'x', '{}', 'x'"
        " from generate_series(1, %s)",
        (org, MOST_LETTERS + 1),
    )
    assert people_check(process).finding.startswith(f"{MOST_LETTERS} or more dead letters")


def test_an_audit_log_that_no_file_has_is_told_where_it_should_leave(
    process: Runtime, database: Connection, org: UUID
) -> None:
    assert OF_LEDGER["audit log"](process).ok
    process.settings = process.settings.model_copy(update={"audit_retention_s": 30 * 86_400.0})
    assert OF_LEDGER["audit log"](process).ok, "nothing is old enough"
    add_entries(database, org, 5, age=timedelta(days=40))
    check = OF_LEDGER["audit log"](process)
    assert not check.ok
    assert check.finding
    assert "audit export --to" in check.remedy
    export_all(process.database)
    assert "nothing was exported after" in OF_LEDGER["audit log"](process).finding
    add_entries(database, org, 5, age=timedelta(days=1))
    export_all(process.database)
    check = OF_LEDGER["audit log"](process)
    assert "wait to be counted" in check.finding
    assert "POSTROOM_METRICS_PORT" in check.remedy
    count_all(database)
    assert OF_LEDGER["audit log"](process).ok


def test_a_gate_that_somebody_closed_is_named(process: Runtime) -> None:
    assert OF_LEDGER["gates"](process).finding == "nobody has closed one"
    with process.database.ledger() as tx:
        gates.close(tx, Gate("fleet", "", "moving house", None, "ann", Cause.PAUSE))
        for number in range(4):
            gates.close(tx, Gate("queue", f"queue-{number}", "a test", None, "ann", Cause.PAUSE))
        gates.close(tx, Gate("provider", "gmail", "slow down", None, "postroom", Cause.SLOW_DOWN))
    check = OF_LEDGER["gates"](process)
    assert check.ok
    assert check.finding.startswith("5 closed, whose jobs wait: fleet: moving house; queue queue-0: a test;")
    assert check.finding.endswith("; and 2 more")


def tick_all(process: Runtime) -> None:
    """What a beat does when it begins."""
    for name, every in EVERY.items():
        tick(tick_payload(name), every, process.clock())


def age_ticks(database: Connection, by: timedelta) -> None:
    database.execute("update beat_ticks set ticked_at = ticked_at - %s", (by,))


def close(process: Runtime, scope: str, key: str, cause: Cause = Cause.PAUSE) -> None:
    with process.database.ledger() as tx:
        gates.close(tx, Gate(scope, key, "moving house", None, "ann", cause))


def test_an_installation_where_no_beat_ever_ran_is_told_so(process: Runtime) -> None:
    check = beat_check(process)
    assert not check.ok
    assert check.finding.startswith("none has ever run")
    assert "celery -A tasks beat" in check.remedy


def test_a_beat_that_ticks_is_well_until_it_is_silent_for_too_long(process: Runtime, database: Connection) -> None:
    tick_all(process)
    assert beat_check(process).ok
    age_ticks(database, timedelta(minutes=5, seconds=30))
    assert beat_check(process).ok, "the next tick is five minutes late after six"
    age_ticks(database, timedelta(minutes=1))
    check = beat_check(process)
    assert not check.ok
    assert check.finding.startswith("none lives: ")
    assert "approvals.expire" in check.finding
    assert check.remedy.startswith("start one")
    tick_all(process)
    assert beat_check(process).ok


def test_a_beat_that_misses_one_job_alone_is_another_trouble_than_a_dead_one(
    process: Runtime, database: Connection
) -> None:
    tick_all(process)
    database.execute(
        "update beat_ticks set ticked_at = now() - interval '1 day' where job_type = 'maintenance.full_sync'"
    )
    check = beat_check(process)
    assert not check.ok
    assert "maintenance.full_sync" in check.finding
    assert "none lives" not in check.finding
    assert "tick_not_enqueued" in check.remedy


def test_a_beat_of_another_release_is_named_and_what_it_ticks_for_beside_ours_is_not_missed(
    process: Runtime, database: Connection
) -> None:
    tick_all(process)
    database.execute(
        "update beat_ticks set job_type = 'maintenance.of_yore' where job_type = 'maintenance.raise_alerts'"
    )
    database.execute(
        "update beat_ticks set ticked_at = now() - interval '1 year' where job_type = 'maintenance.of_yore'"
    )
    check = beat_check(process)
    assert not check.ok
    assert "maintenance.raise_alerts" in check.finding
    assert "release" in check.remedy


@pytest.mark.parametrize(("scope", "key"), [("fleet", "*"), ("queue", "maintenance")])
def test_a_beat_that_is_stopped_while_a_person_pauses_its_jobs_is_not_missed(
    process: Runtime, database: Connection, scope: str, key: str
) -> None:
    tick_all(process)
    age_ticks(database, timedelta(hours=2))
    assert not beat_check(process).ok
    close(process, scope, key, Cause.SLOW_DOWN)
    assert not beat_check(process).ok, "nobody wants that pause"
    close(process, scope, key)
    check = beat_check(process)
    assert check.ok
    assert "gates" in check.finding
    with process.database.ledger() as tx:
        gates.open_gate(tx, scope, key)
    assert not beat_check(process).ok
