"""A message that is due: what it says to which address, and whether it may go out now."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from domain.notifications.built_in import APPROVAL, DIGEST, MOST_SHOWN, digest_data
from domain.notifications.channels import Channel, category_of
from domain.notifications.plan import Message, Person
from domain.notifications.template import Template, Words, words_of
from domain.payloads.other_names import read_uuid
from storage.notifications import digests, notifications, people, templates
from storage.notifications.notifications import Delivery, Notification
from storage.notifications.people import ContactPoint
from storage.postgres.database import Transaction


@dataclass(frozen=True, slots=True)
class DueMessage:
    """A delivery with all that is needed to send it."""

    delivery: Delivery
    contact: ContactPoint
    person: Person
    message: Message
    template: Template
    words: Words
    approval_id: UUID | None = None
    """What its reader is asked to decide about."""


def read(tx: Transaction, delivery: Delivery) -> Callable[[], DueMessage] | None:
    """What is to be sent, put into words after the transaction; None when its person, address or words are gone.

    The call raises `Invalid` for words that cannot be said.
    """
    if delivery.contact_id is None:
        return None
    person = people.person(tx, delivery.org_id, delivery.user_id)
    if person is None:
        return None
    contact = people.contact(tx, delivery.org_id, delivery.contact_id)
    if delivery.notification_id is not None:
        asked = notifications.find(tx, delivery.org_id, delivery.notification_id)
        return None if asked is None else _of_notification(tx, delivery, contact, person, asked)
    return _of_digest(tx, delivery, contact, person)


def _of_notification(
    tx: Transaction, delivery: Delivery, contact: ContactPoint, person: Person, asked: Notification
) -> Callable[[], DueMessage]:
    template = templates.get(tx, delivery.org_id, asked.template, asked.version).template
    message = message_of(template, asked, (delivery.channel,))
    approval_id = read_uuid(asked.data.get("approval_id")) if asked.template == APPROVAL else None

    def said() -> DueMessage:
        words = words_of(template, delivery.channel, asked.data, zone=person.zone)
        return DueMessage(delivery, contact, person, message, template, words, approval_id)

    return said


def _of_digest(
    tx: Transaction, delivery: Delivery, contact: ContactPoint, person: Person
) -> Callable[[], DueMessage] | None:
    digest = None if delivery.digest_id is None else digests.find(tx, delivery.org_id, delivery.digest_id)
    if digest is None:
        return None
    shown, count = digests.items(tx, digest.org_id, digest.digest_id, limit=MOST_SHOWN)
    asked = [notifications.find(tx, digest.org_id, one) for one in shown]
    items = [(templates.get(tx, digest.org_id, one.template, one.version).template, one.data) for one in asked if one]
    template = templates.get(tx, digest.org_id, DIGEST).template
    message = Message(
        category=category_of(digest.category),
        channels=(digest.channel,),
        said_by=frozenset({digest.channel}),
        unsayable=frozenset(),
        asked_at=digest.closed_at or delivery.created_at,
        max_age=template.max_age,
        digest_every=template.digest_every,
    )

    def said() -> DueMessage:
        each = [words_of(of_item, digest.channel, data, zone=person.zone) for of_item, data in items]
        data = digest_data(digest.category, each, count)
        words = words_of(template, digest.channel, data, zone=person.zone)
        return DueMessage(delivery, contact, person, message, template, words)

    return said


def message_of(
    template: Template,
    asked: Notification,
    channels: tuple[Channel, ...],
    unsayable: frozenset[Channel] = frozenset(),
) -> Message:
    """What a plan needs to know of a notification."""
    return Message(
        category=category_of(template.category),
        channels=channels,
        said_by=frozenset(template.channels),
        only_to=asked.contact_id,
        due_at=asked.due_at,
        unsayable=unsayable,
        asked_at=asked.asked_at,
        max_age=template.max_age,
        digest_every=template.digest_every,
    )
