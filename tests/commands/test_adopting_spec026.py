"""`database adopt-spec026` makes jobs of an older system's table, all of it or nothing."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import Connection
from structlog.testing import capture_logs

from commands.database import database as commands
from domain.jobs.job import Origin
from storage.jobs import recovery
from storage.mail.accounts import spec026
from storage.postgres.migrate import upgrade
from tests.commands.calling import answer, refusal
from tests.commands.old_tables import add_old_job, make_old_tables
from tests.doubles.mail_environment import MailEnvironment
from tests.invariants import find_gaps

BEGAN = datetime(2026, 2, 1, 12, tzinfo=UTC)
ENDED = BEGAN + timedelta(minutes=3)
COLUMNS = "state, payload, error ->> 'reason', created_at, started_at, finished_at, attempt"


def done(command: str) -> Any:  # noqa: ANN401 - JSON may be anything
    """What a command answers. Other tests migrate databases of the same server, so it may log that it waits."""
    with capture_logs():
        return answer(commands, command)


def refused() -> str:
    with capture_logs():
        return refusal(commands, "adopt-spec026")


def jobs(database: Connection) -> dict[UUID, tuple[Any, ...]]:
    rows = database.execute(f"select id, {COLUMNS} from jobs where job_type = 'accounts.onboard'").fetchall()
    return {row[0]: row[1:] for row in rows}


def tables(database: Connection) -> list[str]:
    names = ["email_digest_batches", "email_processing_accounts", "email_processing_jobs"]
    query = "select relname from pg_class where relname = any (%s) and relkind = 'r' order by 1"
    return [name for (name,) in database.execute(query, (names,)).fetchall()]


def test_ac_05_email_jobs_migrated(env: MailEnvironment, database: Connection) -> None:
    """Each row is a job of its own id, with its words and times, and its audit log has each step."""
    account = env.account.account_id
    make_old_tables(database)
    times = {"created_at": BEGAN, "started_at": BEGAN + timedelta(minutes=1)}
    waits = add_old_job(database, account, created_at=BEGAN)
    fails = add_old_job(database, account, "failed", error_message="no consent", completed_at=ENDED, **times)
    ended = add_old_job(database, account, "complete", result_summary={"emails": 3}, completed_at=ENDED, **times)
    said = done("adopt-spec026")["old_tables"]
    assert said["jobs"] == {"pending": 1, "processing": 0, "complete": 1, "failed": 1}
    payload = {"account_id": str(account)}
    began = times["started_at"]
    assert jobs(database) == {
        waits: ("queued", payload, None, BEGAN, None, None, 0),
        fails: ("failed", payload, "no consent", BEGAN, began, ENDED, 1),
        ended: ("succeeded", payload | {"result_summary": {"emails": 3}}, None, BEGAN, began, ENDED, 1),
    }
    log = database.execute("select at from audit_log where job_id = %s order by id", (ended,)).fetchall()
    assert [at for (at,) in log] == [BEGAN, began, ENDED]
    assert find_gaps(database) == []


@pytest.mark.usefixtures("process")
def test_ac_04_email_digest_batches_dropped(database: Connection) -> None:
    make_old_tables(database)
    first, again = (done("adopt-spec026")["old_tables"] for _ in range(2))
    assert first["dropped"] == ["email_processing_jobs", "email_digest_batches"]
    assert again == "there are none"
    assert tables(database) == []


@pytest.mark.usefixtures("process")
def test_digests_are_not_dropped(database: Connection) -> None:
    make_old_tables(database)
    database.execute("insert into email_digest_batches values (gen_random_uuid())")
    assert "email_digest_batches: is not empty" in refused()
    assert tables(database) == ["email_digest_batches", "email_processing_jobs"]


def test_a_migration_adopts_what_it_can(env: MailEnvironment, database: Connection) -> None:
    make_old_tables(database)
    add_old_job(database, uuid4())
    kept = done("migrate")["old_tables"]
    assert kept.startswith("left as they are: ")
    database.execute("update email_processing_jobs set connection_id = %s", (env.account.account_id,))
    assert done("migrate")["old_tables"]["jobs"]["pending"] == 1
    assert "old_tables" not in done("migrate")


def test_a_row_in_progress_is_taken_back_and_runs(env: MailEnvironment, database: Connection) -> None:
    """Of two rows of one mailbox one holds the mailbox's key; the rescue finds it, and both end."""
    account = env.account.account_id
    make_old_tables(database)
    for _ in range(2):
        add_old_job(database, account, "processing", created_at=BEGAN, started_at=BEGAN)
    done("adopt-spec026")
    assert sorted(row[0] for row in jobs(database).values()) == ["queued", "running"]
    assert find_gaps(database) == []
    with env.process.database.ledger() as tx:
        assert len(recovery.rescue(tx, batch=10).job_ids) == 1
    assert {row[0] for row in jobs(database).values()} == {"queued"}
    env.drain(only="accounts.onboard")
    assert {row[0] for row in jobs(database).values()} == {"succeeded"}
    assert find_gaps(database, resting=False) == []


