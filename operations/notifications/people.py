"""What a person wants, and where they are reached: preferences, quiet hours, addresses and devices."""

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import Field, ValidationInfo, field_validator

from domain.jobs.failures import Conflict, Gone, Invalid
from domain.jobs.job import JsonObject
from domain.notifications.built_in import VERIFICATION
from domain.notifications.channels import Channel, Choice, category_of, check_category
from domain.notifications.contact_addresses import checked_contact, shown_contact
from domain.notifications.plan import PersonToNotify
from domain.notifications.quiet_hours import QuietHours, quiet_hours
from domain.orgs.access.api_keys import Role
from operations.call import Call
from operations.operation import Area, Record, Route
from operations.pages import Page, Window
from storage.notifications import notifications, people
from storage.notifications.notifications import NotificationRequest
from storage.notifications.people import ContactPoint
from storage.postgres.database import Transaction

PREFERENCES = Area(
    "preferences",
    "See and change what a person wants to be told, by which channel and when.",
    org="required",
    writes=Role.WRITER,
)
CONTACT_POINTS = Area(
    "contacts", "Add, verify, list and remove a person's addresses and devices.", org="required", writes=Role.WRITER
)

CODE_LASTS = timedelta(minutes=15)
MOST_TRIES = 5
"""Of a code of six digits: who guesses has one chance in 200,000."""


class PreferenceView(Record):
    """What a person wants of a category by a channel; what is not listed comes at once."""

    plural: ClassVar = "preferences"
    category: str
    channel: Channel
    choice: Choice
    changed_at: datetime


class QuietHoursView(Record):
    """When nothing may ring, by the clock of the person's zone; both null where anything may at any time."""

    begin: str | None
    end: str | None
    zone: str
    quiet_until: datetime | None = Field(description="When the quiet hours end that it is in now.")


class ContactView(Record):
    """An address or a device."""

    plural: ClassVar = "contact_points"
    columns: ClassVar = ("contact_id", "channel", "address", "verified_at", "suppressed_for")
    contact_id: UUID
    channel: Channel
    address: str = Field(description="Of a device only the end of its token.")
    created_at: datetime
    verified_at: datetime | None
    suppressed_at: datetime | None
    suppressed_for: str | None = Field(description="Why nothing is sent to it any more.")

    @field_validator("address")
    @classmethod
    def _show(cls, address: str, info: ValidationInfo) -> str:
        return shown_contact(info.data["channel"], address)


@PREFERENCES.look("list", Route("GET", "/users/{user_id}/preferences"))
def list_preferences(call: Call, window: Window, user_id: UUID) -> Page[PreferenceView]:
    """List what a person has chosen, by category and channel."""
    with call.reading() as tx:
        person_of(tx, call.org, user_id)
        return window.records(tx, "list_preferences", PreferenceView, org_id=call.org, user_id=user_id)


@PREFERENCES.deed("set", Route("PUT", "/users/{user_id}/preferences"), events=("preference.set",))
def set_preference(
    call: Call,
    user_id: UUID,
    *,
    category: Annotated[str, Field(max_length=40, description="Such as `bookings`.")],
    channel: Annotated[Channel, Field(description="By which channel.")],
    choice: Annotated[Choice, Field(description="At once, in a digest, or never.")],
) -> PreferenceView:
    """Choose how a person is told of a category by a channel."""
    check_category("category", category)
    if not category_of(category).is_mutable and choice is not Choice.NOW:
        raise Invalid("category", f"{category} always comes at once: nobody can turn it off")
    if channel is Channel.INBOX and choice is Choice.DIGEST:
        raise Invalid("choice", "the inbox has no digest: it never rings")
    with call.writing() as tx:
        person_of(tx, call.org, user_id)
        since = people.choose(tx, call.org, user_id, category, channel, choice)
        if since is None:
            raise Conflict(f"category: the person has {people.MOST_PREFERENCES} preferences already")
        facts = {"user_id": str(user_id), "category": category, "channel": channel.value, "choice": choice.value}
        call.audit(tx, call.org, facts)
    return PreferenceView(category=category, channel=channel, choice=choice, changed_at=since)


