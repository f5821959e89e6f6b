"""Digests under concurrency: two events open one, an item that comes while it closes is not lost, closing is once."""

import threading
from datetime import UTC, datetime, timedelta
from uuid import UUID

from psycopg import Connection

from domain.notifications.channels import Channel
from domain.notifications.template import RenderedWords
from storage.notifications import digests, inbox, notifications, people
from storage.notifications.notifications import NotificationRequest
from storage.postgres.database import Database
from tests.doubles.told_people import DATA, ToldPeople
from tests.waiting import eventually

CLOSES_AT = datetime(2099, 1, 1, tzinfo=UTC)


def asked(told: ToldPeople, number: int) -> tuple[UUID, UUID, UUID]:
    with told.process.database.ledger() as tx:
        made = notifications.notify(
            tx, told.org_id, NotificationRequest(told.user_id, "booking", DATA, bucket=str(number))
        )
    assert made.notification_id is not None
    return told.org_id, told.user_id, made.notification_id


def waits_for_a_lock(database: Connection) -> bool:
    row = database.execute("select count(*) from pg_stat_activity where wait_event_type = 'Lock'").fetchone()
    return row is not None and row[0] > 0


def test_two_events_at_one_time_open_one_digest(told: ToldPeople) -> None:
    """Novu #2569, #3893: two in one second made two digests."""
    store = told.process.database
    first, second = asked(told, 1), asked(told, 2)
    found: list[UUID] = []
    with store.tenant(told.org_id) as tx:
        found.append(digests.join(tx, first, Channel.SMS, "bookings", CLOSES_AT).digest_id)
        other = threading.Thread(target=lambda: found.append(_join(store, second)))
        other.start()
        eventually(lambda: waits_for_a_lock(told.database), describe="the second waits for the first")
    other.join(10)
    assert len(found) == 2
    assert len(set(found)) == 1
    with store.tenant(told.org_id) as tx:
        assert set(digests.close(tx, told.org_id, found[0]) or ()) == {first[2], second[2]}


def _join(store: Database, notification: tuple[UUID, UUID, UUID]) -> UUID:
    with store.tenant(notification[0]) as tx:
        return digests.join(tx, notification, Channel.SMS, "bookings", CLOSES_AT).digest_id


def test_an_item_that_comes_while_the_digest_closes_is_in_this_or_the_next(told: ToldPeople) -> None:
    """Novu #12373: merged into a digest that was gone, an item was lost."""
    store = told.process.database
    one, late = asked(told, 1), asked(told, 2)
    digest_id = _join(store, one)
    taken: list[UUID] = []
    with store.tenant(told.org_id) as tx:
        assert digests.join(tx, late, Channel.SMS, "bookings", CLOSES_AT).digest_id == digest_id
        closer = threading.Thread(target=lambda: taken.extend(_close(store, told.org_id, digest_id)))
        closer.start()
        eventually(lambda: waits_for_a_lock(told.database), describe="who closes waits for who puts in")
    closer.join(10)
    assert set(taken) == {one[2], late[2]}
    after = asked(told, 3)
    assert _join(store, after) != digest_id


def _close(store: Database, org_id: UUID, digest_id: UUID) -> list[UUID]:
    with store.tenant(org_id) as tx:
        return list(digests.close(tx, org_id, digest_id) or ())


def test_a_digest_is_closed_once(told: ToldPeople) -> None:
    """The digest's job runs twice."""
    digest_id = _join(told.process.database, asked(told, 1))
    assert len(_close(told.process.database, told.org_id, digest_id)) == 1
    with told.process.database.tenant(told.org_id) as tx:
        assert digests.close(tx, told.org_id, digest_id) is None


def test_numbers_of_an_inbox_are_seen_in_their_order(told: ToldPeople) -> None:
    """A reader who has seen a number has seen all before it: the second writer waits for the first's end."""
    first, second, store = asked(told, 1), asked(told, 2), told.process.database
    numbers: list[int | None] = []
    with store.tenant(told.org_id) as tx:
        numbers.append(inbox.add(tx, first, "bookings", RenderedWords("a", "b")))
        other = threading.Thread(target=lambda: numbers.append(_add(store, second)))
        other.start()
        eventually(lambda: waits_for_a_lock(told.database), describe="the second waits for the first")
    other.join(10)
    assert numbers == [1, 2]
    assert _add(store, second) is None, "an item has one number"


def _add(store: Database, notification: tuple[UUID, UUID, UUID]) -> int | None:
    with store.tenant(notification[0]) as tx:
        return inbox.add(tx, notification, "bookings", RenderedWords("a", "b"))


def test_a_code_is_not_sent_twice_a_minute(told: ToldPeople) -> None:
    contact = told.add_contact(Channel.SMS, "+4930123457", is_verified=False)
    lasts = timedelta(minutes=15)
    with told.process.database.ledger() as tx:
        assert people.keep_code(tx, told.org_id, contact, b"1", lasts=lasts)
        assert not people.keep_code(tx, told.org_id, contact, b"2", lasts=lasts)
