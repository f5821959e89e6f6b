"""A message that is due: what it says to which address, whether it may go out now, and how it is handed over."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from domain.jobs.failures import Invalid, Permanent, Uncertain
from domain.jobs.job import Cancel, Done, Outcome, Snooze
from domain.notifications import plan as planning
from domain.notifications.channels import Channel
from domain.notifications.delivery import SUPPRESSING, DeliveryState, state_of
from domain.notifications.plan import NotificationFacts, PersonToNotify, Reason, Suppressed
from domain.notifications.template import RenderedWords, Said
from domain.orgs.privacy.redaction import redact_document
from engine.context import JobContext
from storage.jobs import effects
from storage.notifications import notifications, people, receipts
from storage.notifications.email import orders
from storage.notifications.notifications import Delivery
from storage.notifications.people import ContactPoint
from storage.postgres.database import Transaction


@dataclass(frozen=True, slots=True)
class DueMessage:
    """A delivery with all that is needed to send it."""

    delivery: Delivery
    contact: ContactPoint
    person: PersonToNotify
    message: NotificationFacts
    said: Said

    @property
    def words(self) -> RenderedWords:
        """The words that were kept when the delivery was decided."""
        return self.said.words


def read(tx: Transaction, delivery: Delivery) -> DueMessage | None:
    """What is to be sent; None when its person or its address was removed, or a provider has taken it."""
    kept = notifications.kept_message(tx, delivery)
    person = people.person(tx, delivery.org_id, delivery.user_id)
    if delivery.contact_id is None or kept is None or person is None:
        return None
    return DueMessage(delivery, people.contact(tx, delivery.org_id, delivery.contact_id), person, *kept)


Courier = Callable[[JobContext, DueMessage], str | Reason]
"""Causes the one effect of a message; returns the provider's id, or why there is nobody to send it by."""


def send(ctx: JobContext, delivery_id: UUID, key: str, channel: Channel, courier: Courier) -> Outcome:
    """Look once more whether the message may go out now, and hand it over; `key` is of the effect that sends it."""
    with ctx.read() as tx:
        delivery = notifications.delivery(tx, delivery_id)
        due = None if delivery is None else read(tx, delivery)
        has_begun = effects.may_have_happened(tx, ctx.org_id, key)
    if delivery is not None and delivery.channel is not channel:
        raise Invalid("payload.delivery_id", f"names a delivery by {delivery.channel.value}")
    if delivery is not None and not delivery.may_be_sent:
        return Done({"state": delivery.state.value, "why": "it had ended before"})
    if delivery is None or due is None:
        return Cancel("its recipient or its address was removed")
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
        return _ended(due.delivery, state_of(step.reason), step.reason.value)
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
        record_taken(tx, delivery, taken)

    return Done(redact_document({"state": DeliveryState.HANDED_OVER.value, "provider_id": taken}), writes=write)


def record_taken(tx: Transaction, delivery: Delivery, provider_id: str) -> None:
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
        if delivery.channel is Channel.EMAIL:
            orders.cancel(tx, delivery.delivery_id)

    return Done({"state": state.value, "reason": reason}, writes=write)
