"""Effects in doubt whose job was replayed with another payload: the question is the effect's, not the payload's."""

from typing import Any
from uuid import UUID

import pytest

from domain.jobs.job import Origin
from operations.jobs import replays
from operations.jobs.replays import Replacement
from storage.jobs import ledger
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.outgoing_orders import approved, taken_in
from tests.tasks.approvals.test_doubts import canceled_in_the_call, reconcile
from tests.tasks.mail.drafts.test_drafts import ask
from tests.tasks.mail.outbound.test_outbound_failures import ordered, send_job

LETTER = """
insert into dead_letters (org_id, job_id, job_type, queue, payload, payload_version, reason, error, plan, history)
select org_id, id, job_type, queue, payload, payload_version, 'x', '{}', 'x',
  jsonb_build_array(jsonb_build_object('event', 'job.enqueued', 'at', created_at))
from jobs where id = %s
"""


def replayed(env: MailEnvironment, job_id: UUID, **mended: Any) -> UUID:  # noqa: ANN401 - fields of a payload
    """The job does again, with another payload, what was left in doubt."""
    env.database.execute(LETTER, (job_id,))
    env.database.execute("delete from idempotency_keys where job_id = %s and kind = 'job'", (job_id,))
    query = "select payload, payload_version from jobs where id = %s"
    ((payload, version),) = env.database.execute(query, (job_id,)).fetchall()
    with env.process.database.ledger() as tx:
        change = Replacement(payload | mended, version)
        return replays.replay(tx, job_id, by=Origin(), reason="mended", mended=change)


def status(env: MailEnvironment, key: str) -> str:
    query = "select status from idempotency_keys where kind = 'effect' and key like %s"
    ((found,),) = env.database.execute(query, (key,)).fetchall()
    return str(found)


@pytest.mark.parametrize("field", ["thread_id", "action_id"])
def test_a_mail_is_looked_for_where_its_action_is(env: MailEnvironment, field: str) -> None:
    action_id = ordered(env)
    env.fail("drafts.create", drop="after")
    job_id = send_job(env)
    assert env.run(job_id) == "queued"
    with env.process.database.ledger() as tx:
        ledger.cancel(tx, [job_id], "no longer needed", by=Origin())
    other = "elsewhere" if field == "thread_id" else str(approved(env, taken_in(env).message_id))
    assert env.run(replayed(env, job_id, **{field: other})) == "dead"
    reconcile(env)
    assert status(env, f"outbound.draft:{action_id}") == "succeeded"


def test_another_threads_draft_is_not_taken_for_the_one_in_doubt(env: MailEnvironment) -> None:
    job_id = canceled_in_the_call(env, drop="before")
    (email,) = env.database.execute("select id from emails").fetchall()
    other = ask(env, "Dinner?")
    with env.process.database.ledger() as tx:
        query = "select id from jobs where job_type = 'drafts.write' and state = 'queued'"
        ledger.cancel(tx, [row[0] for row in env.database.execute(query)], "for the replay", by=Origin())
    assert env.run(replayed(env, job_id, thread_id=other.thread_id)) == "succeeded"
    reconcile(env)
    assert status(env, f"draft:{email[0]}:%") == "failed", "its own thread certainly has none"
