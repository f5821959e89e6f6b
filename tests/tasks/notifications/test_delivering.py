"""What becomes of a notification: sent, shown, collected, late, or not at all and why."""

from datetime import datetime, timedelta
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest

from domain.jobs.failures import Forbidden
from domain.notifications.channels import Channel, Choice
from storage.notifications import inbox, notifications, people
from storage.notifications.notifications import NotificationRequest
from tests.doubles.told_people import DATA, ToldPeople, states

NUMBER = "+4930123456"
DIGEST_TEXTS = {
    "subject": "{{ count }}",
    "text": "{{ category }}",
    "sms": "{{ count }}",
    "push": {"title": "{{ count }}", "body": "{{ category }}"},
    "inbox": None,
    "html": None,
    "sample": {"count": 3, "category": "bookings", "items": [{"title": "a", "body": "b"}], "more": 2},
}


def test_each_channel_gets_its_words(told: ToldPeople) -> None:
    told.add_contact(Channel.SMS, NUMBER)
    for device in ("device-1", "device-2"):
        told.add_contact(Channel.PUSH, device)
    found = told.tell(channels=(Channel.SMS, Channel.PUSH, Channel.INBOX))
    assert sorted((one.channel.value, one.state.value) for one in found) == [
        ("inbox", "delivered"),
        ("push", "handed_over"),
        ("push", "handed_over"),
        ("sms", "handed_over"),
    ]
    assert told.texts() == ["Stage 2 has changed"]
    assert {one["token"] for one in told.fcm.messages()} == {"device-1", "device-2"}
    assert told.inbox() == ["Stage 2"]


def test_the_same_is_told_once_within_seven_days(told: ToldPeople) -> None:
    told.add_contact(Channel.SMS, NUMBER)
    first, again = told.notify(), told.notify()
    assert (first.created, again.created) == (True, False)
    assert again.notification_id == first.notification_id
    told.run_due()
    assert told.notify().created is False, "a job that has ended keeps its key, too"
    others = [told.notify(bucket="day 2"), told.notify(data=DATA | {"what": "Stage 3"})]
    assert all(one.created for one in others)
    told.run_due()
    assert sorted(told.texts()) == ["Stage 2 has changed", "Stage 2 has changed", "Stage 3 has changed"]


def test_a_refused_request_leaves_the_callers_write_and_an_audit_event(told: ToldPeople) -> None:
    """A notification never fails the core write (docs: seeds.md#004-10)."""
    stranger = told.database.execute("insert into orgs (name) values ('another') returning id").fetchone()
    assert stranger is not None
    theirs = told.database.execute(
        "insert into users (org_id, email) values (%s, 'x@example.com') returning id", (stranger[0],)
    ).fetchone()
    assert theirs is not None
    bad = {
        "recipient_id": [
            NotificationRequest(uuid4(), "booking", DATA),
            NotificationRequest(theirs[0], "booking", DATA),
        ],
        "template": [NotificationRequest(told.user_id, "nothing", DATA)],
        "data": [NotificationRequest(told.user_id, "booking", {"what": "x" * 17_000})],
        "bucket": [NotificationRequest(told.user_id, "booking", DATA, bucket="x" * 201)],
        "channels": [NotificationRequest(told.user_id, "booking", DATA, channels=())],
    }
    with told.process.database.ledger() as tx:
        tx.raw("update orgs set name = 'renamed' where id = %(org)s", {"org": told.org_id})
        answers = {
            field: [notifications.notify(tx, told.org_id, one) for one in requests] for field, requests in bad.items()
        }
    for field, found in answers.items():
        assert all((one.refusal or "").startswith(f"{field}: ") and not one.created for one in found), field
    events = told.database.execute(
        "select count(*) from audit_entries where event = 'notification.refused' and org_id = %s", (told.org_id,)
    ).fetchone()
    assert events == (6,)
    assert told.database.execute("select name from orgs where id = %s", (told.org_id,)).fetchone() == ("renamed",)
    assert told.database.execute("select count(*) from notifications").fetchone() == (0,)


def test_a_ledger_that_knows_no_such_job_fails_no_write(told: ToldPeople) -> None:
    told.database.execute("update job_types set name = 'notifications.gone' where name = 'notifications.deliver'")
    refused = told.notify()
    assert refused.notification_id is None
    assert "job_type" in (refused.refusal or "")