def test_connections_may_have_another_name_here(env: MailEnvironment, database: Connection) -> None:
    make_old_tables(database)
    connection_id = uuid4()
    add_old_job(database, connection_id)
    database.execute("create table email_processing_accounts (connection_id uuid, account_id uuid)")
    database.execute("insert into email_processing_accounts values (%s, %s)", (connection_id, env.account.account_id))
    done("adopt-spec026")
    ((_, payload, *_),) = jobs(database).values()
    assert payload == {"account_id": str(env.account.account_id)}
    assert tables(database) == []


BROKEN = (
    ({"status": "lost"}, "status: is none of"),
    ({"result_summary": [1]}, "result_summary: is no JSON object"),
    ({"result_summary": {"a": {"api_key": "x"}}}, "result_summary.api_key: must not carry a secret"),
    ({"result_summary": {"a": "x" * 262_144}}, "result_summary: has more than"),
    ({"created_at": "infinity"}, "created_at: is no time"),
    ({"completed_at": "infinity"}, "completed_at: is no time"),
)


def test_a_broken_row_leaves_everything_as_it_was(env: MailEnvironment, database: Connection) -> None:
    """Each of them is named with its field."""
    make_old_tables(database)
    add_old_job(database, env.account.account_id)
    rows = [(add_old_job(database, env.account.account_id, **broken), words) for broken, words in BROKEN]
    line = refused()
    assert [words for row_id, words in rows if f"row {row_id}: {words}" not in line] == []
    assert jobs(database) == {}
    assert tables(database) == ["email_digest_batches", "email_processing_jobs"]


def test_an_id_of_the_ledger_is_refused(env: MailEnvironment, database: Connection) -> None:
    make_old_tables(database)
    old = add_old_job(database, env.account.account_id)
    done("adopt-spec026")
    make_old_tables(database)
    add_old_job(database, env.account.account_id, id=old)
    assert f"row {old}: id: is a job's" in refused()


@pytest.mark.usefixtures("process")
def test_users_without_a_mailbox_are_named(database: Connection) -> None:
    make_old_tables(database)
    user_id = uuid4()
    add_old_job(database, uuid4(), user_id=user_id)
    assert f"of 1 users is no account here: user {user_id}" in refused()


@pytest.mark.parametrize(
    "referring",
    [
        "create view old_jobs as select id from email_processing_jobs",
        "create table old_notes (job_id uuid references email_processing_jobs (id))",
        "create function old_status(email_digest_batches) returns text language sql return 'sent'",
    ],
)
def test_what_refers_to_the_old_tables_is_named(env: MailEnvironment, database: Connection, referring: str) -> None:
    """And everything is left as it was, also by a migration."""
    make_old_tables(database)
    add_old_job(database, env.account.account_id)
    database.execute(referring.encode())
    name = referring.split("(", maxsplit=1)[0].split()[2]
    assert name in refused()
    assert name in done("migrate")["old_tables"]
    assert jobs(database) == {}
    assert tables(database) == ["email_digest_batches", "email_processing_jobs"]


def test_many_rows_take_many_statements_and_one_transaction(env: MailEnvironment, database: Connection) -> None:
    make_old_tables(database)
    ids = {add_old_job(database, env.account.account_id, "processing") for _ in range(10)}
    with capture_logs():
        upgrade(env.process.settings, lambda tx: spec026.adopt(tx, Origin(), batch=3))
    assert set(jobs(database)) == ids
    assert find_gaps(database) == []
