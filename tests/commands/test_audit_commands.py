"""Operators write the audit log to files, each event into one, whatever happens; and look up what happened."""

import gzip
import hashlib
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import Connection

from commands.audit import audit
from commands.jobs import jobs
from commands.secrets import secrets
from domain.jobs.failures import Transient
from domain.jobs.job import ActorType, Origin
from domain.jobs.lifecycle import settlement_of
from domain.jobs.retry import STANDARD
from engine.runtime import Runtime
from operations.pages import write_cursor
from sandbox.servers.child_process import ChildProcess, Command
from storage.jobs import ledger
from storage.jobs.audit_log import exports
from tests.commands.calling import answer, refusal
from tests.doubles.audit_entries import add_entries
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_org
from tests.house.reading import ROOT
from tests.servers.python_processes import spawn_python
from tests.waiting import eventually

pytestmark = pytest.mark.usefixtures("process")
DAY = timedelta(days=1)


def read_all(folder: Path) -> list[dict[str, Any]]:
    """Every event of the files in a folder, by their names; each file is what its manifest says."""
    found: list[dict[str, Any]] = []
    for manifest in sorted(folder.glob("*.json")):
        facts = json.loads(manifest.read_text())
        packed = (folder / facts["file"]).read_bytes()
        assert hashlib.sha256(packed).hexdigest() == facts["sha256"]
        events = [json.loads(line) for line in gzip.decompress(packed).splitlines()]
        assert len(events) == facts["events"]
        assert all(facts["after_id"] < event["id"] <= facts["upto_id"] for event in events)
        found += events
    assert len(list(folder.glob("*.jsonl.gz"))) == len(list(folder.glob("*.json")))
    return found


def numbers(database: Connection, where: str = "true") -> list[int]:
    return [row[0] for row in database.execute(f"select id from audit_log where {where} order by id".encode())]


def written(folder: Path) -> list[int]:
    return [event["id"] for event in read_all(folder)]


def test_each_event_gets_into_one_file_in_order(database: Connection, org: UUID, tmp_path: Path) -> None:
    add_entries(database, org, 200)
    (made,) = answer(audit, "export", "--to", tmp_path)
    assert made["events"] == 600
    assert written(tmp_path) == numbers(database)
    assert answer(audit, "export", "--to", tmp_path) == []
    add_entries(database, org, 10)
    answer(audit, "export", "--to", tmp_path)
    assert written(tmp_path) == numbers(database)
    recorded = answer(audit, "exports")
    assert [(row["events"], row["deleted"]) for row in recorded] == [(30, 0), (600, 0)]
    assert {row["sha256"] for row in recorded} >= {made["sha256"]}


def test_a_line_is_an_event_with_its_times_in_utc(database: Connection, org: UUID, tmp_path: Path) -> None:
    add_entries(database, org, 1, filled=3)
    answer(audit, "export", "--to", tmp_path)
    started = read_all(tmp_path)[1]
    assert datetime.fromisoformat(started.pop("at")).utcoffset() == timedelta(0)
    assert UUID(started.pop("job_id"))
    assert (started.pop("id"), started.pop("event"), started.pop("org_id")) == (3, "job.started", str(org))
    assert started == {
        "project_id": None, "actor_type": "system", "actor_id": "x", "request_id": "r", "correlation_id": "c1",
        "job_type": "probe.run", "attempt": 1, "worker_id": None, "claimed_at": None, "parent_id": None,
        "replay_of": None, "data": None,
    }  # fmt: skip
    assert oct(next(tmp_path.glob("*.gz")).stat().st_mode)[-3:] == "600"


def test_only_what_is_older_than_a_date(database: Connection, org: UUID, tmp_path: Path) -> None:
    add_entries(database, org, 10, age=40 * DAY)
    add_entries(database, org, 10, age=20 * DAY)
    before = (datetime.now(UTC) - 30 * DAY).date().isoformat()
    answer(audit, "export", "--to", tmp_path, "--before", before)
    assert written(tmp_path) == numbers(database)[:30]
    assert answer(audit, "export", "--to", tmp_path, "--before", before) == []


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--to", "/nowhere/at/all"], "invalid: to: /nowhere/at/all is no directory"),
        (["--to", "/", "--before", "yesterday"], "invalid: before: is no RFC 3339 time"),
        (["--to", "/", "--before", "2026-01-01T10:00:00"], "invalid: before: has no time zone"),
        (["--to", "/", "--before", "2999-01-01"], "invalid: before: is still to come"),
    ],
)
def test_what_is_refused_is_named(options: list[str], line: str) -> None:
    assert line in refusal(audit, "export", *options)