@PREFERENCES.look("quiet-hours", Route("GET", "/users/{user_id}/quiet-hours"))
def show_quiet_hours(call: Call, user_id: UUID) -> QuietHoursView:
    """Show when nothing may ring for a person."""
    with call.reading() as tx:
        person = person_of(tx, call.org, user_id)
        return _quiet(person, person.quiet, _now(tx))


@PREFERENCES.deed("set-quiet-hours", Route("PUT", "/users/{user_id}/quiet-hours"), events=("quiet_hours.set",))
def set_quiet_hours(
    call: Call,
    user_id: UUID,
    *,
    begin: Annotated[
        str | None, Field(max_length=20, description="Such as 22:00; without both, there are none.")
    ] = None,
    end: Annotated[str | None, Field(max_length=20, description="Such as 07:00.")] = None,
) -> QuietHoursView:
    """Set or remove a person's quiet hours, by the clock of their zone. What waits then comes when they end."""
    if (begin is None) is not (end is None):
        raise Invalid("end" if end is None else "begin", "is missing: quiet hours have a begin and an end")
    quiet = None if begin is None or end is None else quiet_hours(begin, end)
    with call.writing() as tx:
        person = person_of(tx, call.org, user_id)
        people.set_quiet_hours(tx, call.org, user_id, quiet)
        call.audit(tx, call.org, {"user_id": str(user_id), "begin": begin, "end": end})
        return _quiet(person, quiet, _now(tx))


@CONTACT_POINTS.look("list", Route("GET", "/users/{user_id}/contact-points"))
def list_contact_points(call: Call, window: Window, user_id: UUID) -> Page[ContactView]:
    """List a person's addresses and devices, the oldest first: the first good one of a channel is used."""
    with call.reading() as tx:
        person_of(tx, call.org, user_id)
        return window.records(tx, "list_contact_points", ContactView, org_id=call.org, user_id=user_id)


@CONTACT_POINTS.deed(
    "add", Route("POST", "/users/{user_id}/contact-points", status=201), events=("contact_point.added",)
)
def add_contact_point(
    call: Call,
    user_id: UUID,
    *,
    channel: Annotated[Channel, Field(description="email, sms or push.")],
    address: Annotated[str, Field(max_length=4096, description="A mail address, a number, or a device's token.")],
) -> ContactView:
    """Add a device, which only its own app can name, or an address: a code is sent to it, unless one was just now."""
    written, is_device = checked_contact(channel, address), channel is Channel.PUSH
    with call.writing() as tx:
        person_of(tx, call.org, user_id)
        added = people.add_contact(tx, call.org, user_id, channel, written, is_verified=is_device)
        if added is None:
            raise Conflict(f"address: the person has {people.MOST_CONTACTS} contact points already")
        if added.verified_at is None:
            _send_code(tx, call, added)
        call.audit(tx, call.org, _facts(added))
    return ContactView.model_validate(added)


@CONTACT_POINTS.deed(
    "send-code", Route("POST", "/users/{user_id}/contact-points/{contact_id}/code"), events=("contact_point.code_sent",)
)
def send_code(call: Call, user_id: UUID, contact_id: UUID) -> ContactView:
    """Send another code to an address that is not verified; the earlier one is good no more."""
    with call.writing() as tx:
        found = people.contact(tx, call.org, contact_id, user_id=user_id)
        if found.verified_at is not None:
            raise Conflict("contact_id: the address is verified")
        if not _send_code(tx, call, found):
            raise Conflict(
                f"contact_id: a code was sent to it within the last minute, or {people.MOST_CODES_A_DAY} within a day"
            )
        call.audit(tx, call.org, _facts(found))
    return ContactView.model_validate(found)


