"""The notifications family: decide what becomes of a notification, close digests, send each message once.

`deliver` decides; a type for each channel sends, so that a provider that is parked delays no other channel.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from domain.email.sender import NO_PROVIDER, EmailProvider
from domain.jobs.effects import CannotTell, Finding, Found
from domain.jobs.failures import Invalid, Permanent, Uncertain
from domain.jobs.job import Cancel, Done, JsonObject, Outcome, Snooze
from domain.jobs.queues import Queue
from domain.jobs.retry import NOTIFICATIONS
from domain.notifications import plan as planning
from domain.notifications.channels import Channel
from domain.notifications.delivery import SUPPRESSING, DeliveryState
from domain.notifications.plan import Contact, Planned, Reason, Suppressed
from domain.notifications.template import Template, Words, words_of
from domain.payloads.notifications import (
    CloseDigestPayload,
    CloseOverduePayload,
    DeliverPayload,
    SendEmailPayload,
    SendPushPayload,
    SendSmsPayload,
)
from domain.privacy.redaction import redact_document
from engine.catalogue import job
from engine.context import JobContext
from engine.enqueue import enqueue_jobs
from storage.ledger import effects
from storage.notifications import channel_senders, digests, inbox, notifications, people, receipts, templates
from storage.notifications.digests import Digest, Overdue
from storage.notifications.email import orders
from storage.notifications.notifications import Delivery, Notification
from storage.postgres.database import Transaction
from tasks.senders import due_messages, notification_email, push_sending, sms_sending
from tasks.senders.due_messages import DueMessage
from tasks.senders.email_orders import find_order
from tasks.senders.email_sending import DRAFT_KEY, SEND_KEY, SENDER_AUDITS, send_key
from tasks.senders.lost_credentials import CREDENTIAL_AUDITS

SendPayload = SendEmailPayload | SendSmsPayload | SendPushPayload
SEND: Mapping[Channel, Callable[..., SendPayload]] = {
    Channel.EMAIL: SendEmailPayload,
    Channel.SMS: SendSmsPayload,
    Channel.PUSH: SendPushPayload,
}
BATCH = 500
ENDED = "notification_job_ended"
LONGEST_REASON = 300


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of a notification, and what each channel says."""

    asked: Notification
    version: int
    category: str
    planned: tuple[Planned, ...]
    words: Mapping[Channel, Words]
    unsayable: Mapping[Channel, str]


@job(queue=Queue.NOTIFICATIONS, retry=NOTIFICATIONS)
def deliver(ctx: JobContext, payload: DeliverPayload) -> Outcome:
    """Decide what becomes of a notification on each channel, and write it down with the jobs that send."""
    with ctx.read() as tx:
        asked = notifications.find(tx, ctx.org_id, payload.notification_id)
        person = None if asked is None else people.person(tx, ctx.org_id, asked.user_id)
        if asked is None or person is None:
            return Cancel("its recipient was removed")
        stored = templates.get(tx, ctx.org_id, asked.template, asked.version)
        sendable = channel_senders.sendable(tx, ctx.org_id)
    channels = asked.channels or stored.template.channels
    words, unsayable = _said(stored.template, channels, asked.data, person.zone)
    message = due_messages.message_of(stored.template, asked, channels, frozenset(unsayable))
    planned = planning.plan(message, person, sendable, ctx.now())
    decision = Decision(asked, stored.version, stored.template.category, planned, words, unsayable)
    return Done({"notification_id": str(asked.notification_id)}, writes=partial(_write, ctx, decision))


def _said(
    template: Template, channels: tuple[Channel, ...], data: JsonObject, zone: str
) -> tuple[dict[Channel, Words], dict[Channel, str]]:
    """What each channel says, and why some cannot."""
    words, unsayable = {}, {}
    for channel in set(channels) & set(template.channels):
        try:
            words[channel] = words_of(template, channel, data, zone=zone)
        except Invalid as invalid:
            unsayable[channel] = invalid.reason
    return words, unsayable