def test_a_tenant_notifies_its_own_org_alone(told: ToldPeople) -> None:
    with told.process.database.tenant(told.org_id) as tx:
        assert notifications.notify(tx, told.org_id, NotificationRequest(told.user_id, "booking", DATA)).created
    with pytest.raises(Forbidden), told.process.database.tenant(uuid4()) as tx:
        notifications.notify(tx, told.org_id, NotificationRequest(told.user_id, "booking", DATA))


def test_what_is_not_sent_says_why(told: ToldPeople) -> None:
    told.add_contact(Channel.SMS, NUMBER, is_verified=False)
    told.add_contact(Channel.PUSH, "device-1")
    with told.process.database.ledger() as tx:
        people.suppress_address(tx, told.org_id, Channel.PUSH, "device-1", "unregistered")
    told.choose(Channel.INBOX, Choice.OFF)
    found = {one.channel.value: (one.state.value, one.reason) for one in told.tell()}
    assert found == {
        "email": ("suppressed", "no_sender"),
        "sms": ("suppressed", "unverified"),
        "push": ("suppressed", "suppressed"),
        "inbox": ("suppressed", "turned_off"),
    }
    assert (told.texts(), told.fcm.messages(), told.inbox()) == ([], [], [])


def test_words_that_cannot_be_said_on_a_channel_keep_no_other_back(told: ToldPeople) -> None:
    told.add_contact(Channel.SMS, NUMBER)
    found = {one.channel.value: one for one in told.tell(data={"what": " ", "who": "Ada"})}
    assert found["inbox"].reason == "unsayable: inbox.title: says nothing"
    assert found["sms"].state == "handed_over"


def test_a_text_message_that_is_too_long_is_sent_in_part(told: ToldPeople) -> None:
    told.add_contact(Channel.SMS, NUMBER)
    found = {one.channel.value: one for one in told.tell(data={"what": "x" * 900, "who": "Ada"})}
    assert found["sms"].state == "handed_over"
    assert [text.endswith("xx...") for text in told.texts()] == [True]


def test_a_value_that_the_data_lacks_is_named(told: ToldPeople) -> None:
    found = {one.channel.value: one.reason for one in told.tell(data={"what": "Stage 2"})}
    assert found["inbox"] == "unsayable: inbox.body: 'who' is undefined (line 1)"


def test_quiet_hours_hold_back_what_rings_and_nothing_else(told: ToldPeople) -> None:
    told.add_contact(Channel.SMS, NUMBER)
    told.be_quiet(timedelta(minutes=-5), timedelta(hours=8))
    found = told.tell()
    assert states(found)["sms"] == "queued"
    assert (told.texts(), told.inbox()) == ([], ["Stage 2"])
    told.hurry()
    told.run_due()
    assert told.texts() == [], "whatever lets the job run early, it looks at the clock right before the call"
    with told.process.database.ledger() as tx:
        people.set_quiet_hours(tx, told.org_id, told.user_id, None)
    told.hurry()
    told.run_due()
    assert told.texts() == ["Stage 2 has changed"]


def test_who_moves_to_another_zone_while_it_waits_is_not_woken(told: ToldPeople) -> None:
    """novu#2808: the zone is read anew before each call."""
    told.add_contact(Channel.SMS, NUMBER)
    told.be_quiet(timedelta(minutes=-5), timedelta(hours=1))
    told.tell()
    told.database.execute("update users set zone = 'Atlantic/Azores'")
    offset = datetime.now(ZoneInfo("Atlantic/Azores")).utcoffset() or timedelta(0)
    told.be_quiet(offset - timedelta(minutes=30), offset + timedelta(minutes=30))
    told.hurry()
    told.run_due()
    assert told.texts() == []
    told.database.execute("update users set zone = 'Asia/Tokyo'")
    told.hurry()
    told.run_due()
    assert told.texts() == ["Stage 2 has changed"]


def test_what_waits_says_the_words_that_were_decided_and_keeps_them_until_it_is_taken(told: ToldPeople) -> None:
    told.save(sms="Open until {{ at | date: '%H:%M' }}", sample=DATA | {"at": "2026-11-24T09:00:00Z"})
    told.add_contact(Channel.SMS, NUMBER)
    told.be_quiet(timedelta(minutes=-5), timedelta(hours=8))
    told.tell(data=DATA | {"at": "2026-11-24T09:00:00Z"}, channels=(Channel.SMS,))
    kept = "select said #>> '{words,body}' from deliveries"
    assert told.database.execute(kept).fetchall() == [("Open until 09:00",)]
    told.database.execute("update users set zone = 'Asia/Tokyo'")
    with told.process.database.ledger() as tx:
        people.set_quiet_hours(tx, told.org_id, told.user_id, None)
    told.hurry()
    told.run_due()
    assert told.texts() == ["Open until 09:00"]
    assert told.database.execute(kept).fetchall() == [(None,)]


