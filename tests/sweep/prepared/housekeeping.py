"""Prepares jobs that keep house for all orgs."""

from datetime import timedelta
from uuid import UUID

from domain.jobs.job import SYSTEM_ORG, Origin
from storage.jobs import ledger
from tests.doubles.end_hooks import make_hook, repair_hook
from tests.doubles.factories import pass_time
from tests.doubles.mail_environment import MailEnvironment
from tests.sweep.prepared.places import Prepare, asked, drafted, enqueue, queued


def dead_job(env: MailEnvironment) -> UUID:
    """A job that died of its payload."""
    die_of_payload(env)
    return queued(env, "deadletter.quarantine")


def alert_due(env: MailEnvironment) -> UUID:
    """A fleet in which a job has died, and nobody was told."""
    die_of_payload(env)
    return enqueue(env, "maintenance.raise_alerts", {}, SYSTEM_ORG)


def die_of_payload(env: MailEnvironment) -> None:
    """Let a job end whose payload cannot be read."""
    unreadable(env)
    env.drain(only="gmail.%")


def unreadable(env: MailEnvironment) -> UUID:
    """A job whose payload cannot be read; no door takes one, so it is spoilt in the ledger."""
    spoilt = env.enqueue("gmail.ingest", {"message_id": "m", "thread_id": "t"})
    env.database.execute("update jobs set payload = payload || '{\"message_id\": null}' where id = %s", (spoilt,))
    return spoilt


def long_finished(job_type: str, age: timedelta) -> Prepare:
    """A fleet whose jobs ended so long ago."""

    def prepare(env: MailEnvironment) -> UUID:
        drafted(env)
        pass_time(env.database, age)
        return enqueue(env, job_type, {}, SYSTEM_ORG)

    return prepare


def missed_hook(env: MailEnvironment) -> UUID:
    """A job that ended while its end-of-job hook was broken; the hook is mended by now."""
    make_hook(env.database, "end_hook", "raise exception 'broken';")
    env.database.execute("update job_types set on_end = 'end_hook' where name = 'gmail.ingest'")
    die_of_payload(env)
    repair_hook(env.database, "end_hook")
    return queued(env, "maintenance.run_end_hook")


def canceled_in_the_call(env: MailEnvironment) -> None:
    """A draft whose answer was lost, and whose job was canceled before it found out."""
    asked(env)
    env.drain(only="triage.%")
    env.fail("drafts.create", drop="after")
    written = queued(env, "drafts.write")
    env.run(written)
    with env.process.database.ledger() as tx:
        ledger.cancel(tx, [written], "no longer needed", by=Origin())
    pass_time(env.database, timedelta(hours=1))


def effect_in_doubt(env: MailEnvironment) -> UUID:
    """A fleet with an effect in doubt, which nobody has looked for."""
    canceled_in_the_call(env)
    return enqueue(env, "maintenance.reconcile_effects", {}, SYSTEM_ORG)


def effect_to_ask_about(env: MailEnvironment) -> UUID:
    """The question about an effect in doubt."""
    canceled_in_the_call(env)
    env.run(enqueue(env, "maintenance.reconcile_effects", {}, SYSTEM_ORG))
    return queued(env, "maintenance.resolve_effect")


def spent_day(env: MailEnvironment) -> UUID:
    """An org whose money for the day is gone, and nobody has been notified yet."""
    today = env.process.clock().date()
    env.database.execute(
        "insert into budget_days (org_id, day, exhausted_at) values (%s, %s, now())", (env.account.org_id, today)
    )
    return enqueue(env, "budgets.alert", {"day": today.isoformat(), "daily_microcents": 5})
