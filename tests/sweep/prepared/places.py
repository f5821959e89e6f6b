"""Puts a mailbox and its records where a scenario begins."""

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

from psycopg import Connection

from sandbox.emulator.control import MessagePlace
from tests.doubles.mail_environment import MailEnvironment

QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."


Prepare = Callable[[MailEnvironment], UUID]


def enqueue(env: MailEnvironment, job_type: str, payload: dict[str, Any], org_id: UUID | None = None) -> UUID:
    """Enqueue with `postroom.enqueue`, for the environment's org unless another is given."""
    with env.process.database.ledger() as tx:
        rows = tx.raw(
            "select postroom.enqueue(%(type)s, %(org)s, %(payload)s::jsonb)",
            {"type": job_type, "org": org_id or env.account.org_id, "payload": json.dumps(payload)},
        )
    return UUID(str(rows[0][0]))


def queued(env: MailEnvironment, job_type: str) -> UUID:
    """The one job of a type that waits."""
    ids = env.database.execute("select id from jobs where job_type = %s and state = 'queued'", (job_type,)).fetchall()
    assert len(ids) == 1, f"{len(ids)} jobs of {job_type} wait"
    return UUID(str(ids[0][0]))


def put_off(database: Connection, job_types: str) -> None:
    """Let queued jobs of types like these wait for a year, so that nobody runs them while another is tried again."""
    database.execute(
        "update jobs set run_at = now() + interval '1 year', next_check_at = now() + interval '1 year',"
        " published_at = null, backlog_since = null where state = 'queued' and job_type like %s",
        (job_types,),
    )


def stored_question(env: MailEnvironment) -> MessagePlace:
    """A letter that asks for an answer, taken in, not yet classified, its jobs out of the way."""
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    env.database.execute("delete from jobs where state = 'queued'")
    env.database.execute("delete from idempotency_keys where status = 'pending'")
    return place


def asked(env: MailEnvironment) -> MessagePlace:
    """A question that waits for its classification."""
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    return place


def drafted(env: MailEnvironment) -> MessagePlace:
    """A question whose draft is out."""
    place = asked(env)
    env.drain()
    return place