def test_a_digest_that_cannot_be_said_says_why_and_is_closed(told: ToldPeople) -> None:
    told.add_contact(Channel.SMS, NUMBER)
    told.choose(Channel.SMS, Choice.DIGEST)
    for number in range(2):
        told.notify(bucket=str(number), channels=(Channel.SMS,))
    told.run_due()
    spoilt = 'update notification_templates set document = document || \'{"sms": "{{ nothing }}"}\''
    told.save("postroom.digest", category="account", **DIGEST_TEXTS)
    told.database.execute(spoilt)
    told.hurry()
    assert told.run_due() == [("notifications.close_digest", "succeeded")]
    found = told.database.execute("select state, reason from deliveries").fetchall()
    assert (found, told.texts()) == ([("suppressed", "unsayable")] * 2, [])


def test_security_passes_quiet_hours_and_preferences(told: ToldPeople) -> None:
    told.save("code", category="security")
    told.add_contact(Channel.SMS, NUMBER)
    told.be_quiet(timedelta(minutes=-5), timedelta(hours=8))
    told.choose(Channel.SMS, Choice.OFF, "security")
    assert states(told.tell(name="code"))["sms"] == "handed_over"


def test_what_is_too_old_is_not_sent(told: ToldPeople) -> None:
    told.save("news", max_age_s=3600)
    told.add_contact(Channel.SMS, NUMBER)
    asked = told.notify("news")
    assert asked.notification_id is not None
    told.run_due("notifications.deliver")
    told.database.execute("update notifications set asked_at = asked_at - interval '2 hours'")
    told.run_due()
    assert states(told.deliveries(asked.notification_id))["sms"] == "expired"
    assert told.texts() == []


def test_a_category_that_was_turned_off_meanwhile_is_not_sent(told: ToldPeople) -> None:
    told.add_contact(Channel.SMS, NUMBER)
    asked = told.notify()
    assert asked.notification_id is not None
    told.run_due("notifications.deliver")
    told.choose(Channel.SMS, Choice.OFF)
    told.run_due()
    assert states(told.deliveries(asked.notification_id))["sms"] == "suppressed"


def test_the_digest_of_one_item_is_the_notification(told: ToldPeople) -> None:
    told.add_contact(Channel.SMS, NUMBER)
    told.choose(Channel.SMS, Choice.DIGEST)
    found = told.tell()
    assert states(found)["sms"] == "collected"
    told.hurry()
    told.run_due()
    assert told.texts() == ["Stage 2 has changed"]


def test_a_digest_collects_until_it_is_closed_and_is_sent_once(told: ToldPeople) -> None:
    told.add_contact(Channel.SMS, NUMBER)
    told.choose(Channel.SMS, Choice.DIGEST)
    asked = [told.notify(bucket=str(number)) for number in range(3)]
    told.run_due()
    told.hurry()
    assert told.run_due() == [("notifications.close_digest", "succeeded"), ("notifications.send_sms", "succeeded")]
    assert told.texts() == ["3 messages about bookings"]
    for one in asked:
        assert one.notification_id is not None
        assert "handed_over" in {found.state.value for found in told.deliveries(one.notification_id)}
    told.notify(bucket="later")
    told.run_due()
    told.hurry()
    told.run_due()
    assert told.texts() == ["3 messages about bookings", "Stage 2 has changed"], "a closed digest takes nothing in"


def test_a_removed_person_is_told_nothing(told: ToldPeople) -> None:
    told.notify()
    told.database.execute("delete from users where id = %s", (told.user_id,))
    assert told.run_due() == [("notifications.deliver", "canceled")]
    with told.process.database.ledger() as tx:
        assert inbox.after(tx, told.org_id, told.user_id, 0, limit=9) == []


def test_old_notifications_are_forgotten(told: ToldPeople) -> None:
    told.tell()
    told.notify(bucket="new")
    told.database.execute("update notifications set asked_at = now() - interval '91 days' where bucket = ''")
    with told.process.database.ledger() as tx:
        assert notifications.RETENTION.forget(tx) == 1
    assert told.inbox() == []
    assert told.database.execute("select bucket from notifications").fetchall() == [("new",)]
