"""The ways by which a job is enqueued, each as a function of the same fields of the job contract."""

import json
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg.types.json import Jsonb

from commands.jobs import jobs
from domain.jobs.failures import Invalid
from domain.jobs.job import ActorType, NewJob, Origin
from domain.orgs.access.api_keys import Role
from engine.enqueue import enqueue_jobs
from engine.runtime import Runtime
from gateway.api import enqueueing
from gateway.http.resources import Resources
from storage.orgs.access.api_keys import Caller
from tests.commands.calling import answer
from tests.doubles.messages.adopting import adopt
from tests.doubles.messages.odd_messages import contract

ACCOUNT = UUID("00000000-0000-4000-8000-00000000abcd")
GOOD = {"account_id": str(ACCOUNT)}
"""A payload of the usual type."""

Given = Mapping[str, Any]
EntryPoint = Callable[[Runtime, UUID, Given], UUID]
"""Enqueues a job with these fields of the job contract, a `gmail.sync` where they name no other type; returns the job's
id, or raises `Invalid`."""
USUAL = "gmail.sync"


def python(process: Runtime, org: UUID, given: Given) -> UUID:
    """A job whose payload no class has checked."""
    fields = dict(given)
    origin = Origin(ActorType.SYSTEM, fields.pop("actor_id", "postroom"), fields.pop("request_id", None))
    with process.database.ledger() as tx:
        return enqueue_jobs(tx, [NewJob(fields.pop("job_type", USUAL), org, origin=origin, **fields)])[0].job_id


def child(process: Runtime, org: UUID, given: Given) -> UUID:
    """The same from a handler: its transaction is its org's."""
    fields = dict(given)
    origin = Origin(ActorType.SYSTEM, fields.pop("actor_id", "postroom"), fields.pop("request_id", None))
    with process.database.tenant(org) as tx:
        return enqueue_jobs(tx, [NewJob(fields.pop("job_type", USUAL), org, origin=origin, **fields)])[0].job_id


def sql(process: Runtime, org: UUID, given: Given) -> UUID:
    """As a service's own login calls it."""
    fields = dict(given) | {"payload": Jsonb(given["payload"])}
    job_type = fields.pop("job_type", USUAL)
    named = ", ".join(f"{name} => %({name})s" for name in fields)
    with process.database.ledger() as tx:
        rows = tx.raw(
            f"select postroom.enqueue(%(type)s, %(org)s, {named}) as id", fields | {"type": job_type, "org": org}
        )
    return UUID(str(rows[0].id))


def celery(process: Runtime, org: UUID, given: Given) -> UUID:
    """A foreign client's message."""
    asked = contract(org_id=str(org), **{"job_type": USUAL, "payload_version": None, **given})
    asked = {name: value for name, value in asked.items() if value is not None}
    adopt(process, asked["job_type"], asked)
    with process.database.ledger() as tx:
        key = asked["idempotency_key"]
        guard = "select job_id from idempotency_keys where key = %(key)s and kind = 'named'"
        return UUID(str(tx.raw(guard, {"key": key})[0].job_id))


def http(process: Runtime, org: UUID, given: Given) -> UUID:
    """The gateway's route, behind its reading of bytes and keys."""
    fields = dict(given)
    origin = Origin(ActorType.API_KEY, fields.pop("actor_id", "a key"), fields.pop("request_id", None))
    caller = Caller(uuid4(), org, Role.WRITER, note=False)
    resources = Resources.of(process.settings)
    try:
        asked = enqueueing.understand({"job_type": USUAL} | fields, None, caller, origin)
        return enqueueing.enqueue(resources, asked).job_id
    finally:
        resources.database.dispose()


def command_line(process: Runtime, org: UUID, given: Given) -> UUID:
    """As an operator types it; Click refuses what it cannot read in words of its own."""
    assert process
    fields = dict(given) | {"payload": json.dumps(given["payload"])}
    options = [
        word for name, value in fields.items() if name != "job_type" for word in (f"--{name.replace('_', '-')}", value)
    ]
    made = answer(jobs, "enqueue", given.get("job_type", USUAL), "--org", org, *options)
    return UUID(made["job_id"])


ENTRY_POINTS: Mapping[str, EntryPoint] = {"python": python, "child": child, "sql": sql, "celery": celery, "http": http}

EVERY_WAY: Mapping[str, EntryPoint] = {**ENTRY_POINTS, "command line": command_line}
AT_EACH = pytest.mark.parametrize("enqueue", ENTRY_POINTS.values(), ids=ENTRY_POINTS)


def refusal(process: Runtime, org: UUID, enqueue: EntryPoint, given: Given) -> tuple[str, str]:
    """The field and the reason by which an entry point refuses a job."""
    with pytest.raises(Invalid) as refused:
        enqueue(process, org, given)
    return refused.value.field, refused.value.reason.removeprefix(f"{refused.value.field}: ")
