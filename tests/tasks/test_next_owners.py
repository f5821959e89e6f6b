"""What an earlier owner of a mailbox left behind does not reach the one who connects it next."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from domain.jobs.contract import JobContract
from engine.enqueue import enqueue_jobs
from tests.doubles.mail_environment import MailEnvironment
from tests.tasks.drafts.reworks import draft_id
from tests.tasks.drafts.test_orders_by_hand import discarded, drafts, put
from tests.tasks.test_account_ends import CONNECTED_ANEW, connect, disconnect

AHEAD = timedelta(minutes=10)


def adopt(env: MailEnvironment, job_type: str, *, made_at: datetime, **payload: str) -> UUID:
    """Take in a job as another service's Celery message brings it; returns its id."""
    document = {
        "job_id": str(uuid4()),
        "job_type": job_type,
        "org_id": str(env.account.org_id),
        "actor_type": "system",
        "actor_id": "a service",
        "request_id": "a request",
        "correlation_id": "a request",
        "idempotency_key": str(uuid4()),
        "created_at": made_at.isoformat(),
        "payload": {"account_id": str(env.account.account_id), **payload},
        "payload_version": 1,
    }
    with env.process.database.ledger() as tx:
        return enqueue_jobs(tx, [JobContract.parse(document).new_job()])[0].job_id


def test_a_service_whose_clock_is_ahead_makes_no_job_of_the_next_owners(env: MailEnvironment) -> None:
    job_id = adopt(env, "accounts.learn_voice", made_at=datetime.now(UTC) + AHEAD)
    connect(env, disconnect(env))
    assert (env.run(job_id), env.job(job_id)["cancel_reason"]) == ("canceled", CONNECTED_ANEW)


def test_a_service_whose_clock_is_behind_is_told_to_enqueue_again(env: MailEnvironment) -> None:
    connect(env, disconnect(env))
    job_id = adopt(env, "accounts.learn_voice", made_at=datetime.now(UTC) - AHEAD)
    assert env.run(job_id) == "canceled"
    assert "enqueue a new one" in env.job(job_id)["cancel_reason"]


def test_an_order_by_label_after_one_of_a_service_whose_clock_is_ahead_is_carried_out(env: MailEnvironment) -> None:
    place = discarded(env)
    adopt(env, "drafts.write_manual", made_at=datetime.now(UTC) + AHEAD, thread_id=place.thread_id)
    env.drain()
    assert drafts(env) == 1
    env.mailbox.discard_draft(draft_id(env, place))
    env.sync()
    put(env, place)
    env.sync()
    assert drafts(env) == 1
