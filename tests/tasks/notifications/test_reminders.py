"""Reminders through their jobs: told once, whatever is done with one between its queue and its delivery."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from domain.jobs.job import NewJob, Origin
from domain.notifications.channels import Channel
from domain.notifications.reminders import CHANGED, NOT_FOUND, ReminderState, done, first_course, reworded, snoozed
from engine.relay.due_rows import DueRows
from operations.jobs import replays
from storage.jobs import ledger
from storage.notifications import people, reminders
from storage.notifications.reminders import WantedReminder
from tests.doubles.factories import make_org
from tests.doubles.told_people import ToldPeople, add_reminder

HOUR = timedelta(hours=1)


def enqueue(told: ToldPeople, payload: dict[str, Any]) -> UUID:
    """Enqueue under the name that the source document gives the job."""
    with told.process.database.ledger() as tx:
        job = NewJob("reminder_delivery", told.org_id, payload)
        (made,) = ledger.enqueue(tx, [job], publisher=False, hint_timeout=told.process.hint_timeout)
    return made.job_id


def output(told: ToldPeople, job_id: UUID) -> dict[str, Any]:
    row = told.database.execute("select output from jobs where id = %s", (job_id,)).fetchone()
    assert row is not None
    found: dict[str, Any] = row[0]
    return found


def queued_jobs(told: ToldPeople) -> list[UUID]:
    query = "select id from jobs where job_type = 'reminders.deliver' and state = 'queued' order by id"
    return [row[0] for row in told.database.execute(query)]


def test_ac_20_reminder_delivery_handler(told: ToldPeople) -> None:
    """The handler tells the person, marks the reminder as sent, and computes its next time (docs: seeds.md#003-47)."""
    once, daily = told.remind(), told.remind(rule="FREQ=DAILY")
    for reminder_id in (once, daily):
        job_id = enqueue(told, {"reminder_id": str(reminder_id), "user_id": str(told.user_id)})
        assert told.run(job_id) == "succeeded"
        assert output(told, job_id) == {"delivered": True, "reminder_id": str(reminder_id)}
    told.run_due()
    assert told.inbox() == ["Reminder: Call the garage"] * 2
    assert told.reminder(once).course.state is ReminderState.SENT
    following = told.reminder(daily).course
    assert following.state is ReminderState.PENDING
    assert following.due_at is not None
    assert following.due_at > datetime.now(UTC)
    rows = told.database.execute("select data, bucket, template from notifications order by asked_at").fetchall()
    assert {(row[0]["title"], row[0]["body"], row[2]) for row in rows} == {
        ("Reminder: Call the garage", "Call the garage", "postroom.reminder")
    }
    assert [row[0]["metadata"]["reminder_id"] for row in rows] == [str(once), str(daily)]
    assert told.database.execute("select distinct category from inbox_items").fetchall() == [("reminder",)]


def test_ac_22_reminders_enqueue(told: ToldPeople) -> None:
    """Each due reminder has one job, and one that is not due has none (docs: seeds.md#003-49)."""
    due = {told.remind() for _ in range(3)}
    told.remind(HOUR)
    for _ in range(2):
        assert DueRows(told.process, reminders).turn() is False
    rows = told.database.execute("select payload, idempotency_key from jobs where job_type = 'reminders.deliver'")
    found = rows.fetchall()
    assert {(UUID(row[0]["reminder_id"]), row[0]["user_id"], row[0]["occurrence"]) for row in found} == {
        (one, str(told.user_id), 1) for one in due
    }
    assert len(found) == 3
    assert {told.reminder(one).course.state for one in due} == {ReminderState.QUEUED}


@pytest.mark.parametrize("rule", [None, "FREQ=DAILY"])
def test_a_reminder_is_told_once_however_many_jobs_it_has(told: ToldPeople, rule: str | None) -> None:
    payload = {"reminder_id": str(told.remind(rule=rule)), "user_id": str(told.user_id)}
    for _ in range(2):
        enqueue(told, payload)
    assert sorted("delivered" in one for one in told.let_ring()) == [False, False, True]
    assert told.inbox() == ["Reminder: Call the garage"]


def test_a_reminder_that_is_not_there_is_skipped_with_the_reason(told: ToldPeople) -> None:
    reminder_id, stranger = told.remind(), make_org(told.database, "another")
    row = told.database.execute(
        "insert into users (org_id, email) values (%s, 'x@example.com') returning id", (stranger,)
    ).fetchone()
    assert row is not None
    theirs = add_reminder(told.process, stranger, row[0], -HOUR)
    for named, user in ((uuid4(), told.user_id), (reminder_id, uuid4()), (theirs, row[0])):
        job_id = enqueue(told, {"reminder_id": str(named), "user_id": str(user)})
        assert told.run(job_id) == "succeeded"
        assert output(told, job_id) == {"skipped": True, "reason": NOT_FOUND}


def change(told: ToldPeople, reminder_id: UUID, act: str) -> None:
    """Do what a person may do with a reminder."""
    now = datetime.now(UTC)
    with told.process.database.ledger() as tx:
        found = reminders.take(tx, reminder_id)
        assert found is not None
        wanted = WantedReminder(found.title, found.body, found.timing)
        match act:
            case "reworded":
                reminders.change(tx, found, wanted._replace(title="Sell the car"), reworded(found))
            case "moved":
                timing = replace(found.timing, starts_local=(now + HOUR).replace(tzinfo=None))
                course = first_course(timing, now)
                reminders.change(tx, found, wanted._replace(timing=timing), course, anew=True)
            case "snoozed":
                reminders.change(tx, found, wanted, snoozed(found, now + HOUR, now))
            case "done":
                reminders.change(tx, found, wanted, done(found, now))
            case "deleted":
                reminders.remove(tx, reminder_id)


@pytest.mark.parametrize(
    ("act", "reason", "later"),
    [
        ("reworded", CHANGED, ["Reminder: Sell the car"]),
        ("moved", CHANGED, []),
        ("snoozed", CHANGED, []),
        ("done", "the reminder is done", []),
        ("deleted", NOT_FOUND, []),
    ],
)
def test_what_is_done_between_queue_and_delivery_counts(
    told: ToldPeople, act: str, reason: str, later: list[str]
) -> None:
    reminder_id = told.remind()
    DueRows(told.process, reminders).turn()
    (job_id,) = queued_jobs(told)
    change(told, reminder_id, act)
    assert told.run(job_id) == "succeeded"
    assert output(told, job_id) == {"skipped": True, "reason": reason}
    assert told.inbox() == []
    told.let_ring()
    assert told.inbox() == later, "the words that were changed last are said, and once"


def test_a_snoozed_reminder_rings_again_at_its_time(told: ToldPeople) -> None:
    reminder_id = told.remind(rule="FREQ=DAILY")
    told.let_ring()
    change(told, reminder_id, "snoozed")
    regular = told.reminder(reminder_id).course.following_at
    told.database.execute("update reminders set due_at = now() - interval '1 s'")
    told.let_ring()
    assert told.inbox() == ["Reminder: Call the garage"] * 2
    assert told.reminder(reminder_id).course.due_at == regular


def test_missed_due_times_are_told_once_with_their_number(told: ToldPeople) -> None:
    told.remind(timedelta(days=-3, hours=-1), rule="FREQ=DAILY")
    told.let_ring()
    assert told.let_ring() == told.let_ring()
    bodies = told.database.execute("select body from inbox_items").fetchall()
    assert bodies == [("Call the garage\n\n3 missed",)]


def test_a_reminder_keeps_its_zone_when_its_person_moves(told: ToldPeople) -> None:
    reminder_id = told.remind(zone="Asia/Tokyo", rule="FREQ=DAILY")
    told.database.execute("update users set zone = 'America/New_York'")
    before = told.reminder(reminder_id)
    told.let_ring()
    after = told.reminder(reminder_id)
    assert before.course.due_at is not None
    assert after.course.due_at == before.course.due_at + timedelta(days=1)


def test_a_notification_that_was_refused_is_tried_again(told: ToldPeople) -> None:
    reminder_id = told.remind()
    told.database.execute("update job_types set name = 'notifications.gone' where name = 'notifications.deliver'")
    DueRows(told.process, reminders).turn()
    (job_id,) = queued_jobs(told)
    assert told.run(job_id) == "queued", "the attempt failed, and the job waits for the next one"
    assert told.reminder(reminder_id).course.state is ReminderState.QUEUED
    told.database.execute("update job_types set name = 'notifications.deliver' where name = 'notifications.gone'")
    assert told.run(job_id) == "succeeded"
    told.run_due()
    assert told.inbox() == ["Reminder: Call the garage"]


@pytest.mark.parametrize("end", ["canceled", "dead"])
def test_a_job_that_ends_without_ringing_ends_no_series(told: ToldPeople, end: str) -> None:
    once, daily = told.remind(), told.remind(rule="FREQ=DAILY")
    regular = told.reminder(daily).course.following_at
    DueRows(told.process, reminders).turn()
    for job_id in queued_jobs(told):
        end_job(told, job_id, end)
    went_on = told.reminder(daily)
    assert (went_on.course.state, went_on.course.due_at) == (ReminderState.PENDING, regular)
    assert went_on.occurrence == 2
    kept = {"canceled": ReminderState.CANCELED, "dead": ReminderState.QUEUED}
    assert told.reminder(once).course.state is kept[end], "a dead letter can be replayed, and rings then"
    assert told.inbox() == []


def end_job(told: ToldPeople, job_id: UUID, end: str) -> None:
    """End a waiting job without running its handler."""
    if end == "canceled":
        with told.process.database.ledger() as tx:
            ledger.cancel(tx, [job_id], "nobody wants it", by=Origin())
        return
    told.database.execute('update jobs set payload = payload || \'{"user_id": "x"}\' where id = %s', (job_id,))
    assert told.run(job_id) == "dead"


@pytest.mark.parametrize(("late", "texts"), [(timedelta(minutes=14), 1), (timedelta(minutes=16), 0)])
def test_a_late_reminder_does_not_ring_in_quiet_hours(told: ToldPeople, late: timedelta, texts: int) -> None:
    """No worker ran at its time, which the person chose; the later time nobody did."""
    told.add_contact(Channel.SMS, "+4930123456")
    told.be_quiet(-HOUR, HOUR)
    told.remind(-late)
    told.let_ring()
    assert (len(told.texts()), told.inbox()) == (texts, ["Reminder: Call the garage"])
    with told.process.database.ledger() as tx:
        people.set_quiet_hours(tx, told.org_id, told.user_id, None)
    told.hurry()
    told.run_due()
    assert len(told.texts()) == 1


def test_a_reminder_whose_dead_letter_is_discarded_is_canceled(told: ToldPeople) -> None:
    discarded, replayable = told.remind(), told.remind()
    DueRows(told.process, reminders).turn()
    for job_id in queued_jobs(told):
        end_job(told, job_id, "dead")
    with told.process.database.ledger() as tx:
        row = tx.raw("select id from dead_letters where payload ->> 'reminder_id' = %(id)s", {"id": str(discarded)})
        replays.discard(tx, row[0].id, by=Origin(), reason="not needed")
    found = told.reminder(discarded)
    assert (found.course.state, found.is_over) == (ReminderState.CANCELED, True)
    assert told.reminder(replayable).course.state is ReminderState.QUEUED


def test_a_removed_person_is_reminded_of_nothing(told: ToldPeople) -> None:
    told.remind()
    DueRows(told.process, reminders).turn()
    told.database.execute("delete from users where id = %s", (told.user_id,))
    assert told.let_ring() == [{"skipped": True, "reason": NOT_FOUND}]


def test_reminders_that_are_long_over_are_forgotten(told: ToldPeople) -> None:
    old, kept, coming = told.remind(), told.remind(), told.remind(HOUR)
    told.let_ring()
    told.database.execute("update reminders set changed_at = now() - interval '91 days' where id <> %s", (kept,))
    with told.process.database.ledger() as tx:
        assert reminders.RETENTION.forget(tx) == 1
    assert told.database.execute("select count(*) from reminders where id = %s", (old,)).fetchone() == (0,)
    assert {told.reminder(one).occurrence for one in (kept, coming)} == {1, 2}
