"""Where people are reached and what they want: addresses, devices, preferences, quiet hours."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from domain.notifications.channels import Channel, Choice
from domain.notifications.plan import Contact, PersonToNotify
from domain.notifications.quiet_hours import QuietHours
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.postgres.retention import Retention

MOST_CONTACTS = 50
"""Addresses and devices of one person."""
MOST_OF_ADDRESS = 100
"""People of one org who have the same address."""
MOST_PREFERENCES = 1_000
CODES_APART = timedelta(minutes=1)
"""Between two codes to one address: each is a message that somebody pays for."""
MOST_CODES_A_DAY = 10
"""To one address, whoever asks for them: with five tries each, who guesses has one chance in 20,000 a day."""
RETENTION_OF_CODES = Retention("address_codes", "counted_from", timedelta(days=1), only="t.expires_at < now()")
"""Codes that are good no more, of a day that is over."""


@dataclass(frozen=True, slots=True)
class ContactPoint:
    """An address or a device of a person's."""

    contact_id: UUID
    org_id: UUID
    user_id: UUID
    channel: Channel
    address: str
    created_at: datetime
    verified_at: datetime | None
    suppressed_at: datetime | None
    suppressed_for: str | None


def person(tx: Transaction, org_id: UUID, user_id: UUID) -> PersonToNotify | None:
    """All that a plan needs to know of a person; None when the org has nobody of that id."""
    found = tx.run("find_person", org_id=org_id, user_id=user_id)
    if not found:
        return None
    whole = {"after_category": None, "after_channel": None, "limit": MOST_PREFERENCES}
    chosen = tx.run("list_preferences", org_id=org_id, user_id=user_id, **whole)
    contacts = contact_points(tx, org_id, user_id)
    (row,) = found
    return PersonToNotify(
        zone=row.zone,
        quiet=None if row.begins is None else QuietHours(row.begins, row.ends),
        choices={(one.category, Channel(one.channel)): Choice(one.choice) for one in chosen},
        contacts=[
            Contact(one.contact_id, one.channel, one.verified_at is not None, one.suppressed_for) for one in contacts
        ],
    )


def org_of(tx: Transaction, user_id: UUID) -> UUID | None:
    """The org of a person, as the ledger role only; None when nobody has the id, or the person is being erased."""
    rows = tx.run("find_org_of_person", user_id=user_id)
    found: UUID | None = rows[0].org_id if rows else None
    return found


def contact_points(tx: Transaction, org_id: UUID, user_id: UUID) -> Sequence[ContactPoint]:
    """A person's addresses and devices, the oldest first."""
    whole = {"after_created_at": None, "after_contact_id": None, "limit": MOST_CONTACTS}
    return [_contact(row) for row in tx.run("list_contact_points", org_id=org_id, user_id=user_id, **whole)]


def contact(tx: Transaction, org_id: UUID, contact_id: UUID, *, user_id: UUID | None = None) -> ContactPoint:
    """One address; raises `Gone` when there is none, or it is another person's."""
    point = {"contact_id": contact_id, "user_id": user_id}
    return _contact(tx.one("find_contact_point", "there is no such contact point", org_id=org_id, **point))


def contacts_of_address(tx: Transaction, org_id: UUID, channel: Channel, address: str) -> Sequence[ContactPoint]:
    """Whose address it is, of an org's people."""
    rows = tx.run(
        "list_contacts_of_address", org_id=org_id, channel=channel.value, address=address, limit=MOST_OF_ADDRESS
    )
    return [_contact(row) for row in rows]


def add_contact(
    tx: Transaction, org_id: UUID, user_id: UUID, channel: Channel, address: str, *, is_verified: bool
) -> ContactPoint | None:
    """Add an address, or return the one that is there; None when the person has too many.

    A device belongs to who signed in on it last: it is taken away from others, and is suppressed no more.
    """
    if channel is Channel.PUSH:
        tx.run("take_device", org_id=org_id, user_id=user_id, address=address)
    rows = tx.run(
        "add_contact_point",
        org_id=org_id,
        user_id=user_id,
        channel=channel.value,
        address=address,
        is_verified=is_verified,
        most=MOST_CONTACTS,
    )
    if not rows:
        return None
    if channel is Channel.PUSH:
        lift(tx, org_id, rows[0].contact_id)
    return contact(tx, org_id, rows[0].contact_id)


def keep_code(tx: Transaction, org_id: UUID, contact_id: UUID, code_hash: bytes, *, lasts: timedelta) -> bool:
    """Keep the code that is sent to an address, in place of an earlier one.

    False when that is too young, or the address had as many today as may be, whichever contact they were for.
    """
    facts = {"code_hash": code_hash, "lasts": lasts, "rests": CODES_APART, "most_a_day": MOST_CODES_A_DAY}
    return bool(tx.run("keep_contact_code", org_id=org_id, contact_id=contact_id, **facts))


def try_code(
    tx: Transaction, org_id: UUID, contact_id: UUID, code_hash: bytes, *, most_tries: int
) -> ContactPoint | None:
    """Verify an address by its code; None for a wrong or an old one. Each try counts, and too many void the code."""
    rows = tx.run("try_contact_code", org_id=org_id, contact_id=contact_id, code_hash=code_hash, most_tries=most_tries)
    return contact(tx, org_id, contact_id) if rows else None


def remove_contact(tx: Transaction, org_id: UUID, user_id: UUID, contact_id: UUID) -> ContactPoint:
    """Remove an address or a device; raises `Gone`."""
    removed = contact(tx, org_id, contact_id, user_id=user_id)
    tx.run("remove_contact_point", org_id=org_id, user_id=user_id, contact_id=contact_id)
    return removed


def suppress(tx: Transaction, org_id: UUID, delivery_id: UUID, reason: str) -> bool:
    """Write to a delivery's address no more, whether anybody still has the address; false when that was so already."""
    return bool(tx.run("suppress_address_of_delivery", org_id=org_id, delivery_id=delivery_id, reason=reason))


def suppress_address(tx: Transaction, org_id: UUID, channel: Channel, address: str, reason: str) -> None:
    """Write to an address no more."""
    tx.run("suppress_address", org_id=org_id, channel=channel.value, address=address, reason=reason)


def lift(tx: Transaction, org_id: UUID, contact_id: UUID) -> None:
    """Write to an address again that was suppressed, for the ledger role."""
    tx.run("lift_suppression", org_id=org_id, contact_id=contact_id)


def choose(
    tx: Transaction, org_id: UUID, user_id: UUID, category: str, channel: Channel, choice: Choice
) -> datetime | None:
    """Keep a choice, and return since when the person has had it; None when the person has as many as may be."""
    rows = tx.run(
        "choose_preference",
        org_id=org_id,
        user_id=user_id,
        category=category,
        channel=channel.value,
        choice=choice.value,
        most=MOST_PREFERENCES,
    )
    return rows[0].changed_at if rows else None


def set_quiet_hours(tx: Transaction, org_id: UUID, user_id: UUID, quiet: QuietHours | None) -> None:
    """Keep the person's quiet hours, or remove them."""
    if quiet is None:
        tx.run("remove_quiet_hours", org_id=org_id, user_id=user_id)
    else:
        tx.run("set_quiet_hours", org_id=org_id, user_id=user_id, begins=quiet.begin, ends=quiet.end)


def _contact(row: Row) -> ContactPoint:
    return ContactPoint(**(row._asdict() | {"channel": Channel(row.channel)}))
