"""What an operator sees of times: when a job changed, when a step began, when an error came, and in which order."""

from datetime import datetime
from uuid import UUID

from psycopg import Connection

from engine.runtime import Runtime
from storage.jobs import job_views
from storage.postgres.execution import Row
from tests.doubles import probe_jobs
from tests.doubles.factories import enqueue_one
from tests.doubles.inline_worker import run_job


def timeline(process: Runtime, job_id: UUID) -> Row:
    with process.database.ledger() as tx:
        found = job_views.timeline(tx, job_id)
    assert found is not None
    return found


def test_a_job_that_dies_has_failed_first(process: Runtime, database: Connection, org: UUID) -> None:
    job_id = enqueue_one(
        process.database, org, probe_jobs.ending.name, payload={"word": ["no", "word"]}, is_checked=True
    )
    assert run_job(process, probe_jobs.ending, job_id) == "dead"
    failed, deadlettered = timeline(process, job_id).events[-2:]
    assert (failed["event"], deadlettered["event"]) == ("job.failed", "job.deadlettered")
    assert failed["data"]["error"]["code"] == "invalid"
    row = database.execute("select history -> -1 ->> 'event' from dead_letters").fetchone()
    assert row == ("job.deadlettered",)


def test_a_job_says_when_it_last_changed_and_when_its_error_came(process: Runtime, org: UUID) -> None:
    job_id = enqueue_one(process.database, org, probe_jobs.ending.name, payload={"word": "transient"})
    before = timeline(process, job_id).job
    run_job(process, probe_jobs.ending, job_id)
    job = timeline(process, job_id).job
    assert before is not None
    assert job is not None
    assert before["updated_at"] < job["updated_at"]
    assert before["updated_at"] <= job["error"]["at"] <= job["updated_at"]


def test_a_step_has_its_start(process: Runtime, org: UUID) -> None:
    job_id = enqueue_one(process.database, org, probe_jobs.chatty.name, payload={"word": "x"})
    run_job(process, probe_jobs.chatty, job_id)
    (step,) = timeline(process, job_id).steps
    assert datetime.fromisoformat(step["started_at"]) <= datetime.fromisoformat(step["at"])
