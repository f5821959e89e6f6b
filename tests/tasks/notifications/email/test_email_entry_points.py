"""Every entry point takes a mail in the words of its source document, and keeps them out of the job."""

import json
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import Connection
from psycopg.types.json import Jsonb

from commands.jobs import jobs
from domain.jobs.failures import Invalid
from domain.jobs.job import ActorType, NewJob, Origin
from domain.orgs.access.api_keys import Role
from domain.payloads.email import EmailOrder, SendPayload
from engine.enqueue import enqueue, enqueue_jobs, enqueue_many
from engine.runtime import Runtime
from gateway.api import enqueueing
from gateway.http.resources import Resources
from storage.notifications.email import orders
from storage.orgs.access.api_keys import Caller
from storage.planning import artifacts
from tasks.notifications import email
from tests.commands.calling import answer
from tests.doubles.factories import make_org, make_project
from tests.doubles.inline_worker import run_job
from tests.doubles.messages.adopting import adopt
from tests.doubles.messages.odd_messages import contract
from tests.doubles.stored_artifacts import store_artifact

WORDS: dict[str, Any] = {
    "to": ["Ada <ada@example.com>"],
    "subject": "Your new password: hunter2hunter2",
    "text": "password=hunter2hunter2 Authorization: Bearer abcdefghijklmnop0123456789",
    "html": "<p>eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl</p>",
    "reference": "ticket-7",
}
"""Mail that a system sends every day, and that no payload may carry."""

EntryPoint = Callable[[Runtime, UUID, Mapping[str, Any], str | None], UUID]
"""Has a mail sent under a key, with two retries; returns the job's id."""


def python(process: Runtime, org: UUID, words: Mapping[str, Any], key: str | None) -> UUID:
    with process.database.ledger() as tx:
        job = NewJob("EMAIL_SEND", org, dict(words), idempotency_key=key, max_attempts=3)
        return enqueue_jobs(tx, [job])[0].job_id


def many(_process: Runtime, org: UUID, words: Mapping[str, Any], key: str | None) -> UUID:
    (made,) = enqueue_many([NewJob("email.send", org, dict(words), idempotency_key=key, max_attempts=3)])
    return made.job_id


def handler(process: Runtime, org: UUID, words: Mapping[str, Any], key: str | None) -> UUID:
    """As a job that writes to somebody: its transaction is its org's."""
    with process.database.tenant(org) as tx:
        order_id = orders.keep(tx, org, EmailOrder.model_validate(words))
        return enqueue(tx, SendPayload(order_id=order_id), org_id=org, idempotency_key=key, max_attempts=3)[0].job_id


def sql(process: Runtime, org: UUID, words: Mapping[str, Any], key: str | None) -> UUID:
    with process.database.ledger() as tx:
        call = "select postroom.send_email(%(org)s, %(words)s, idempotency_key => %(key)s, max_retries => 2) as id"
        order_id = tx.raw(call, {"org": org, "words": Jsonb(dict(words)), "key": key})[0].id
        found = "select id from jobs where payload ->> 'order_id' = %(order)s"
        return UUID(str(tx.raw(found, {"order": str(order_id)})[0].id))


def celery(process: Runtime, org: UUID, words: Mapping[str, Any], key: str | None) -> UUID:
    asked = contract(job_type="EMAIL_SEND", idempotency_key=key or str(uuid4()), payload=None)
    del asked["org_id"], asked["payload"]
    asked |= {"tenantId": str(org), "input": dict(words), "maxRetries": 2}
    adopt(process, "EMAIL_SEND", asked)
    with process.database.ledger() as tx:
        guard = "select job_id from idempotency_keys where key = %(key)s and kind = 'named'"
        return UUID(str(tx.raw(guard, {"key": asked["idempotency_key"]})[0].job_id))


def http(process: Runtime, org: UUID, words: Mapping[str, Any], key: str | None) -> UUID:
    caller = Caller(uuid4(), org, Role.WRITER, note=False)
    resources = Resources.of(process.settings)
    document = {"jobType": "EMAIL_SEND", "input": dict(words), "priority": 5, "max_retries": 2}
    try:
        asked = enqueueing.understand(document, key, caller, Origin(ActorType.API_KEY, "a key"))
        return enqueueing.enqueue(resources, asked).job_id
    finally:
        resources.database.dispose()


def command(_process: Runtime, org: UUID, words: Mapping[str, Any], key: str | None) -> UUID:
    options = ["--key", key] if key else []
    told = ["--org", org, "--payload", json.dumps(words), "--max-attempts", 3, *options]
    return UUID(answer(jobs, "enqueue", "EMAIL_SEND", *told)["job_id"])