def _write(ctx: JobContext, decision: Decision, tx: Transaction) -> JsonObject:
    """Write the decision down, once: a replay of the job finds it."""
    if not notifications.mark_planned(tx, decision.asked.notification_id, decision.version):
        return {"planned": "before"}
    counts: dict[str, int] = {}
    for part in decision.planned:
        name = type(part).__name__.lower()
        counts[name] = counts.get(name, 0) + 1
        _write_part(ctx, decision, part, tx)
    return dict(counts)


def _write_part(ctx: JobContext, decision: Decision, part: Planned, tx: Transaction) -> None:
    asked = decision.asked
    whose, source = (asked.org_id, asked.user_id), asked.notification_id
    add = partial(notifications.add_delivery, tx, whose, source)
    match part:
        case planning.Send(channel, contact_id, at):
            made = add(channel, contact_id, DeliveryState.QUEUED, due_at=at)
            # Owed, as below: what was decided is not taken back with the job that decided.
            ctx.enqueue_owed(tx, SEND[channel](delivery_id=made), run_at=_later(ctx, at))
        case planning.Inbox():
            inbox.add(tx, (*whose, source), decision.category, decision.words[Channel.INBOX])
            add(Channel.INBOX, None, DeliveryState.DELIVERED)
        case planning.Digest(channel, at):
            joined = digests.join(tx, (*whose, source), channel, decision.category, at)
            add(channel, None, DeliveryState.COLLECTED, due_at=joined.closes_at)
            if joined.is_new:
                # A cancellation of the job that opened the digest would keep back what others have put in.
                ctx.enqueue_owed(tx, CloseDigestPayload(digest_id=joined.digest_id), run_at=joined.closes_at)
        case Suppressed(channel, reason, contact_id):
            detail = f": {decision.unsayable[channel]}" if reason is Reason.UNSAYABLE else ""
            add(channel, contact_id, _state_of(reason), reason=f"{reason.value}{detail}"[:LONGEST_REASON])


def _later(ctx: JobContext, at: datetime) -> datetime | None:
    return at if at > ctx.now() else None


def _state_of(reason: Reason) -> DeliveryState:
    return DeliveryState.EXPIRED if reason is Reason.TOO_OLD else DeliveryState.SUPPRESSED


@job(queue=Queue.NOTIFICATIONS, retry=NOTIFICATIONS)
def close_digest(ctx: JobContext, payload: CloseDigestPayload) -> Outcome:
    """Close a digest and send what is in it to the addresses that are good then; a single item is sent as itself."""
    with ctx.read() as tx:
        digest = digests.find(tx, ctx.org_id, payload.digest_id)
        person = None if digest is None else people.person(tx, ctx.org_id, digest.user_id)
    if digest is None or person is None:
        return Cancel("its person was removed")
    return Done(writes=partial(_close, ctx, digest, planning.reached_by(digest.channel, person)))


def _close(ctx: JobContext, digest: Digest, reached: tuple[Contact, ...] | Suppressed, tx: Transaction) -> JsonObject:
    found = digests.close(tx, digest.org_id, digest.digest_id)
    if not found:
        return {"closed": found is not None, "items": 0}
    if isinstance(reached, Suppressed):
        digests.suppress_items(tx, digest, reached.reason.value)
        return {"closed": True, "items": len(found), "reason": reached.reason.value}
    is_digest = len(found) > 1
    add = partial(notifications.add_delivery, tx, (digest.org_id, digest.user_id))
    for contact in reached:
        made = add(
            digest.digest_id if is_digest else found[0],
            digest.channel,
            contact.contact_id,
            DeliveryState.QUEUED,
            due_at=ctx.now(),
            is_digest=is_digest,
        )
        ctx.enqueue_owed(tx, SEND[digest.channel](delivery_id=made))
    return {"closed": True, "items": len(found)}


