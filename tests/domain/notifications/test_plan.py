"""What becomes of a notification, for every preference, address and clock."""

from datetime import UTC, datetime, time, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.notifications.channels import ADDRESSED, CHOSEN_TIME, Channel, Choice, category_of
from domain.notifications.plan import (
    Contact,
    DigestItem,
    InboxLine,
    NotificationFacts,
    PersonToNotify,
    Reason,
    Send,
    Suppressed,
    before_call,
    plan,
)
from domain.notifications.quiet_hours import QuietHours

NOW = datetime(2026, 11, 24, 23, 0, tzinfo=UTC)
MORNING = datetime(2026, 11, 25, 6, 0, tzinfo=UTC)
"""Seven o'clock in Berlin."""
CHANNELS = st.sets(st.sampled_from(Channel), min_size=1).map(tuple)
CONTACTS = st.lists(
    st.builds(
        Contact,
        st.uuids(),
        st.sampled_from(ADDRESSED),
        st.booleans(),
        st.sampled_from([None, None, "bounce"]),
    ),
    max_size=6,
    unique_by=lambda one: one.contact_id,
)
PEOPLE = st.builds(
    PersonToNotify,
    zone=st.sampled_from(["Europe/Berlin", "UTC", "Pacific/Apia"]),
    quiet=st.sampled_from([None, QuietHours(time(22), time(7)), QuietHours(time(12), time(13))]),
    choices=st.dictionaries(st.tuples(st.just("bookings"), st.sampled_from(Channel)), st.sampled_from(Choice)),
    contacts=CONTACTS,
)
MESSAGES = st.builds(
    NotificationFacts,
    category=st.sampled_from(["bookings", "security", "account", "reminder"]).map(category_of),
    channels=CHANNELS,
    said_by=CHANNELS.map(frozenset),
    unsayable=st.sampled_from([frozenset(), frozenset({Channel.SMS})]),
    asked_at=st.timedeltas(timedelta(0), timedelta(days=4)).map(lambda age: NOW - age),
    max_age=st.sampled_from([timedelta(hours=1), timedelta(days=3)]),
    digest_every=st.just(timedelta(hours=1)),
    due_at=st.none() | st.timedeltas(timedelta(0), timedelta(hours=1)).map(lambda late: NOW - late),
)
SENDERS = st.sets(st.sampled_from(ADDRESSED)).map(frozenset)


@given(MESSAGES, PEOPLE, SENDERS)
def test_each_channel_that_was_asked_for_is_answered_and_each_address_at_most_once(
    message: NotificationFacts, person: PersonToNotify, senders: frozenset[Channel]
) -> None:
    planned = plan(message, person, senders, NOW)
    named = [Channel.INBOX if isinstance(one, InboxLine) else one.channel for one in planned]
    assert set(named) == set(message.channels)
    sent = [one for one in planned if isinstance(one, Send)]
    assert len({one.contact_id for one in sent}) == len(sent)
    for channel in (Channel.EMAIL, Channel.SMS, Channel.INBOX):
        assert named.count(channel) <= 1, "a letter or a text goes to one address"
    assert all(named.count(one.channel) == 1 for one in planned if isinstance(one, DigestItem))
    known = {one.contact_id: one for one in person.contacts}
    for one in sent:
        contact = known[one.contact_id]
        assert contact.is_verified
        assert contact.suppressed_for is None
        assert contact.channel is one.channel
        assert one.channel in senders & message.said_by - message.unsayable


@given(MESSAGES, PEOPLE, SENDERS)
def test_nothing_rings_in_quiet_hours_but_what_passes_them(
    message: NotificationFacts, person: PersonToNotify, senders: frozenset[Channel]
) -> None:
    for one in plan(message, person, senders, NOW):
        if isinstance(one, Send | DigestItem):
            quiet = person.quiet.until(one.at, person.zone) if person.quiet else None
            assert quiet is None or message.category.rings_in_quiet_hours(message.late_at(one.at))
        if isinstance(one, Send):
            assert one.at - message.asked_at <= message.max_age


@pytest.mark.parametrize("late_by", [-1, 0, 1])
@pytest.mark.parametrize(
    ("category", "if_late"), [("reminder", MORNING), ("security", NOW), ("account", MORNING), ("bookings", MORNING)]
)
def test_only_security_rings_in_quiet_hours_long_after_its_time(category: str, late_by: int, if_late: datetime) -> None:
    number = Contact(UUID(int=1), Channel.SMS, is_verified=True)
    person = PersonToNotify("Europe/Berlin", QuietHours(time(22), time(7)), {}, [number])
    channels = (Channel.SMS,)
    message = NotificationFacts(
        category_of(category),
        channels,
        frozenset(channels),
        frozenset(),
        NOW,
        timedelta(days=1),
        timedelta(hours=1),
        due_at=NOW - CHOSEN_TIME - timedelta(seconds=late_by),
    )
    at = NOW if category == "reminder" and late_by <= 0 else if_late
    assert plan(message, person, frozenset(channels), NOW) == (Send(Channel.SMS, number.contact_id, at),)
    assert before_call(message, person, number.contact_id, NOW) == Send(Channel.SMS, number.contact_id, at)


@given(MESSAGES, PEOPLE, SENDERS)
def test_what_is_off_is_not_sent_and_what_cannot_be_off_is(
    message: NotificationFacts, person: PersonToNotify, senders: frozenset[Channel]
) -> None:
    off = {channel for (_, channel), choice in person.choices.items() if choice is Choice.OFF}
    for one in plan(message, person, senders, NOW):
        channel = Channel.INBOX if isinstance(one, InboxLine) else one.channel
        if message.category.name == "bookings" and channel in off:
            assert isinstance(one, Suppressed)
        if not message.category.is_mutable:
            assert not isinstance(one, DigestItem)
            assert not (isinstance(one, Suppressed) and one.reason is Reason.TURNED_OFF)


@given(MESSAGES, PEOPLE, SENDERS)
def test_a_message_that_was_planned_for_now_may_go_now(
    message: NotificationFacts, person: PersonToNotify, senders: frozenset[Channel]
) -> None:
    for one in plan(message, person, senders, NOW):
        if isinstance(one, Send):
            assert before_call(message, person, one.contact_id, NOW) == one


def test_an_address_that_is_gone_is_written_to_no_more() -> None:
    nobody = PersonToNotify("UTC", None, {}, [])
    message = NotificationFacts(
        category_of("bookings"),
        (Channel.SMS,),
        frozenset({Channel.SMS}),
        frozenset(),
        NOW,
        timedelta(days=1),
        timedelta(hours=1),
    )
    found = before_call(message, nobody, UUID(int=1), NOW)
    assert found == Suppressed(Channel.SMS, Reason.NO_ADDRESS, UUID(int=1))
