"""The fleet's own app: each way to send a task makes a job, or the caller gets the field and the reason."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
import redis
from celery import group, signature
from celery.bin.base import CLIContext
from celery.bin.call import call
from click.testing import CliRunner
from psycopg import Connection

from domain.jobs.failures import Invalid
from engine.runtime import Runtime
from tasks import celery as app
from tests.doubles import probe_jobs
from tests.doubles.messages.odd_messages import contract

TASK = "probe_jobs.noop"
CANCEL = "update jobs set state = 'canceled', cancel_reason = 'over', finished_at = now(), next_check_at = null"
Way = Callable[[dict[str, Any]], Any]

WAYS: dict[str, Way] = {
    "send_task": lambda job: app.send_task(TASK, kwargs=job),
    "send_task to a queue": lambda job: app.send_task(TASK, (), job, queue="default"),
    "send_task to Celery's queue": lambda job: app.send_task(TASK, kwargs=job, queue="celery"),
    "send_task to a document's queue": lambda job: app.send_task(TASK, kwargs=job, queue="q:critical"),
    "delay": lambda job: app.tasks[TASK].delay(**job),
    "apply_async": lambda job: app.tasks[TASK].apply_async(kwargs=job),
    "a signature": lambda job: signature(TASK, kwargs=job, app=app).delay(),
    "a group": lambda job: group([signature(TASK, kwargs=job, app=app)]).apply_async().results[0],
}
FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "no org": ({"org_id": None}, "org_id"),
    "an org that nobody knows": ({"org_id": str(uuid4())}, "org_id"),
    "a field too many": ({"colour": "red"}, "colour"),
    "a payload that does not fit": ({"payload": {"colour": "red"}}, "payload.colour"),
    "another task": ({"job_type": "probe_jobs.parent"}, "job_type"),
    "what is no JSON": ({"payload": {"a": {1, 2}}}, "kwargs"),
}
OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "link": ({"link": signature(TASK, app=app)}, "embed.callbacks"),
    "link_error": ({"link_error": signature(TASK, app=app)}, "embed.errbacks"),
    "chain": ({"chain": [signature(TASK, app=app)]}, "embed.chain"),
    "chord": ({"chord": signature(TASK, app=app)}, "embed.chord"),
    "time_limit": ({"time_limit": 10}, "timelimit"),
    "soft_time_limit": ({"soft_time_limit": 10}, "timelimit"),
    "priority": ({"priority": 200}, "priority"),
    "a priority that is a truth value": ({"priority": True}, "priority"),
    "a priority with a fraction": ({"priority": 5.0}, "priority"),
    "stamps": ({"headers": {"stamps": {"a": ["b"]}}}, "stamps"),
    "queue": ({"queue": "billing"}, "queue"),
    "routing_key": ({"routing_key": "billing"}, "routing_key"),
    "exchange": ({"exchange": "billing"}, "exchange"),
}


@pytest.fixture
def job(process: Runtime, org: UUID) -> dict[str, Any]:
    assert process
    assert probe_jobs.noop
    return contract(org_id=str(org))


@pytest.fixture
def unheard(broker_url: str) -> Callable[[], bool]:
    """Whether the broker has got no message that carries a job."""

    def is_unheard() -> bool:
        with redis.Redis.from_url(broker_url) as broker:
            lists = [key for key in broker.keys("*") if broker.type(key) == b"list"]
            return not any(b"payload" in item for key in lists for item in broker.lrange(key, 0, -1))

    return is_unheard


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_what_is_sent_is_in_the_ledger_before_the_caller_goes_on(
    job: dict[str, Any], way: Way, database: Connection, unheard: Callable[[], bool]
) -> None:
    result = way(job)
    assert database.execute("select id::text, job_type, state from jobs").fetchall() == [
        (job["job_id"], TASK, "queued")
    ]
    assert result.state == "PENDING"
    again = way(job)
    assert unheard()
    database.execute(CANCEL)
    assert (result.state, again.state) == ("REVOKED", "REVOKED"), "the same key is the same job"


@pytest.mark.parametrize(("changed", "field"), FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_what_cannot_become_a_job_is_refused_where_it_is_sent(
    job: dict[str, Any], way: Way, changed: dict[str, Any], field: str, database: Connection
) -> None:
    with pytest.raises(Invalid) as refusal:
        way({name: value for name, value in (job | changed).items() if value is not None})
    assert refusal.value.field == field
    assert database.execute("select count(*) from jobs").fetchone() == (0,)


@pytest.mark.parametrize(("options", "field"), OPTIONS.values(), ids=OPTIONS)
def test_an_option_that_no_job_has_is_refused_by_its_name(
    job: dict[str, Any], options: dict[str, Any], field: str, database: Connection
) -> None:
    for send in (app.send_task, lambda name, **given: app.tasks[name].apply_async(**given)):
        with pytest.raises(Invalid) as refusal:
            send(TASK, kwargs=job, **options)
        assert refusal.value.field == field
    assert database.execute("select count(*) from jobs").fetchone() == (0,)


def test_the_options_that_a_job_has_become_the_job_s(job: dict[str, Any], database: Connection) -> None:
    later = datetime.now(UTC).replace(microsecond=0) + timedelta(days=2)
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    app.tasks[TASK].apply_async(
        kwargs=job, countdown=3600, expires=later, priority=9, headers={"traceparent": trace}, ignore_result=True
    )
    found = database.execute(
        "select priority, expires_at, run_at - created_at > interval '59 minutes', traceparent from jobs"
    ).fetchall()
    assert [row[:3] for row in found] == [(9, later, True)]
    assert found[0][3].split("-")[1] == trace.split("-")[1]


@pytest.mark.parametrize("task", [TASK, "no.such_type", "celery.backend_cleanup"])
def test_a_task_without_a_contract_is_refused_with_what_to_do(process: Runtime, task: str) -> None:
    assert process
    with pytest.raises(Invalid, match="job contract"):
        app.send_task(task)


def test_a_type_that_nobody_knows_is_refused_where_it_is_sent(job: dict[str, Any], database: Connection) -> None:
    with pytest.raises(Invalid) as refusal:
        app.send_task("no.such_type", kwargs=job | {"job_type": "no.such_type"})
    assert refusal.value.field == "job_type"
    assert database.execute("select count(*) from jobs").fetchone() == (0,)


def test_a_task_id_of_the_caller_s_own_finds_the_job(job: dict[str, Any], database: Connection) -> None:
    app.send_task(TASK, kwargs=job, task_id="mine")
    database.execute(CANCEL)
    assert app.AsyncResult("mine").state == "REVOKED"


def test_nothing_runs_in_the_caller_s_process(job: dict[str, Any]) -> None:
    for run in (app.tasks[TASK].apply, app.tasks[TASK]):
        with pytest.raises(RuntimeError, match="enqueue a job"):
            run(kwargs=job)


def test_celery_call_enqueues(job: dict[str, Any], database: Connection) -> None:
    words = [TASK, "--kwargs", json.dumps(job)]
    said = [
        CliRunner().invoke(call, [*words, *more], obj=CLIContext(app, no_color=True, workdir=None))
        for more in ((), ("--queue", "x"))
    ]
    assert (said[0].exit_code, job["job_id"] in said[0].output) == (0, True)
    assert (said[1].exit_code, str(said[1].exception)[:6]) == (1, "queue:")
    assert database.execute("select id::text from jobs").fetchall() == [(job["job_id"],)]