def test_another_file_is_never_written_over(database: Connection, org: UUID, tmp_path: Path) -> None:
    add_entries(database, org, 5)
    other = tmp_path / f"audit-{1:015d}-{20:015d}.jsonl.gz"
    other.write_bytes(b"something else")
    assert "no file of this export" in refusal(audit, "export", "--to", tmp_path)
    assert other.read_bytes() == b"something else"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == [other.name], "no part is left behind"
    other.unlink()
    answer(audit, "export", "--to", tmp_path)
    assert written(tmp_path) == numbers(database)


def test_a_full_disk_leaves_nothing_and_records_nothing(
    process: Runtime, database: Connection, org: UUID, tmp_path: Path
) -> None:
    add_entries(database, org, 5_000)
    limited = ["/bin/sh", "-c", 'ulimit -f 8 && exec "$@"', "sh", *export_command(tmp_path)]
    done = subprocess.run(  # noqa: S603  # our own command
        limited, cwd=ROOT, env=environment(process), capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr.strip()) == (1, f"Error: invalid: to: {tmp_path}: File too large")
    assert not any(path.is_file() for path in tmp_path.iterdir())
    assert [row["exported_at"] for row in answer(audit, "exports")] == [None]
    answer(audit, "export", "--to", tmp_path)
    assert written(tmp_path) == numbers(database)


def test_a_link_in_the_place_of_a_file_is_not_followed(database: Connection, org: UUID, tmp_path: Path) -> None:
    add_entries(database, org, 5)
    victim = tmp_path / "victim"
    victim.write_text("kept")
    (tmp_path / f".audit-{1:015d}-{20:015d}.jsonl.gz.part").symlink_to(victim)
    assert "invalid: to: " in refusal(audit, "export", "--to", tmp_path)
    assert victim.read_text() == "kept"


def test_an_entry_that_is_numbered_and_not_committed_is_waited_for(
    database: Connection, database_url: str, org: UUID, tmp_path: Path
) -> None:
    with psycopg.connect(database_url) as writer:
        add_entries(writer, org, 1)
        add_entries(database, org, 1)
        assert "transient: 1 transactions" in refusal(audit, "export", "--to", tmp_path, "--wait", 0)
        writer.commit()
    answer(audit, "export", "--to", tmp_path)
    assert written(tmp_path) == numbers(database)
    assert len(written(tmp_path)) == 6


def test_of_two_exports_one_is_refused(process: Runtime, database: Connection, org: UUID, tmp_path: Path) -> None:
    add_entries(database, org, 5)
    with process.database.ledger() as tx:
        wanted = exports.begin(tx, before=datetime.now(UTC), settled=20)
    assert wanted is not None
    with process.database.ledger() as tx:
        assert exports.hold(tx, wanted)
        assert "conflict: " in refusal(audit, "export", "--to", tmp_path)


def export_command(folder: Path) -> list[str]:
    return [sys.executable, "-m", "celery", "-A", "tasks", "audit", "export", "--to", str(folder)]


def environment(process: Runtime) -> dict[str, str]:
    return os.environ | {
        "POSTROOM_DATABASE_URL": process.settings.database_url.get_secret_value(),
        "POSTROOM_BROKER_URL": process.settings.broker_url.get_secret_value(),
    }


def exporting(process: Runtime, folder: Path, log: Path) -> ChildProcess:
    """The command as a process of its own, to be killed."""
    return ChildProcess(Command(export_command(folder), environment(process), ROOT), log=log, spawn=spawn_python)


def parts(folder: Path) -> list[Path]:
    return list(folder.glob(".*.part"))


def is_held(database: Connection) -> bool:
    """Whether a session of the killed process still has the export: PostgreSQL has not seen its end."""
    query = "select from audit_exports where exported_at is null for update skip locked"
    return database.execute(query).fetchone() is None


def finish_after_crash(database: Connection, folder: Path) -> None:
    eventually(lambda: not is_held(database), within=20, describe="the killed export's session goes on")
    answer(audit, "export", "--to", folder)
    assert written(folder) == numbers(database)
    assert parts(folder) == []
    assert all(row["exported_at"] for row in answer(audit, "exports"))


def test_a_kill_in_the_middle_of_a_file_loses_and_doubles_nothing(
    process: Runtime, database: Connection, org: UUID, tmp_path: Path
) -> None:
    add_entries(database, org, 100_000)
    folder = tmp_path / "exports"
    folder.mkdir()
    run = exporting(process, folder, tmp_path / "log")
    run.start()
    try:
        begun = eventually(
            lambda: [one for one in parts(folder) if one.stat().st_size > 100_000], within=40, describe="no part"
        )
    finally:
        run.kill()
    assert begun, run.read_log()
    assert list(folder.glob("*.gz")) == [], "half a file has no name"
    add_entries(database, org, 3)
    finish_after_crash(database, folder)
    assert len(answer(audit, "exports")) == 2


