"""The notifications family: decide what becomes of a notification, close digests, send each message once.

`deliver` decides; a type for each channel sends, so that a provider that is parked delays no other channel.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from domain.jobs.effects import CannotTell, Finding, Found
from domain.jobs.failures import Invalid
from domain.jobs.job import Cancel, Done, JsonObject, Outcome
from domain.jobs.queues import Queue
from domain.jobs.retry import NOTIFICATIONS
from domain.notifications import plan as planning
from domain.notifications.built_in import APPROVAL, DIGEST, MOST_SHOWN, digest_data
from domain.notifications.channels import Channel, category_of
from domain.notifications.delivery import DeliveryState, state_of
from domain.notifications.plan import Contact, NotificationFacts, Planned, Reason, Suppressed
from domain.notifications.sender import NO_PROVIDER, EmailProvider
from domain.notifications.template import Said, Template, words_of
from domain.payloads.notifications import (
    CloseDigestPayload,
    CloseOverduePayload,
    DeliverPayload,
    SendEmailPayload,
    SendPushPayload,
    SendSmsPayload,
)
from domain.payloads.other_names import read_uuid
from engine.catalogue import job
from engine.context import JobContext
from engine.enqueue import enqueue_jobs
from engine.interrupts import Interrupted
from storage.notifications import channel_senders, digests, inbox, notifications, people, templates
from storage.notifications.digests import Digest, Overdue
from storage.notifications.notifications import Notification
from storage.postgres.database import Transaction
from tasks.notifications.senders import due_messages, notification_email, push_sending, sms_sending
from tasks.notifications.senders.due_messages import record_taken
from tasks.notifications.senders.email_orders import find_order
from tasks.notifications.senders.email_sending import DRAFT_KEY, SEND_KEY, SENDER_AUDITS, send_key
from tasks.notifications.senders.lost_credentials import CREDENTIAL_AUDITS

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
class DeliveryDecision:
    """What becomes of a notification, and what each channel says."""

    asked: Notification
    version: int
    planned: tuple[Planned, ...]
    said: Mapping[Channel, Said]
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
    template = stored.template
    channels = asked.channels or template.channels
    said, unsayable = _said(template, channels, asked, person.zone)
    message = NotificationFacts(
        category=category_of(template.category),
        channels=channels,
        said_by=frozenset(template.channels),
        unsayable=frozenset(unsayable),
        asked_at=asked.asked_at,
        max_age=template.max_age,
        digest_every=template.digest_every,
        only_to=asked.contact_id,
        due_at=asked.due_at,
    )
    planned = planning.plan(message, person, sendable, ctx.now())
    decision = DeliveryDecision(asked, stored.version, planned, said, unsayable)
    return Done({"notification_id": str(asked.notification_id)}, writes=partial(_write, ctx, decision))


def _said(
    template: Template, channels: tuple[Channel, ...], asked: Notification, zone: str
) -> tuple[dict[Channel, Said], dict[Channel, str]]:
    """What each channel says, and why some cannot."""
    said, unsayable = {}, {}
    approval_id = read_uuid(asked.data.get("approval_id")) if asked.template == APPROVAL else None
    for channel in set(channels) & set(template.channels):
        try:
            words = words_of(template, channel, asked.data, zone=zone)
        except Invalid as invalid:
            unsayable[channel] = invalid.reason
        else:
            said[channel] = Said(
                words=words, category=template.category, max_age=template.max_age, approval_id=approval_id
            )
    return said, unsayable


def _write(ctx: JobContext, decision: DeliveryDecision, tx: Transaction) -> JsonObject:
    """Write the decision down, once: a replay of the job finds it."""
    if not notifications.mark_planned(tx, decision.asked.notification_id, decision.version):
        return {"planned": "before"}
    counts: dict[str, int] = {}
    for part in decision.planned:
        name = type(part).__name__.lower()
        counts[name] = counts.get(name, 0) + 1
        _write_part(ctx, decision, part, tx)
    return dict(counts)


def _write_part(ctx: JobContext, decision: DeliveryDecision, part: Planned, tx: Transaction) -> None:
    asked = decision.asked
    whose, source = (asked.org_id, asked.user_id), asked.notification_id
    add = partial(notifications.add_delivery, tx, whose, source)
    match part:
        case planning.Send(channel, contact_id, at):
            made = add(channel, contact_id, DeliveryState.QUEUED, said=decision.said[channel], due_at=at)
            # Owed, as below: what was decided is not taken back with the job that decided.
            ctx.enqueue_owed(tx, SEND[channel](delivery_id=made), run_at=_later(ctx, at))
        case planning.InboxLine():
            shown = decision.said[Channel.INBOX]
            inbox.add(tx, (*whose, source), shown.category, shown.words)
            add(Channel.INBOX, None, DeliveryState.DELIVERED)
        case planning.DigestItem(channel, at):
            said = decision.said[channel]
            joined = digests.join(tx, (*whose, source), channel, said.category, at)
            add(channel, None, DeliveryState.COLLECTED, said=said, due_at=joined.closes_at)
            if joined.is_new:
                # A cancellation of the job that opened the digest would keep back what others have put in.
                ctx.enqueue_owed(tx, CloseDigestPayload(digest_id=joined.digest_id), run_at=joined.closes_at)
        case Suppressed(channel, reason, contact_id):
            detail = f": {decision.unsayable[channel]}" if reason is Reason.UNSAYABLE else ""
            add(channel, contact_id, state_of(reason), reason=f"{reason.value}{detail}"[:LONGEST_REASON])


def _later(ctx: JobContext, at: datetime) -> datetime | None:
    return at if at > ctx.now() else None


@job(queue=Queue.NOTIFICATIONS, retry=NOTIFICATIONS)
def close_digest(ctx: JobContext, payload: CloseDigestPayload) -> Outcome:
    """Close a digest and send what is in it to the addresses that are good then; a single item is sent as itself."""
    with ctx.read() as tx:
        digest = digests.find(tx, ctx.org_id, payload.digest_id)
        person = None if digest is None else people.person(tx, ctx.org_id, digest.user_id)
        items, count = digests.items(tx, ctx.org_id, payload.digest_id, limit=MOST_SHOWN)
        template = templates.get(tx, ctx.org_id, DIGEST).template
    if digest is None or person is None:
        return Cancel("its person was removed")
    output: JsonObject = {}
    reached, said = planning.reached_by(digest.channel, person), items
    if count > 1:
        data = digest_data(digest.category, [one.words for one in items], count)
        try:
            words = words_of(template, digest.channel, data, zone=person.zone)
        except Invalid as invalid:
            reached, output = Suppressed(digest.channel, Reason.UNSAYABLE), {"unsayable": invalid.reason}
        else:
            said = [Said(words=words, category=digest.category, max_age=template.max_age)]
    return Done(output, writes=partial(_close, ctx, digest, reached, count, said))


def _close(
    ctx: JobContext,
    digest: Digest,
    reached: tuple[Contact, ...] | Suppressed,
    count: int,
    said: Sequence[Said],
    tx: Transaction,
) -> JsonObject:
    found = digests.close(tx, digest.org_id, digest.digest_id)
    if not found:
        return {"closed": found is not None, "items": 0}
    if len(found) != count:
        raise Interrupted("an item came in while the digest was put into words")
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
            said=said[0],
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
        delivery = notifications.delivery(tx, payload.delivery_id)
    if delivery is None:
        return CannotTell("its recipient was removed")
    found = find_order(ctx, delivery.delivery_id, key)
    if isinstance(found, Found) and key == send_key(delivery.delivery_id):
        with ctx.tx() as tx:
            record_taken(tx, delivery, str(found.result["provider_id"]))
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
    key = send_key(payload.delivery_id)
    return due_messages.send(ctx, payload.delivery_id, key, Channel.EMAIL, notification_email.send)


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
    key = sms_sending.key_of(payload.delivery_id)
    return due_messages.send(ctx, payload.delivery_id, key, Channel.SMS, sms_sending.send)


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
    key = push_sending.key_of(payload.delivery_id)
    return due_messages.send(ctx, payload.delivery_id, key, Channel.PUSH, push_sending.send)
