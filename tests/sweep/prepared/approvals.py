"""Prepares actions that wait for a person."""

from uuid import UUID

from domain.approvals.decision import Choice
from domain.jobs.job import SYSTEM_ORG
from tests.doubles.approvals import ask_in_channel, decide, waiting
from tests.doubles.mail_environment import MailEnvironment
from tests.sweep.prepared.places import enqueue, queued


def to_be_asked_about(env: MailEnvironment) -> UUID:
    """An action that waits, in an org that is asked in a channel."""
    ask_in_channel(env)
    waiting(env)
    return queued(env, "approvals.notify")


def to_be_reminded_of(env: MailEnvironment) -> UUID:
    """An action that people were asked about, and that still waits."""
    ask_in_channel(env)
    action_id = waiting(env)
    env.drain(only="approvals.notify")
    return env.enqueue("approvals.notify", {"approval_id": str(action_id), "reminder": True})


def denied_on_discord(env: MailEnvironment) -> UUID:
    """An action that was asked about and denied, which its message does not show."""
    ask_in_channel(env)
    action_id = waiting(env)
    env.drain(only="approvals.notify")
    decide(env, action_id, Choice.DENY)
    return queued(env, "approvals.show_outcome")


def approvals_due(env: MailEnvironment) -> UUID:
    """Of three actions that wait, one is past its end, one is to be reminded of, and one has no end."""
    past_its_end, reminder, endless = (waiting(env) for _ in range(3))
    times = (
        "update actions set created_at = now() - %s::interval, approval_expires_at = now() + %s::interval where id = %s"
    )
    env.database.execute(times, ("4 days", "-1 day", past_its_end))
    env.database.execute(times, ("49 hours", "23 hours", reminder))
    env.database.execute("update actions set approval_expires_at = null where id = %s", (endless,))
    env.database.execute("delete from jobs where job_type = 'approvals.notify'")
    env.database.execute("delete from idempotency_keys where status = 'pending'")
    return enqueue(env, "approvals.expire", {}, SYSTEM_ORG)
