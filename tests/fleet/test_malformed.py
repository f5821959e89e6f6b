"""Messages of any shape: one that cannot be read is recorded with field and reason, and the worker goes on (P10)."""

import base64
import json
import pickle
from typing import Any
from uuid import uuid4

import redis
from celery import Celery

from tests.doubles.probe_jobs import Noop
from tests.fleet.fleet import Fleet
from tests.fleet.test_producers import contract
from tests.waiting import eventually

DEEP = b'{"a":' * 5000 + b"{}" + b"}" * 5000
"""Nested deeper than Python's JSON parser supports."""


def envelope(body: bytes, headers: object, *, content_type: str = "application/json") -> str:
    """A message as kombu writes it into a Redis list."""
    return json.dumps(
        {
            "body": base64.b64encode(body).decode(),
            "content-encoding": "utf-8",
            "content-type": content_type,
            "headers": headers,
            "properties": {
                "delivery_tag": str(uuid4()),
                "delivery_info": {"exchange": "", "routing_key": "default"},
                "body_encoding": "base64",
                "priority": 0,
            },
        }
    )


def task_headers(task: str, task_id: str) -> dict[str, Any]:
    return {"task": task, "id": task_id, "lang": "py", "root_id": task_id, "parent_id": None}


def recorded(fleet: Fleet, many: int) -> list[tuple[Any, ...]]:
    query = "select task_id, task, field, reason from refused_messages order by id"
    return (
        eventually(
            lambda: rows if len(rows := fleet.ask(query)) >= many else None, within=30, describe=f"{many} refusals"
        )
        or []
    )


def run_a_good_job(fleet: Fleet) -> None:
    assert fleet.wait_for_end([fleet.enqueue(Noop())]) == {"succeeded": 1}


def test_contracts_that_cannot_be_understood_are_refused_by_field(fleet: Fleet) -> None:
    worker = fleet.worker()
    good, nobody = contract(fleet.org), str(uuid4())
    lacking = {key: value for key, value in contract(fleet.org).items() if key != "org_id"}
    bad = {
        "lacking": (lacking, "org_id", "Field required"),
        "extra": (good | {"colour": "red"}, "colour", "Extra inputs are not permitted"),
        "typed": (good | {"payload_version": "one"}, "payload_version", "valid integer"),
        "time": (good | {"created_at": "yesterday"}, "created_at", "RFC 3339"),
        "naive": (good | {"created_at": "2026-01-01T00:00:00"}, "created_at", "has no time zone"),
        "payload": (good | {"payload": {"unknown": 1}}, "payload.unknown", "Extra inputs"),
        "secret": (
            good | {"job_type": "probe_jobs.ending", "payload": {"word": "x", "access_token": "s3cr3t-value"}},
            "payload.access_token",
            "",
        ),
        "stranger": (good | {"org_id": str(uuid4())}, "org_id", "names no org"),
        "nul": (good | {"payload": {"word": "a\u0000b"}, "job_type": "probe_jobs.ending"}, "text", "cannot store"),
        "addressed": (good | {"job_type": "probe_jobs.parent"}, "job_type", "addressed to"),
    }
    with Celery("foreign", broker=fleet.broker_url) as foreign:
        for name, (fields, *_) in bad.items():
            task = "probe_jobs.ending" if name in {"secret", "nul"} else "probe_jobs.noop"
            foreign.send_task(task, kwargs=fields, queue="default", task_id=name)
        foreign.send_task("probe_jobs.noop", args=[1], queue="default", task_id="positional")
        foreign.send_task("probe_jobs.noop", queue="default", task_id="no-uuid")
        foreign.send_task("probe_jobs.noop", queue="default", task_id=nobody)
    worker.ready()
    expected = {name: (field, reason) for name, (_, field, reason) in bad.items()}
    expected |= {"positional": ("args", "must be empty"), "no-uuid": ("id", "is no UUID")}
    expected[nobody] = ("envelope", "is empty, and no job has the message's id")
    seen = {row[0]: (row[2], row[3]) for row in recorded(fleet, len(expected))}
    assert {name: field for name, (field, _) in seen.items()} == {name: field for name, (field, _) in expected.items()}
    assert [name for name, (_, reason) in expected.items() if reason not in seen[name][1]] == []
    assert [row for row in seen.values() if row[1].startswith(f"{row[0]}:")] == []
    assert "s3cr3t-value" not in worker.logs() + str(seen)
    run_a_good_job(fleet)
    assert fleet.ask("select count(*) from jobs") == [(1,)]


