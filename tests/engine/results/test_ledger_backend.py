"""`AsyncResult(job_id)` with the ledger as Celery's result backend: state, result, error, and waiting for them."""

import time
from threading import Thread
from uuid import UUID, uuid4

import pytest
from celery import Celery, states
from celery.exceptions import TaskError, TaskRevokedError
from celery.exceptions import TimeoutError as ResultTimeoutError
from psycopg import Connection

from domain.jobs.job import Cancel, Done, State
from domain.jobs.results import JobResult
from engine.app import app
from engine.results.metas import status_of
from engine.runtime import Runtime, install
from storage.jobs import results
from storage.postgres.logins import role_url
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_org, make_settings
from tests.storage.jobs.test_results import end, fail, poison


@pytest.fixture
def org(database: Connection, process: Runtime) -> UUID:
    make_job_type(process.database)
    return make_org(database)


def enqueued(process: Runtime, org: UUID) -> UUID:
    return enqueue_one(process.database, org)


@pytest.mark.parametrize(
    ("state", "attempt", "status"),
    [
        (State.QUEUED, 0, states.PENDING),
        (State.QUEUED, 1, states.RETRY),
        (State.CLAIMED, 0, states.PENDING),
        (State.CLAIMED, 2, states.RETRY),
        (State.RUNNING, 1, states.STARTED),
        (State.SUCCEEDED, 1, states.SUCCESS),
        (State.FAILED, 1, states.FAILURE),
        (State.DEAD, 5, states.FAILURE),
        (State.CANCELED, 0, states.REVOKED),
        (None, 0, states.FAILURE),
    ],
)
def test_each_state_has_celery_s_word(state: State | None, attempt: int, status: str) -> None:
    assert status_of(JobResult(state, attempt)) == status
    assert status_of(None) == states.PENDING


def test_a_result_follows_its_job(process: Runtime, org: UUID) -> None:
    job_id = enqueued(process, org)
    result = app.AsyncResult(str(job_id))
    assert (result.state, result.ready(), result.result) == (states.PENDING, False, None)
    end(process.database, job_id, Done({"a": 1}))
    assert (result.state, result.ready(), result.successful()) == (states.SUCCESS, True, True)
    assert result.get(timeout=5) == {"a": 1}
    assert result.date_done is not None


def test_a_running_job_is_started(process: Runtime, org: UUID) -> None:
    job_id = enqueued(process, org)
    claim_one(process.database, job_id)
    assert app.AsyncResult(str(job_id)).state == states.STARTED


def test_get_raises_what_celery_raises(process: Runtime, org: UUID, database: Connection) -> None:
    failed, dead, canceled = (enqueued(process, org) for _ in range(3))
    fail(process.database, database, failed)
    poison(process.database, database, dead)
    end(process.database, canceled, Cancel("pointless"))
    with pytest.raises(TaskError) as failure:
        app.AsyncResult(str(failed)).get(timeout=5)
    assert failure.value.args == ("permanent", "no use")
    with pytest.raises(TaskError):
        app.AsyncResult(str(dead)).get(timeout=5)
    with pytest.raises(TaskRevokedError, match="pointless"):
        app.AsyncResult(str(canceled)).get(timeout=5)
    assert isinstance(app.AsyncResult(str(failed)).get(timeout=5, propagate=False), TaskError)


def test_get_waits_for_the_end(process: Runtime, org: UUID) -> None:
    job_id = enqueued(process, org)
    seen: list[object] = []
    waiting = Thread(target=lambda: seen.append(app.AsyncResult(str(job_id)).get(timeout=30)))
    waiting.start()
    end(process.database, job_id, Done({"a": 1}))
    waiting.join()
    assert seen == [{"a": 1}]


def test_get_gives_up_in_time(process: Runtime, org: UUID) -> None:
    began = time.monotonic()
    with pytest.raises(ResultTimeoutError):
        app.AsyncResult(str(enqueued(process, org))).get(timeout=0.1)
    assert time.monotonic() - began >= 0.1
    with pytest.raises(ResultTimeoutError):
        app.AsyncResult(str(uuid4())).get(timeout=0)


def test_a_database_that_is_away_is_waited_for_until_the_time_is_over() -> None:
    nowhere = make_settings(database_url="postgresql://me@127.0.0.1:1/nothing")
    process = Runtime(nowhere)
    install(process)
    with pytest.raises(ResultTimeoutError):
        app.AsyncResult(str(uuid4())).get(timeout=0.2)
    install(None)
    process.close()


def test_a_duplicate_s_task_id_answers_with_the_job_that_was_first(process: Runtime, org: UUID) -> None:
    job_id, task_id = enqueued(process, org), str(uuid4())
    with process.database.ledger() as tx:
        results.ask_for(tx, [(job_id, task_id)], is_sent=False)
    end(process.database, job_id, Done({"a": 1}))
    assert app.AsyncResult(task_id).get(timeout=5) == {"a": 1}


def test_a_refused_message_is_a_failure(process: Runtime) -> None:
    with process.database.ledger() as tx:
        results.refuse(tx, [("t", "org_id", "names no org")], is_sent=False)
    with pytest.raises(TaskError, match="names no org"):
        app.AsyncResult("t").get(timeout=5)


def test_another_app_reads_the_ledger_by_its_url(process: Runtime, org: UUID) -> None:
    job_id = enqueued(process, org)
    end(process.database, job_id, Done({"a": 1}))
    url = role_url(process.settings, "postroom_ledger").set(drivername="postgresql")
    with Celery("other", backend=f"ledger+{url.render_as_string(hide_password=False)}", set_as_current=False) as other:
        assert other.AsyncResult(str(job_id)).get(timeout=5) == {"a": 1}
        assert other.backend.as_uri() == "ledger://"
        other.backend.close()


def test_what_celery_would_store_is_not_stored(process: Runtime, org: UUID) -> None:
    job_id = enqueued(process, org)
    app.backend.store_result(str(job_id), {"forged": 1}, states.SUCCESS)
    app.backend.forget(str(job_id))
    assert app.AsyncResult(str(job_id)).state == states.PENDING
    assert app.backend.task_result_exists(str(job_id))