def test_a_kill_between_the_file_and_its_record_doubles_nothing(
    process: Runtime, database: Connection, database_url: str, org: UUID, tmp_path: Path
) -> None:
    add_entries(database, org, 100)
    folder = tmp_path / "exports"
    folder.mkdir()
    run = exporting(process, folder, tmp_path / "log")
    with psycopg.connect(database_url) as other:
        # Lets the export begin, and keeps its record out.
        begun = exports.Range(0, 400)
        with process.database.ledger() as tx:
            assert exports.begin(tx, before=datetime.now(UTC), settled=400) == begun
        other.execute("lock table audit_exports in share mode")
        run.start()
        try:
            eventually(lambda: list(folder.glob("*[0-9].json")), within=40, describe=f"no file: {run.read_log()}")
        finally:
            run.kill()
        other.rollback()
    (file,) = folder.glob("*.gz")
    before = file.stat().st_ino
    add_entries(database, org, 3)
    finish_after_crash(database, folder)
    assert file.stat().st_ino == before, "the file that was there is the export's"


def test_what_one_request_caused(process: Runtime, database: Connection, org: UUID) -> None:
    make_job_type(process.database)
    origin = Origin(ActorType.USER, "ada", correlation_id="order 7")
    named = [enqueue_one(process.database, org, origin=origin) for _ in range(2)]
    alone = enqueue_one(process.database, org)
    rows = answer(audit, "list", "--correlation", "order 7")
    assert [(row["event"], row["job_id"]) for row in rows] == [("job.enqueued", str(job_id)) for job_id in named]
    assert [row["job_id"] for row in answer(audit, "list", "--correlation", alone)] == [str(alone)]
    assert answer(audit, "list", "--correlation", "order 8") == []
    assert database


def test_what_happened_in_an_org_besides_jobs(process: Runtime, org: UUID) -> None:
    make_job_type(process.database)
    enqueue_one(process.database, org)
    for name in ("crm.api_key", "erp.api_key"):
        answer(secrets, "set", name, "--org", "an org", "--as", "ada", typed="blue-horse-battery-7719")
    rows = answer(audit, "list", "--org", "an org")
    assert [(row["event"], row["data"]["name"]) for row in rows] == [
        ("secret.set", "erp.api_key"),
        ("secret.set", "crm.api_key"),
    ]
    after_first = write_cursor((rows[0]["id"],))
    assert answer(audit, "list", "--org", org, "--cursor", after_first) == rows[1:]


def test_what_people_did_in_all_orgs_is_one_list(process: Runtime, database: Connection, org: UUID) -> None:
    make_job_type(process.database)
    job_id = enqueue_one(process.database, org)
    answer(jobs, "cancel", job_id, "--reason", "too early")
    answer(jobs, "retry", job_id, "--as", "eve")
    answer(secrets, "set", "crm.api_key", "--org", make_org(database, "other"), typed="blue-horse-battery-7719")
    rows = answer(audit, "list")
    assert [row["event"] for row in rows] == ["secret.set", "job.replayed"]
    assert [row["event"] for row in answer(audit, "list", "--org", org)] == ["job.replayed"]
    assert answer(audit, "list", "--cursor", write_cursor((rows[0]["id"],))) == rows[1:]


def test_an_event_is_shown_with_its_name_in_a_source_document(
    process: Runtime, database: Connection, org: UUID
) -> None:
    make_job_type(process.database)
    job_id = enqueue_one(process.database, org, max_attempts=1)
    job = claim_one(process.database, job_id)
    settlement = settlement_of(job, Transient("no"), STANDARD, datetime.now(UTC), 0.5)
    with process.database.ledger() as tx:
        ledger.settle(tx, [settlement], hint_timeout=DAY)
    assert database.execute("select state from jobs where id = %s", (job_id,)).fetchone() == ("dead",)
    shown = {one["event"]: one["known_as"] for one in answer(audit, "list", "--correlation", job_id)}
    assert (shown["job.deadlettered"], shown["job.enqueued"]) == ("JOB_EXHAUSTED_RETRIES", None)
    timeline = answer(jobs, "show", job_id)["events"]
    assert [one["known_as"] for one in timeline if one["event"] == "job.deadlettered"] == ["JOB_EXHAUSTED_RETRIES"]
