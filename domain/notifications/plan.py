"""What becomes of a notification on each channel: sent now or later, shown, collected, or not sent and why.

The plan is made when a notification is delivered, and once more right before each call: a gate may have held a message
until the night, and its person may have turned the category off meanwhile.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from domain.notifications.channels import ADDRESSED, Category, Channel, Choice
from domain.notifications.quiet_hours import QuietHours


class Reason(StrEnum):
    """Why nothing is sent by a channel."""

    NO_TEXT = "no_text"
    """The template says nothing there."""
    TURNED_OFF = "turned_off"
    NO_SENDER = "no_sender"
    """The org has nobody to send it by."""
    NO_ADDRESS = "no_address"
    UNVERIFIED = "unverified"
    SUPPRESSED = "suppressed"
    """The address has bounced, complained, said STOP, or its device is gone."""
    TOO_OLD = "too_old"
    UNSAYABLE = "unsayable"
    """The template cannot say the data there, such as without a value that it names."""


CLOSES_WITHIN = timedelta(minutes=5)
"""How long after its time a digest may close on a busy day, and each item is still young enough to be sent."""


@dataclass(frozen=True, slots=True)
class Contact:
    """An address of a person's, or a device."""

    contact_id: UUID
    channel: Channel
    is_verified: bool
    suppressed_for: str | None = None


@dataclass(frozen=True, slots=True)
class PersonToNotify:
    """What a person wants, and where they are reached; contacts in the order in which they are preferred."""

    zone: str
    quiet: QuietHours | None
    choices: Mapping[tuple[str, Channel], Choice]
    contacts: Sequence[Contact]


@dataclass(frozen=True, slots=True)
class NotificationFacts:
    """What is known of a notification besides its words."""

    category: Category
    channels: tuple[Channel, ...]
    """Those that were asked for."""
    said_by: frozenset[Channel]
    """Those for which its template has words."""
    unsayable: frozenset[Channel]
    """Those on which the words cannot be made of its data."""
    asked_at: datetime
    max_age: timedelta
    digest_every: timedelta
    only_to: UUID | None = None
    """This address and no other, verified or not."""
    due_at: datetime | None = None
    """The time for which it was meant, such as a reminder's; None: when it was asked for."""

    def late_at(self, moment: datetime) -> timedelta:
        """How late the message is at a moment."""
        return moment - (self.due_at or self.asked_at)


@dataclass(frozen=True, slots=True)
class Send:
    """A message to one address, at once or when the quiet hours end."""

    channel: Channel
    contact_id: UUID
    at: datetime


@dataclass(frozen=True, slots=True)
class InboxLine:
    """A line in the inbox."""


@dataclass(frozen=True, slots=True)
class DigestItem:
    """An item of the person's digest of a channel and category; one that opens a digest says when that is closed."""

    channel: Channel
    at: datetime


@dataclass(frozen=True, slots=True)
class Suppressed:
    """Nothing is sent."""

    channel: Channel
    reason: Reason
    contact_id: UUID | None = None


Planned = Send | InboxLine | DigestItem | Suppressed


def plan(
    message: NotificationFacts, person: PersonToNotify, senders: frozenset[Channel], now: datetime
) -> tuple[Planned, ...]:
    """What becomes of the message on each channel that was asked for; `senders` are those that the org can send by."""
    # In one order, in which the writer locks digests and inbox.
    channels = [channel for channel in Channel if channel in message.channels]
    return tuple(one for channel in channels for one in _on(channel, message, person, senders, now))


def reached_by(
    channel: Channel, person: PersonToNotify, only_to: UUID | None = None
) -> tuple[Contact, ...] | Suppressed:
    """To which addresses a message by this channel goes: each device, the first good address; or why to none."""
    contacts = [one for one in person.contacts if one.channel is channel and only_to in {None, one.contact_id}]
    usable = tuple(one for one in contacts if (one.is_verified or only_to) and one.suppressed_for is None)
    if not usable:
        return _unreachable(channel, contacts)
    # Every device rings; a letter or a text message goes to one address.
    return usable if channel is Channel.PUSH else usable[:1]


def before_call(
    message: NotificationFacts, person: PersonToNotify, contact_id: UUID, now: datetime
) -> Send | Suppressed:
    """What becomes of a message to one address right before it is sent; a digest that is closed is a message, too."""
    contact = next((one for one in person.contacts if one.contact_id == contact_id), None)
    if contact is None:
        return Suppressed(message.channels[0], Reason.NO_ADDRESS, contact_id)
    if _choice(message.category, contact.channel, person) is Choice.OFF:
        return Suppressed(contact.channel, Reason.TURNED_OFF, contact_id)
    return _to(contact, message, person, now)


def _on(
    channel: Channel, message: NotificationFacts, person: PersonToNotify, senders: frozenset[Channel], now: datetime
) -> Iterator[Planned]:
    choice = _choice(message.category, channel, person)
    reason = _reason_against(channel, message, choice, senders)
    if reason is not None:
        yield Suppressed(channel, reason)
        return
    if channel is Channel.INBOX:
        yield InboxLine()
        return
    reached = reached_by(channel, person, message.only_to)
    if isinstance(reached, Suppressed):
        yield reached
        return
    closes = _after_quiet_hours(now + message.digest_every, message, person)
    # What would be too old when the digest closes goes by itself.
    if choice is Choice.DIGEST and closes + CLOSES_WITHIN - message.asked_at <= message.max_age:
        yield DigestItem(channel, closes)
        return
    for contact in reached:
        yield _to(contact, message, person, now)


def _reason_against(
    channel: Channel, message: NotificationFacts, choice: Choice, senders: frozenset[Channel]
) -> Reason | None:
    if channel not in message.said_by:
        return Reason.NO_TEXT
    if choice is Choice.OFF:
        return Reason.TURNED_OFF
    if channel in message.unsayable:
        return Reason.UNSAYABLE
    return Reason.NO_SENDER if channel in ADDRESSED and channel not in senders else None


def _choice(category: Category, channel: Channel, person: PersonToNotify) -> Choice:
    if not category.is_mutable:
        return Choice.NOW
    return person.choices.get((category.name, channel), Choice.NOW)


def _unreachable(channel: Channel, contacts: Sequence[Contact]) -> Suppressed:
    if not contacts:
        return Suppressed(channel, Reason.NO_ADDRESS)
    silenced = next((one for one in contacts if one.suppressed_for is not None), None)
    if silenced is not None:
        return Suppressed(channel, Reason.SUPPRESSED, silenced.contact_id)
    return Suppressed(channel, Reason.UNVERIFIED, contacts[0].contact_id)


def _to(contact: Contact, message: NotificationFacts, person: PersonToNotify, now: datetime) -> Send | Suppressed:
    if contact.suppressed_for is not None:
        return Suppressed(contact.channel, Reason.SUPPRESSED, contact.contact_id)
    at = _after_quiet_hours(now, message, person)
    if at - message.asked_at > message.max_age:
        return Suppressed(contact.channel, Reason.TOO_OLD, contact.contact_id)
    return Send(contact.channel, contact.contact_id, at)


def _after_quiet_hours(moment: datetime, message: NotificationFacts, person: PersonToNotify) -> datetime:
    if person.quiet is None or message.category.rings_in_quiet_hours(message.late_at(moment)):
        return moment
    return person.quiet.until(moment, person.zone) or moment
