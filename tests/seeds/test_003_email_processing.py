"""Source document 003: the onboarding of a mailbox, `email_processing` in its words."""

from uuid import UUID

from tests.doubles.mail_environment import MailEnvironment


def enqueue_as_003_says(env: MailEnvironment) -> UUID:
    """AC-18, AC-25: the type `email_processing` with `connection_id` and nothing else."""
    with env.process.database.ledger() as tx:
        rows = tx.raw(
            "select postroom.enqueue('email_processing', %(org)s, jsonb_build_object('connection_id', %(id)s::text))",
            {"org": env.account.org_id, "id": str(env.account.account_id)},
        )
    return UUID(str(rows[0][0]))


def test_ac_18_email_processing_handler(env: MailEnvironment) -> None:
    """AC-18 and the handler contract: `{connection_id}` in, `{output_preview}` of 500 characters at most out."""
    job_id = enqueue_as_003_says(env)
    assert env.job(job_id)["job_type"] == "accounts.onboard"
    assert env.run(job_id) == "succeeded"
    output = env.job(job_id)["output"]
    assert 0 < len(output["output_preview"]) <= 500


def test_uat_a_connection_goes_through_all_states(env: MailEnvironment) -> None:
    """UAT: pending, claimed, running, complete, as its audit trail shows."""
    job_id = enqueue_as_003_says(env)
    assert env.job(job_id)["state"] == "queued"
    env.run(job_id)
    assert env.job(job_id)["state"] == "succeeded"
    events = env.database.execute(
        "select event from audit_log where job_id = %s and event like 'job.%%' order by id", (job_id,)
    ).fetchall()
    assert [event for (event,) in events][:1] == ["job.enqueued"]
    assert [event for (event,) in events][-1:] == ["job.succeeded"]