@job(queue=Queue.MAINTENANCE)
def close_overdue(ctx: JobContext, _payload: CloseOverduePayload) -> Outcome:
    """Have digests closed whose own job was canceled or died: they would collect for ever.

    An org of which somebody has locked a key is left to the next tick.
    """
    with ctx.fleet() as tx:
        overdue = digests.overdue(tx, limit=BATCH)

    def enqueue(tx: Transaction, some: Sequence[Overdue]) -> dict[str, int]:
        payloads = [(CloseDigestPayload(digest_id=one.digest_id), one.org_id) for one in some]
        enqueue_jobs(tx, [payload.job(org_id=org_id, origin=ctx.job.origin) for payload, org_id in payloads])
        return {"digests_closed": len(some)}

    counts = Counter(digests_closed=0)
    ctx.for_orgs(overdue, enqueue, counts)
    return Done({**counts})


def find_email(ctx: JobContext, payload: SendEmailPayload, key: str) -> Finding:
    """Whether the e-mail of a job that has ended was sent."""
    with ctx.read() as tx:
        delivery = notifications.delivery(tx, ctx.org_id, payload.delivery_id)
    if delivery is None or delivery.order_id is None:
        return CannotTell("its recipient was removed")
    found = find_order(ctx, delivery.order_id, key)
    if isinstance(found, Found) and key == send_key(delivery.order_id):
        with ctx.tx() as tx:
            _record(tx, delivery, str(found.result["provider_id"]))
    return found


@job(
    queue=Queue.NOTIFICATIONS,
    retry=NOTIFICATIONS,
    deadline=timedelta(minutes=10),
    providers=(NO_PROVIDER, *(one.value for one in EmailProvider)),
    on_end=ENDED,
    audits=SENDER_AUDITS,
    finds=dict.fromkeys((DRAFT_KEY, SEND_KEY), find_email),
)
def send_email(ctx: JobContext, payload: SendEmailPayload) -> Outcome:
    """Send an e-mail, once, by the org's sender."""
    return _send(ctx, payload, Channel.EMAIL, notification_email.send)


def find_sms(ctx: JobContext, payload: SendSmsPayload, key: str) -> Finding:
    """Whether the text message of a job that has ended was sent; its delivery keeps the id that is found."""
    return sms_sending.find_later(ctx, payload.delivery_id, key)


@job(
    queue=Queue.NOTIFICATIONS,
    retry=NOTIFICATIONS,
    deadline=timedelta(minutes=3),
    providers=("twilio",),
    on_end=ENDED,
    audits=CREDENTIAL_AUDITS,
    finds={sms_sending.KEY: find_sms},
)
def send_sms(ctx: JobContext, payload: SendSmsPayload) -> Outcome:
    """Send a text message, at most once."""
    return _send(ctx, payload, Channel.SMS, sms_sending.send)


@job(
    queue=Queue.NOTIFICATIONS,
    retry=NOTIFICATIONS,
    deadline=timedelta(minutes=3),
    providers=("fcm",),
    on_end=ENDED,
    audits=CREDENTIAL_AUDITS,
)
def send_push(ctx: JobContext, payload: SendPushPayload) -> Outcome:
    """Send a message to a device, at least once; a device shows a repetition in the first one's place."""
    return _send(ctx, payload, Channel.PUSH, push_sending.send)


Courier = Callable[[JobContext, DueMessage], str | Reason]
"""Causes the one effect of a message; returns the provider's id, or why there is nobody to send it by."""


def _key_of(delivery: Delivery) -> str | None:
    """The key of the effect that sends; an e-mail's is its order's, and there is none before the order."""
    if delivery.channel is Channel.EMAIL:
        return None if delivery.order_id is None else send_key(delivery.order_id)
    key_of = sms_sending.key_of if delivery.channel is Channel.SMS else push_sending.key_of
    return key_of(delivery.delivery_id)


