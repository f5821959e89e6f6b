"""Sends an order's mail once: by a key that the provider knows, or by a draft that is found (docs: email.md#once)."""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from domain.jobs.effects import Finding, Found, NotFound, Strategy
from domain.jobs.failures import Permanent, Transient
from domain.jobs.job import JsonObject
from domain.mail.parsing.html_text import html_to_text
from domain.notifications.sender import EmailProvider, SenderIdentity
from domain.payloads.email import EmailOrder
from domain.payloads.mail_address import Address
from domain.payloads.mail_fields import mailbox_parts
from engine.context import JobContext
from engine.effects import EffectGuard
from providers.ports.email import DraftingSender, DraftRef, KeyedSender, OutgoingEmail
from storage.jobs import audit
from storage.notifications.email import orders
from storage.notifications.email.orders import OrderDraft, StoredOrder
from storage.postgres.database import Transaction
from tasks.notifications.senders.drafted_mail import DraftedMail
from tasks.notifications.senders.email_files import FILE_LOST, files_of
from tasks.notifications.senders.lost_credentials import CREDENTIAL_AUDITS

DRAFT_KEY = "email-draft"
SEND_KEY = "email-send"

SENT = "email.sent"
SENDER_AUDITS = (SENT, *CREDENTIAL_AUDITS)
"""What a job that sends mail, or finds mail that was sent, may append to the audit log."""


@dataclass(frozen=True, slots=True)
class EmailCase:
    """An order, checked, and by whom it is to leave."""

    ctx: JobContext
    stored: StoredOrder
    order: EmailOrder
    identity: SenderIdentity

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
            attachments=files_of(self.ctx, order),
        )

    def record_sent(self, sent: JsonObject, tx: Transaction) -> None:
        """Write that the mail has left, and once who sent it to how many; the addresses stand in the order alone."""
        provider_id, message_id = str(sent["provider_id"]), sent.get("message_id")
        if not orders.record_sent(tx, self.order_id, provider_id=provider_id, message_id=message_id):
            return
        facts = {
            "order_id": str(self.order_id),
            "provider": self.identity.provider.value,
            "provider_id": provider_id,
            "message_id": message_id,
            "recipients": self.order.recipients,
            "reference": self.order.reference,
        }
        audit.append(tx, self.ctx.job, SENT, facts)


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


def send_keyed(case: EmailCase, client: KeyedSender, *, has_begun: bool) -> None:
    """Send by a provider that knows a key: it gets the bytes of the first attempt, whatever is set by now.

    A mail that may be out is not made anew: its files may have been deleted since.
    """
    request = b"" if has_begun else client.request(case.email)
    with case.ctx.tx() as tx:
        orders.bind(tx, case.order_id, case.identity)
        sending = case.ctx.begin_effect(tx, send_key(case.order_id), Strategy.NATIVE_KEY, request)
    key = reference_of(case.order_id)
    sent = sending.carry_out(lambda: _send_kept(client, key, sending.request))
    sending.record_with(partial(case.record_sent, sent))


def _send_kept(client: KeyedSender, key: str, request: bytes) -> JsonObject:
    if not request:
        raise Transient("another job has just learned that the mail is not out; the next attempt makes it anew")
    return client.send(key, request).as_json()


@dataclass(frozen=True, slots=True)
class GraphMail(EmailCase, DraftedMail):
    """An order's mail, by a provider that makes a draft first."""

    client: DraftingSender

    @property
    def draft(self) -> JsonObject | None:
        """The draft that is written down; one of another sender's counts as none."""
        if self.stored.draft is None or self.stored.bound != self.identity:
            return None
        return DraftRef(*self.stored.draft, reference_of(self.order_id)).as_json()

    def begin_draft(self, tx: Transaction) -> EffectGuard:
        """In the mailbox that the order is bound to from here on."""
        orders.bind(tx, self.order_id, self.identity)
        return self.ctx.begin_effect(tx, draft_key(self.order_id, self.identity))

    def create_draft(self) -> JsonObject:
        """With all its files."""
        return self.client.create_draft(self.email).as_json()

    def find_draft(self) -> Finding:
        """By its marks. One that lacks a file which is lost by now was never sent."""
        email = self.email
        try:
            found = self.client.find_draft(email)
        except Permanent as failure:
            if failure.code not in FILE_LOST:
                raise
            return NotFound()
        return NotFound() if found is None else Found(found.as_json())

    def begin_sending(self, draft: JsonObject, tx: Transaction) -> EffectGuard:
        """With the time, from which a later attempt judges how long a mail may still be on its way."""
        self.record_draft(draft, tx)
        return self.ctx.begin_effect(tx, send_key(self.order_id), Strategy.FIND, began(self.ctx.now()))

    def send_draft(self, draft: JsonObject) -> JsonObject:
        """Answered by the draft's ids."""
        return self.client.send_draft(DraftRef.from_json(draft)).as_json()

    def find_sent(self, draft: JsonObject, request: bytes | None) -> Finding:
        """By the draft's id, and in Sent Items."""
        now = self.ctx.now()
        since = now if request is None else datetime.fromisoformat(json.loads(request)["at"])
        return self.client.find_sent(DraftRef.from_json(draft), since=since, now=now)

    def record_draft(self, draft: JsonObject, tx: Transaction) -> None:
        """Keep which draft it is."""
        orders.record_draft(tx, self.order_id, OrderDraft(draft["draft_id"], draft["message_id"]))

    def record_sent(self, sent: JsonObject, tx: Transaction) -> None:
        """Under the draft's id, whether Graph told of the sent mail or was asked for it later."""
        EmailCase.record_sent(self, sent | {"provider_id": sent["draft_id"]}, tx)


def began(at: datetime) -> bytes:
    """What is kept of a call that begins at that time."""
    return json.dumps({"at": at.isoformat()}).encode()


def _addresses(texts: tuple[str, ...]) -> tuple[Address, ...]:
    return tuple(Address(*mailbox_parts(one)) for one in texts)
