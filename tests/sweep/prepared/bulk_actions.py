"""Prepares bulk actions."""

from uuid import UUID

from domain.jobs.job import SYSTEM_ORG, Origin, State
from domain.jobs.monitoring.job_filter import JobFilter
from domain.jobs.replays.bulk_filter import BulkVerb
from storage.jobs import ledger
from storage.jobs.replays import bulk_actions
from tests.doubles.mail_environment import MailEnvironment
from tests.sweep.prepared.places import QUESTION, Prepare, enqueue, put_off


def begun(env: MailEnvironment, verb: BulkVerb, job_type: str, state: State) -> UUID:
    """A bulk action that has done nothing yet; the job that goes on with it."""
    with env.process.database.ledger() as tx:
        bulk_id = bulk_actions.add(
            tx,
            SYSTEM_ORG,
            verb,
            JobFilter(job_types=(job_type,), states=(state,)),
            patch=None,
            reason="the cause is mended",
            per_minute=60_000,
            frozen_at=ledger.read_time(tx),
            by=Origin(),
        )
    return enqueue(env, "bulk_actions.run", {"bulk_id": str(bulk_id)}, SYSTEM_ORG)


def letters_to_replay(env: MailEnvironment) -> UUID:
    """Two jobs that died of their payloads, which are mended by now."""
    env.sync()
    places = [env.deliver("Lunch?", QUESTION) for _ in range(2)]
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    for place in places:
        died = env.enqueue("gmail.ingest", {"message_id": place.message_id, "thread_id": place.thread_id})
        env.database.execute("update jobs set payload = payload || '{\"message_id\": null}' where id = %s", (died,))
        env.drain(only="gmail.%")
        mended = (
            "update dead_letters set payload = payload || jsonb_build_object('message_id', %s::text) where job_id = %s"
        )
        env.database.execute(mended, (place.message_id, died))
    return begun(env, BulkVerb.REPLAY, "gmail.ingest", State.DEAD)


def jobs_to_cancel(env: MailEnvironment) -> UUID:
    """Two jobs that wait for a year: after a crash the rest of the fleet would run those that are due."""
    for word in "ab":
        env.enqueue("gmail.ingest", {"message_id": word, "thread_id": word})
    put_off(env.database, "gmail.ingest")
    return begun(env, BulkVerb.CANCEL, "gmail.ingest", State.QUEUED)


SCENARIOS: dict[str, dict[str, Prepare]] = {
    "bulk_actions.run": {"letters": letters_to_replay, "waiting": jobs_to_cancel}
}
