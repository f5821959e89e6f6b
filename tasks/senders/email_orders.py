"""Sends the mail of an order by the org's sender, once, and finds out later whether it left (docs: email.md#once)."""

from uuid import UUID

from domain.email.sender import NO_PROVIDER, EmailProvider, may_go_by
from domain.jobs.effects import CannotTell, Finding, Found
from domain.jobs.failures import CredentialsLost, Scope, Throttled, Uncertain
from domain.jobs.lifecycle import LONG_WAIT
from engine.context import JobContext
from storage.doubts import doubts
from storage.ledger import effects
from storage.notifications.email import orders, senders
from storage.notifications.email.orders import StoredOrder
from tasks.senders.drafted_mail import send_by_draft
from tasks.senders.email_client import open_drafting, open_keyed
from tasks.senders.email_sending import EmailCase, GraphMail, began, draft_key, send_key, send_keyed
from tasks.senders.lost_credentials import credentials_in_use


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
            with open_keyed(ctx, sender) as keyed:
                send_keyed(EmailCase(ctx, stored, order, sender.identity), keyed, has_begun=has_begun)
        case EmailProvider.GRAPH:
            with open_drafting(ctx, sender) as drafting:
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
        with open_drafting(ctx, sender) as client:
            mail = GraphMail(ctx, stored, stored.order, sender.identity, client)
            if key == send_key(order_id) and mail.draft is not None:
                found = mail.find_sent(mail.draft, request or began(stored.created_at))
            elif key == draft_key(order_id, sender.identity):
                found = mail.find_draft()
            else:
                return CannotTell("nobody kept which draft it was")
    except CredentialsLost as lost:
        # The job that asks is kept back by no gate of the provider's: it would come back each second.
        scope = Scope.ORG_PROVIDER
        raise Throttled(lost.reason, retry_after=LONG_WAIT, scope=scope, provider=lost.provider) from lost
    if isinstance(found, Found):
        with ctx.tx() as tx:
            if key == send_key(order_id):
                mail.record_sent((mail.draft or {}) | found.result, tx)
            else:
                mail.record_draft(found.result, tx)
    return found