def _send(ctx: JobContext, payload: SendPayload, channel: Channel, courier: Courier) -> Outcome:
    """Look once more whether the message may go out now, and hand it over."""
    with ctx.read() as tx:
        delivery = notifications.delivery(tx, ctx.org_id, payload.delivery_id)
        said = None if delivery is None else due_messages.read(tx, delivery)
        if delivery is None or said is None:
            return Cancel("its recipient or its address was removed")
        if delivery.channel is not channel:
            raise Invalid("payload.delivery_id", f"names a delivery by {delivery.channel.value}")
        key = _key_of(delivery)
        has_begun = key is not None and effects.may_have_happened(tx, ctx.org_id, key)
    if not delivery.may_be_sent:
        return Done({"state": delivery.state.value, "why": "it had ended before"})
    due = said()
    held = _held_back(ctx, due, has_begun=has_begun)
    if held is not None:
        return held
    if delivery.state is DeliveryState.FAILED:
        with ctx.tx() as tx:
            notifications.reopen(tx, delivery.delivery_id)
    return _hand_over(ctx, due, courier, has_begun=has_begun)


def _held_back(ctx: JobContext, due: DueMessage, *, has_begun: bool) -> Outcome | None:
    """How the job ends where the message must not go out now.

    A text that may have gone out is not sent again, so it is not held back: all that is left is to find out how that
    call ended. To ask about an e-mail or a push may send it.
    """
    if has_begun and due.delivery.channel is Channel.SMS:
        return None
    step = planning.before_call(due.message, due.person, due.contact.contact_id, ctx.now())
    if isinstance(step, Suppressed):
        if has_begun:
            raise Uncertain(f"it may have been sent, and is held back now: {step.reason.value}")
        return _ended(due.delivery, _state_of(step.reason), step.reason.value)
    return Snooze(step.at, "it is quiet at its recipient's") if step.at > ctx.now() else None


def _hand_over(ctx: JobContext, due: DueMessage, courier: Courier, *, has_begun: bool) -> Outcome:
    delivery = due.delivery
    try:
        taken = courier(ctx, due)
    except Uncertain:
        raise
    except Permanent as refusal:
        return _refused(ctx, delivery, refusal)
    if isinstance(taken, Reason):
        if has_begun:
            raise Uncertain(f"it may have been sent, and nobody can be asked any more: {taken.value}")
        return _ended(delivery, DeliveryState.SUPPRESSED, taken.value)

    def write(tx: Transaction) -> None:
        _record(tx, delivery, taken)

    return Done(redact_document({"state": DeliveryState.HANDED_OVER.value, "provider_id": taken}), writes=write)


def _record(tx: Transaction, delivery: Delivery, provider_id: str) -> None:
    """Write down that a provider has taken a message, and of an e-mail what was heard of it before."""
    org_id, delivery_id = delivery.org_id, delivery.delivery_id
    notifications.advance(tx, delivery_id, DeliveryState.HANDED_OVER, provider_id=provider_id)
    early = receipts.record_send(tx, org_id, delivery_id, provider_id) if delivery.channel is Channel.EMAIL else None
    if early is not None:
        receipts.apply(tx, org_id, delivery_id, early)


def _refused(ctx: JobContext, delivery: Delivery, refusal: Permanent) -> Outcome:
    """An address that is good for nothing is written to no more; any other refusal fails the job."""
    reason = SUPPRESSING.get(refusal.code)
    if reason is None:
        raise refusal

    def write(tx: Transaction) -> None:
        people.suppress(tx, ctx.org_id, delivery.delivery_id, reason)
        notifications.advance(tx, delivery.delivery_id, DeliveryState.FAILED, reason=refusal.code)

    return Done({"state": DeliveryState.FAILED.value, "reason": refusal.code}, writes=write)


def _ended(delivery: Delivery, state: DeliveryState, reason: str) -> Done:
    def write(tx: Transaction) -> None:
        notifications.advance(tx, delivery.delivery_id, state, reason=reason)
        if delivery.order_id is not None:
            orders.cancel(tx, delivery.order_id)

    return Done({"state": state.value, "reason": reason}, writes=write)
