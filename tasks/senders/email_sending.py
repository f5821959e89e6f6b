"""Sends an order's mail once: by a key that the provider knows, or by a draft that is found (docs: email.md#once)."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from domain.email.sender import EmailProvider, SenderIdentity
from domain.jobs.effects import CannotTell, Finding, Found, NotFound, Strategy
from domain.jobs.failures import CallState, Gone, Permanent, Transient
from domain.jobs.job import JsonObject
from domain.mail.parsing.html_text import html_to_text
from domain.mail.parsing.parsed_message import Address
from domain.payloads.email import EmailOrder
from domain.payloads.mail_fields import mailbox_parts
from engine.context import JobContext
from engine.effects import EffectGuard
from providers.ports.email import DraftingSender, DraftRef, EmailAttachment, KeyedSender, OutgoingEmail
from storage.ledger import audit
from storage.notifications.email import orders
from storage.notifications.email.orders import OrderDraft, StoredOrder
from storage.postgres.database import Transaction
from tasks.senders.email_files import FILE_LOST
from tasks.senders.lost_credentials import CREDENTIAL_AUDITS

DRAFT_KEY = "email-draft"
SEND_KEY = "email-send"

SENT = "email.sent"
SENDER_AUDITS = (SENT, *CREDENTIAL_AUDITS)
"""What a job that sends mail, or finds mail that was sent, may append to the audit log."""


@dataclass(frozen=True, slots=True)
class EmailCase:
    """An order, checked, and by whom it is to leave."""

    stored: StoredOrder
    order: EmailOrder
    identity: SenderIdentity
    files: Callable[[], tuple[EmailAttachment, ...]] = tuple
    """The files that go with it; they are looked for where they are needed, and a mail that is out is found without."""
    has_begun: bool = False
    """Whether an earlier attempt may have sent it."""

    @property
    def order_id(self) -> UUID:
        """Whose words they are."""
        return self.stored.order_id

    @property
    def email(self) -> OutgoingEmail:
        """The mail, the same for each attempt.

        A page without a text gets one by Resend. Exchange makes one itself, and Graph takes both bodies only as MIME,
        in which a draft cannot carry our property (docs: graph.md#drafts).
        """
        order = self.order
        text = order.text if (order.text or "").strip() else None
        if text is None and self.identity.provider is EmailProvider.RESEND:
            text = html_to_text(order.html or "") or None
        return OutgoingEmail(
            reference=reference_of(self.order_id),
            sender=self.identity.address,
            to=_addresses(order.to),
            cc=_addresses(order.cc),
            bcc=_addresses(order.bcc),
            reply_to=_addresses(order.reply_to),
            subject=order.subject,
            text=text,
            html=order.html if (order.html or "").strip() else None,
            headers=order.headers,
            attachments=self.files(),
        )


def reference_of(order_id: UUID) -> str:
    """What the provider knows a mail by: its key, or what its draft and its copy in Sent Items carry."""
    return f"postroom-{order_id}"


def send_key(order_id: UUID) -> str:
    """The key of the effect that sends."""
    return f"{SEND_KEY}:{order_id}"


def draft_key(order_id: UUID, identity: SenderIdentity) -> str:
    """The key of the effect that makes the draft in a mailbox: a draft in another mailbox is another effect."""
    mailbox = hashlib.sha256((identity.mailbox or "").encode()).hexdigest()[:12]
    return f"{DRAFT_KEY}:{order_id}:{mailbox}"


def send_keyed(ctx: JobContext, case: EmailCase, client: KeyedSender) -> None:
    """Send by a provider that knows a key: it gets the bytes of the first attempt, whatever is set by now.

    A mail that may be out is not made anew: its files may have been deleted since.
    """
    request = b"" if case.has_begun else client.request(case.email)
    with ctx.tx() as tx:
        orders.bind(tx, case.order_id, case.identity)
        sending = ctx.begin_effect(tx, send_key(case.order_id), Strategy.NATIVE_KEY, request)
    key = reference_of(case.order_id)
    sent = sending.carry_out(lambda: _send_kept(client, key, sending.request))
    sending.record_with(partial(store_sent, ctx, case, sent))


def _send_kept(client: KeyedSender, key: str, request: bytes) -> JsonObject:
    if not request:
        raise Transient("another job has just learned that the mail is not out; the next attempt makes it anew")
    return client.send(key, request).as_json()


def send_by_draft(ctx: JobContext, case: EmailCase, client: DraftingSender) -> None:
    """Send by a provider that makes a draft first; what an earlier attempt made or sent is found."""
    draft = case.stored.draft if case.stored.bound == case.identity else None
    if draft is None:
        draft, sending = _make_draft(ctx, case, client)
    else:
        with ctx.tx() as tx:
            sending = _begin_sending(ctx, case, tx)
    known = DraftRef(draft.draft_id, draft.message_id, reference_of(case.order_id))
    find = partial(find_sent, ctx, client, known, sending)
    sent = sending.carry_out(partial(_send, client, known, find), find)
    sending.record_with(partial(store_sent, ctx, case, known_by(known, sent)))


def _make_draft(ctx: JobContext, case: EmailCase, client: DraftingSender) -> tuple[OrderDraft, EffectGuard]:
    """Make the draft, and begin to send it in the transaction that keeps it."""
    email = case.email
    with ctx.tx() as tx:
        orders.bind(tx, case.order_id, case.identity)
        making = ctx.begin_effect(tx, draft_key(case.order_id, case.identity))
    made = DraftRef.from_json(
        making.carry_out(lambda: client.create_draft(email).as_json(), partial(find_draft, client, email))
    )
    draft = OrderDraft(made.draft_id, made.message_id)

    def keep(tx: Transaction) -> EffectGuard:
        orders.record_draft(tx, case.order_id, draft)
        return _begin_sending(ctx, case, tx)

    return draft, making.record_with(keep)


def _begin_sending(ctx: JobContext, case: EmailCase, tx: Transaction) -> EffectGuard:
    """With the time, from which a later attempt judges how long a mail may still be on its way."""
    began = json.dumps({"at": ctx.now().isoformat()}).encode()
    return ctx.begin_effect(tx, send_key(case.order_id), Strategy.FIND, began)


def _send(client: DraftingSender, draft: DraftRef, find: partial[Finding]) -> JsonObject:
    """Send the draft; one that is gone may have been sent by a person a moment before."""
    try:
        return client.send_draft(draft).as_json()
    except Gone as gone:
        match find():
            case Found(result=sent):
                return sent
            case CannotTell(reason=reason):
                raise Transient(reason, code=gone.code, call_state=CallState.IN_DOUBT) from gone
        raise


def known_by(draft: DraftRef, sent: JsonObject) -> JsonObject:
    """What is kept of a sent draft: its own id, whether Graph told of the sent mail or was asked for it later."""
    return sent | {"provider_id": draft.draft_id}


def find_draft(client: DraftingSender, email: OutgoingEmail) -> Finding:
    """Whether an earlier attempt has made the draft. One that lacks a file which is lost by now was never sent."""
    try:
        found = client.find_draft(email)
    except Permanent as failure:
        if failure.code not in FILE_LOST:
            raise
        return NotFound()
    return NotFound() if found is None else Found(found.as_json())


def find_sent(ctx: JobContext, client: DraftingSender, draft: DraftRef, sending: EffectGuard) -> Finding:
    """Whether the draft was sent."""
    return client.find_sent(draft, since=began_at(sending.first_request) or ctx.now(), now=ctx.now())


def began_at(request: bytes | None) -> datetime | None:
    """When the call in doubt began, by what was kept of it."""
    return None if request is None else datetime.fromisoformat(json.loads(request)["at"])


def store_sent(ctx: JobContext, case: EmailCase, sent: JsonObject, tx: Transaction) -> None:
    """Write that the mail has left, and once who sent it to how many; the addresses stand in the order alone."""
    provider_id, message_id = str(sent["provider_id"]), sent.get("message_id")
    if not orders.record_sent(tx, case.order_id, provider_id=provider_id, message_id=message_id):
        return
    facts = {
        "order_id": str(case.order_id),
        "provider": case.identity.provider.value,
        "provider_id": provider_id,
        "message_id": message_id,
        "recipients": case.order.recipients,
        "reference": case.order.reference,
    }
    audit.append(tx, ctx.job, SENT, facts)


def _addresses(texts: tuple[str, ...]) -> tuple[Address, ...]:
    return tuple(Address(*mailbox_parts(one)) for one in texts)
