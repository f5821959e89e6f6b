"""The outbound family: mail that leaves, sent once."""

from datetime import timedelta

from domain.jobs.failures import Permanent
from domain.jobs.job import Outcome
from domain.jobs.queues import Queue
from domain.jobs.retry import STANDARD
from domain.payloads.outbound import SendPayload
from engine.catalogue import job
from engine.context import JobContext
from tasks.mail.mailbox_session import MAILBOX_AUDITS


@job(queue=Queue.CRITICAL, retry=STANDARD, deadline=timedelta(minutes=5), providers=("gmail",), audits=MAILBOX_AUDITS)
def send(ctx: JobContext, payload: SendPayload) -> Outcome:
    """Send one mail of an action, once."""
    ctx.log.error("not_built", action_id=str(payload.action_id))
    raise Permanent(f"this version does not send a {payload.message_type} yet", code="outbound.not_built")
