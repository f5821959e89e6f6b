"""Sends the mail of an order by the org's sender, once, and finds out later whether it left (docs: email.md#once)."""

from contextlib import AbstractContextManager
from uuid import UUID

from domain.jobs.effects import CannotTell, Finding, Found
from domain.jobs.failures import CredentialsLost, Uncertain
from domain.notifications.sender import NO_PROVIDER, EmailProvider, may_go_by
from engine.context import JobContext
from observability.on_demand import on_demand
from providers.ports.email import DraftingSender, KeyedSender
from providers.resend.sender import ResendSender
from storage.approvals import doubts
from storage.jobs import effects
from storage.notifications.email import orders, senders
from storage.notifications.email.orders import StoredOrder
from storage.notifications.email.senders import EmailSender
from tasks.notifications.senders.drafted_mail import send_by_draft
from tasks.notifications.senders.email_sending import EmailCase, GraphMail, began, draft_key, send_key, send_keyed
from tasks.notifications.senders.lost_credentials import asked_again_later, credentials_in_use
from tasks.notifications.senders.vendor_clients import open_client

ANSWER_WITHIN_S = 30.0
"""How long one call may take in all; a part of an upload is some megabytes."""


def send_order(ctx: JobContext, order_id: UUID) -> StoredOrder:
    """Send the mail of an order, and return the order as it is then. Without a sender the job waits for one."""
    with ctx.read() as tx:
        stored, sender = orders.get(tx, order_id), senders.find(tx, ctx.org_id)
        has_begun = effects.may_have_happened(tx, ctx.org_id, send_key(order_id))
    if stored.state == "sent":
        return stored
    order = stored.order
    if sender is None:
        with credentials_in_use(ctx, NO_PROVIDER, None):
            raise CredentialsLost("the org has no sender", provider=NO_PROVIDER, code="email.no_sender")
    if not may_go_by(stored.bound, sender.identity, has_begun=has_begun):
        raise Uncertain("the org's earlier sender may have sent it, and cannot be asked any more")
    match sender.identity.provider:
        case EmailProvider.RESEND:
            with _keyed(ctx, sender) as keyed:
                send_keyed(EmailCase(ctx, stored, order, sender.identity), keyed, has_begun=has_begun)
        case EmailProvider.GRAPH:
            with _drafting(ctx, sender) as drafting:
                mail = GraphMail(ctx, stored, order, sender.identity, drafting)
                send_by_draft(ctx, mail, mail.draft)
    with ctx.read() as tx:
        return orders.get(tx, order_id)


def find_order(ctx: JobContext, order_id: UUID, key: str) -> Finding:
    """Whether Graph made the draft, or sent the mail, of a job that has ended; the order keeps what is found."""
    with ctx.read() as tx:
        stored, sender = orders.get(tx, order_id), senders.find(tx, ctx.org_id)
        request = doubts.read_request(tx, ctx.job, key)
    if sender is None or sender.identity != stored.bound:
        return CannotTell("the org's mail leaves by another sender by now")
    try:
        with _drafting(ctx, sender) as client:
            mail = GraphMail(ctx, stored, stored.order, sender.identity, client)
            if key == send_key(order_id) and mail.draft is not None:
                found = mail.find_sent(mail.draft, request or began(stored.created_at))
            elif key == draft_key(order_id, sender.identity):
                found = mail.find_draft()
            else:
                return CannotTell("nobody kept which draft it was")
    except CredentialsLost as lost:
        raise asked_again_later(lost) from lost
    if isinstance(found, Found):
        with ctx.tx() as tx:
            if key == send_key(order_id):
                mail.record_sent((mail.draft or {}) | found.result, tx)
            else:
                mail.record_draft(found.result, tx)
    return found


def _keyed(ctx: JobContext, sender: EmailSender) -> AbstractContextManager[KeyedSender]:
    given = {"account": str(ctx.org_id), "api_url": ctx.settings.resend_api_url, "timeout_s": ANSWER_WITHIN_S}
    return open_client(ctx, sender, ResendSender, **given)


def _drafting(ctx: JobContext, sender: EmailSender) -> AbstractContextManager[DraftingSender]:
    return open_client(
        ctx,
        sender,
        on_demand("providers.microsoft.sender:GraphSender"),
        mailbox=sender.identity.mailbox,
        graph_url=ctx.settings.graph_api_url,
        login_url=ctx.settings.microsoft_login_url,
        timeout_s=ANSWER_WITHIN_S,
    )
