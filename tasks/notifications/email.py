"""The email family: mail that services send by a vendor, once (docs: email.md#once)."""

from datetime import timedelta

from domain.jobs.effects import Finding
from domain.jobs.job import Done, JsonObject, Outcome
from domain.jobs.queues import Queue
from domain.jobs.retry import ENGINE
from domain.notifications.sender import NO_PROVIDER, EmailProvider
from domain.orgs.privacy.redaction import redact_document
from domain.payloads.email import SendPayload
from engine.catalogue import job
from engine.context import JobContext
from tasks.notifications.senders.email_orders import find_order, send_order
from tasks.notifications.senders.email_sending import DRAFT_KEY, SEND_KEY, SENDER_AUDITS


def find_email(ctx: JobContext, payload: SendPayload, key: str) -> Finding:
    """Whether the mail's draft was made, or sent, by a job that has ended."""
    return find_order(ctx, payload.order_id, key)


@job(
    queue=Queue.NOTIFICATIONS,
    retry=ENGINE,
    deadline=timedelta(minutes=10),
    providers=(NO_PROVIDER, *(one.value for one in EmailProvider)),
    on_end="email_job_ended",
    hears_success=False,
    audits=SENDER_AUDITS,
    finds=dict.fromkeys((DRAFT_KEY, SEND_KEY), find_email),
)
def send(ctx: JobContext, payload: SendPayload) -> Outcome:
    """Send the mail of an order, once, by the org's sender. Without a sender it waits for one.

    The output says who sent it and under which ids. An id that happens to look like a secret stands in the order alone.
    """
    sent = send_order(ctx, payload.order_id)
    output: JsonObject = {
        "order_id": str(sent.order_id),
        "provider": None if sent.bound is None else sent.bound.provider.value,
        "provider_id": sent.provider_id,
        "message_id": sent.message_id,
    }
    return Done(redact_document(output))