def test_messages_of_any_shape_are_recorded_and_the_worker_goes_on(fleet: Fleet) -> None:
    worker = fleet.worker()
    task = "probe_jobs.noop"
    messages = {
        "pickled": envelope(
            pickle.dumps([[], {}, {}]), task_headers(task, "pickled"), content_type="application/x-python-serialize"
        ),
        "garbage": envelope(b"\xff\x00garbage", task_headers(task, "garbage")),
        "number": envelope(b"7", task_headers(task, "number")),
        "nothing": envelope(b"null", task_headers(task, "nothing")),
        "mapping": envelope(b"{}", task_headers(task, "mapping")),
        "short": envelope(b"[[]]", task_headers(task, "short")),
        "wrong": envelope(b'[7, "x", null]', task_headers(task, "wrong")),
        "numbered": envelope(b"[[], {}, {}]", task_headers(task, "numbered") | {"task": 7}),
        "listed": envelope(b"[[], {}, {}]", task_headers(task, "listed") | {"task": ["a"]}),
        "without id": envelope(b"[[], {}, {}]", {"task": task}),
        "no headers": envelope(b"[[], {}, {}]", {}),
        "null headers": envelope(b"[[], {}, {}]", None),
        "eta": envelope(b"[[], {}, {}]", task_headers(task, "eta") | {"eta": "tomorrow-ish"}),
        "expires": envelope(b"[[], {}, {}]", task_headers(task, "expires") | {"expires": "soon"}),
        "unknown": envelope(b"[[], {}, {}]", task_headers("no.such_type", "unknown")),
        "unknown garbage": envelope(b"\xff", task_headers("no.such_type", "unknown garbage")),
        "no envelope": "this is no envelope",
        "empty envelope": "{}",
        "deep body": envelope(b"[" * 100_000, task_headers(task, "deep body")),
        "deep arguments": envelope(b'[[], {"payload": ' + DEEP + b"}, {}]", task_headers(task, "deep arguments")),
        "deep stranger": envelope(b'[[], {"payload": ' + DEEP + b"}, {}]", task_headers("no.such_type", "deep")),
        "deep headers": envelope(b"[[], {}, {}]", {}).replace('"headers": {}', f'"headers": {DEEP.decode()}'),
        "wrong envelope": json.dumps({"body": 7, "properties": {"delivery_tag": "x"}, "headers": {}}),
    }
    with redis.Redis.from_url(fleet.broker_url) as broker:
        broker.lpush("default", *messages.values())
    worker.ready()
    run_a_good_job(fleet)
    seen = recorded(fleet, len(messages))
    assert len(seen) == len(messages), seen
    assert worker.alive
    assert all(reason for *_, reason in seen)
    run_a_good_job(fleet)


def test_a_job_of_a_newer_worker_waits_until_there_is_one(fleet: Fleet) -> None:
    columns = "payload_version, max_attempts, deadline, keep_key_for"
    fleet.ask(
        f"insert into job_types (name, queue, {columns}) select 'tomorrow.run', queue, {columns}"
        " from job_types where name = 'probe_jobs.noop'"
    )
    fleet.worker().ready()
    ((job_id,),) = fleet.ask("select postroom.enqueue('tomorrow.run', %s)", fleet.org)
    eventually(lambda: fleet.causes(job_id), within=30, describe="the job to be given back")
    assert fleet.causes(job_id) == ["unknown type"]
    query = "select state, attempt, losses, run_at > now() + interval '10 seconds' from jobs where id = %s"
    assert fleet.ask(query, job_id) == [("queued", 0, 0, True)]
    run_a_good_job(fleet)
    assert fleet.ask("select count(*) from refused_messages") == [(0,)]
    fleet.check(open_jobs=1)


def test_ac_27_a_job_of_an_unknown_type_is_a_dead_letter_at_once(fleet: Fleet) -> None:
    fleet.worker().ready()
    sent = contract(fleet.org, job_type="no.such_type")
    with Celery("foreign", broker=fleet.broker_url) as foreign:
        for job_id in (sent["job_id"], sent["job_id"], str(uuid4())):
            foreign.send_task("no.such_type", kwargs=sent | {"job_id": job_id}, queue="default")
    query = "select error ->> 'code', job_id::text from dead_letters"
    eventually(lambda: fleet.ask(query), within=30, describe="the dead letter")
    run_a_good_job(fleet)
    assert fleet.ask(query) == [("unknown_type", sent["job_id"])]
    fleet.check()