ENTRY_POINTS: Mapping[str, EntryPoint] = {
    "python": python, "many": many, "handler": handler, "sql": sql, "celery": celery, "http": http, "command": command,
}  # fmt: skip


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_words_that_look_like_secrets_stand_in_a_row(
    name: str, process: Runtime, org: UUID, database: Connection
) -> None:
    job_id = ENTRY_POINTS[name](process, org, WORDS, None)
    job_type, payload, attempts, of_org = (
        database.execute("select job_type, payload, max_attempts, org_id from jobs where id = %s", (job_id,)).fetchone()
        or ()
    )
    assert (job_type, set(payload), attempts, of_org) == ("email.send", {"order_id"}, 3, org)
    rows = database.execute("select id::text, org_id, words, reference, state from email_orders").fetchall()
    assert rows == [(payload["order_id"], org, WORDS, "ticket-7", "queued")]


@pytest.mark.parametrize("name", sorted(ENTRY_POINTS.keys() - {"handler"}))
def test_a_request_that_comes_again_is_one_mail(name: str, process: Runtime, org: UUID, database: Connection) -> None:
    first, again = (ENTRY_POINTS[name](process, org, WORDS, "a key") for _ in range(2))
    assert first == again
    assert database.execute("select count(*) from email_orders").fetchone() == (1,)
    with pytest.raises((Invalid, AssertionError), match="idempotency_key"):
        ENTRY_POINTS[name](process, org, WORDS | {"text": "other words"}, "a key")
    assert database.execute("select count(*) from email_orders").fetchone() == (1,)


@pytest.mark.parametrize("name", sorted(ENTRY_POINTS.keys() - {"handler", "sql", "command"}))
def test_bad_words_are_refused_by_field(name: str, process: Runtime, org: UUID, database: Connection) -> None:
    with pytest.raises(Invalid) as refused:
        ENTRY_POINTS[name](process, org, WORDS | {"to": ["ada@example.com\nBcc: eve@example.com"]}, "a key")
    assert refused.value.field == "payload.to.0"
    assert database.execute("select count(*) from email_orders").fetchone() == (0,)


@pytest.mark.parametrize("whose", ["nobody's", "another org's", "another project's", "deleted"])
def test_a_file_that_the_job_may_not_read_is_refused_by_its_place(
    whose: str, process: Runtime, org: UUID, database: Connection
) -> None:
    mine, other = make_project(database, org), make_project(database, org)
    of_org = make_org(database, "another") if whose == "another org's" else org
    with process.database.ledger() as tx:
        good, bad = (store_artifact(tx, process.settings, one, b"some bytes").artifact_id for one in (org, of_org))
        if whose == "deleted":
            artifacts.delete(tx, bad)
    database.execute("update artifacts set project_id = %s where id = %s", (mine, good))
    if whose == "another project's":
        database.execute("update artifacts set project_id = %s where id = %s", (other, bad))
    asked = [str(good), str(uuid4() if whose == "nobody's" else bad)]
    job = NewJob("email.send", org, WORDS | {"attachments": asked}, project_id=mine)
    with pytest.raises(Invalid) as refused, process.database.ledger() as tx:
        enqueue_jobs(tx, [job])
    assert refused.value.field == "payload.attachments.1.artifact_id"
    with process.database.ledger() as tx:
        enqueue_jobs(tx, [job._replace(payload=WORDS | {"attachments": asked[:1]})])
    assert database.execute("select count(*) from email_orders").fetchone() == (1,)


def test_a_request_that_comes_again_is_answered_alike_when_its_file_is_deleted(process: Runtime, org: UUID) -> None:
    with process.database.ledger() as tx:
        file = store_artifact(tx, process.settings, org, b"some bytes").artifact_id
    words = WORDS | {"attachments": [str(file)]}
    first = python(process, org, words, "a key")
    with process.database.ledger() as tx:
        artifacts.delete(tx, file)
    assert python(process, org, words, "a key") == first


def test_bad_words_by_sql_end_as_a_job_that_names_field_and_reason(
    process: Runtime, org: UUID, database: Connection
) -> None:
    from_sql = sql(process, org, WORDS | {"to": "ada@example.com\nBcc: eve@example.com"}, None)
    assert database.execute("select error from email_orders").fetchone() == (None,)
    assert run_job(process, email.send, from_sql) == "dead"
    state, error = database.execute("select state, error from email_orders").fetchone() or ()
    assert (state, error["code"]) == ("dead", "invalid")
    assert error["reason"].startswith("email.to.0: ")


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"maxRetries": -1}, "maxRetries"),
        ({"max_retries": 100}, "max_retries"),
        ({"maxRetries": True}, "maxRetries"),
        ({"maxRetries": 2, "max_attempts": 2}, "maxRetries"),
        ({"maxRetries": 2, "max_retries": 3}, "max_retries"),
        ({"input": {}}, "input"),
    ],
)
def test_two_names_of_a_field_must_agree(given: dict[str, Any], field: str, org: UUID) -> None:
    caller = Caller(uuid4(), org, Role.WRITER, note=False)
    with pytest.raises(Invalid) as refused:
        enqueueing.understand({"job_type": "email.send", "payload": WORDS} | given, None, caller, Origin())
    assert refused.value.field == field