@CONTACT_POINTS.deed(
    "verify",
    Route("POST", "/users/{user_id}/contact-points/{contact_id}/verify"),
    events=("contact_point.verified", "contact_point.refused"),
)
def verify_contact_point(
    call: Call,
    user_id: UUID,
    contact_id: UUID,
    *,
    code: Annotated[str, Field(pattern="^[0-9]{6}$", description="The six digits that were sent to it.")],
) -> ContactView:
    """Verify an address by its code. A code is good for 15 minutes and five tries."""
    with call.writing() as tx:
        known = people.contact(tx, call.org, contact_id, user_id=user_id)
        verified = known if known.verified_at else people.try_code(
            tx, call.org, contact_id, _hash(call.org, code), most_tries=MOST_TRIES
        )  # fmt: skip
        # The try counts, whatever is answered.
        event = "contact_point.verified" if verified else "contact_point.refused"
        call.audit(tx, call.org, _facts(known), event=event)
    if verified is None:
        raise Invalid("code", "is not the code that was sent to the address, or is good no more")
    return ContactView.model_validate(verified)


@CONTACT_POINTS.deed(
    "allow",
    Route("POST", "/users/{user_id}/contact-points/{contact_id}/allow"),
    role=Role.OPERATOR,
    events=("contact_point.allowed",),
)
def allow_contact_point(call: Call, user_id: UUID, contact_id: UUID) -> ContactView:
    """Write again to an address that was suppressed, as after its person has said START."""
    with call.writing() as tx:
        found = people.contact(tx, call.org, contact_id, user_id=user_id)
        people.lift(tx, call.org, contact_id)
        call.audit(tx, call.org, _facts(found) | {"suppressed_for": found.suppressed_for})
        return ContactView.model_validate(people.contact(tx, call.org, contact_id))


@CONTACT_POINTS.deed(
    "remove", Route("DELETE", "/users/{user_id}/contact-points/{contact_id}"), events=("contact_point.removed",)
)
def remove_contact_point(call: Call, user_id: UUID, contact_id: UUID) -> ContactView:
    """Remove an address or a device, as when its person signs out there."""
    with call.writing() as tx:
        removed = people.remove_contact(tx, call.org, user_id, contact_id)
        call.audit(tx, call.org, _facts(removed))
    return ContactView.model_validate(removed)


def person_of(tx: Transaction, org_id: UUID, user_id: UUID) -> PersonToNotify:
    """A person of the org; raises `Gone`."""
    found = people.person(tx, org_id, user_id)
    if found is None:
        raise Gone(f"user_id: the org has nobody of the id {user_id}")
    return found


def _now(tx: Transaction) -> datetime:
    now: datetime = tx.raw("select now() as now")[0].now
    return now


def _quiet(person: PersonToNotify, quiet: QuietHours | None, now: datetime) -> QuietHoursView:
    if quiet is None:
        return QuietHoursView(begin=None, end=None, zone=person.zone, quiet_until=None)
    begin, end = (time.strftime("%H:%M") for time in (quiet.begin, quiet.end))
    return QuietHoursView(begin=begin, end=end, zone=person.zone, quiet_until=quiet.until(now, person.zone))


def _send_code(tx: Transaction, call: Call, contact: ContactPoint) -> bool:
    """Send a code to the address alone; false when a code was sent just before, or too many today."""
    code = f"{secrets.randbelow(1_000_000):06}"
    if not people.keep_code(tx, call.org, contact.contact_id, _hash(call.org, code), lasts=CODE_LASTS):
        return False
    minutes = int(CODE_LASTS.total_seconds() // 60)
    request = NotificationRequest(
        contact.user_id,
        VERIFICATION,
        {"code": code, "minutes": minutes},
        bucket=f"{contact.contact_id}:{secrets.token_hex(4)}",
        channels=(contact.channel,),
        contact_id=contact.contact_id,
    )
    notifications.notify(tx, call.org, request, by=call.origin)
    return True


def _hash(org_id: UUID, code: str) -> bytes:
    return hashlib.sha256(org_id.bytes + code.encode()).digest()


def _facts(contact: ContactPoint) -> JsonObject:
    """What the audit log keeps: the address is a person's, and stands in its row alone."""
    return {
        "contact_id": str(contact.contact_id),
        "user_id": str(contact.user_id),
        "channel": contact.channel.value,
    }
