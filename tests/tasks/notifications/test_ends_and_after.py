"""What comes after an end that was not the last word: replays, digests left open, switches between attempts."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from psycopg import connect

from domain.jobs.effects import Found
from domain.jobs.job import SYSTEM_ORG, Origin
from domain.notifications.channels import Channel, Choice
from domain.notifications.delivery import DeliveryState
from domain.notifications.sender import EmailProvider
from domain.payloads.maintenance import PurgeExpiredKeysPayload
from domain.payloads.notifications import CloseOverduePayload, SendPushPayload, SendSmsPayload
from domain.payloads.payload import Payload, jobs_of
from engine.context import JobContext
from operations.jobs import replays
from sandbox.emulator.fault_order import FaultOrder
from storage.jobs import ledger
from storage.notifications import channel_senders, notifications, people
from tasks.notifications.senders import sms_sending
from tests.doubles.email_orders import set_sender
from tests.doubles.factories import claim_one, make_org, pass_time
from tests.doubles.told_people import ToldPeople
from tests.waiting import until_a_lock_is_waited_for

NUMBER, OTHER_NUMBER = "+4930123456", "+4930123457"
FAULTS = {
    Channel.EMAIL: FaultOrder(operation="emails.send", status=422, body={"name": "validation_error", "message": "x"}),
    Channel.SMS: FaultOrder(operation="messages.create", status=403, body={"code": 21408, "message": "not permitted"}),
    Channel.PUSH: FaultOrder(operation="messages.send", status=403, reason="SENDER_ID_MISMATCH", message="mismatch"),
}


def address(told: ToldPeople, channel: Channel) -> None:
    """Let the person be reached by the channel, and no fault stand in the way."""
    if channel is Channel.EMAIL:
        set_sender(told.process, told.org_id, EmailProvider.RESEND)
    else:
        told.add_contact(channel, NUMBER if channel is Channel.SMS else "device-1")


def sent(told: ToldPeople) -> int:
    return len(told.texts()) + len(told.fcm.messages()) + len(told.resend.emails())


def column(told: ToldPeople, query: str) -> list[Any]:
    return [row[0] for row in told.database.execute(query.encode()).fetchall()]


def enqueue(told: ToldPeople, payload: Payload, org_id: UUID | None = None) -> UUID:
    with told.process.database.ledger() as tx:
        jobs = jobs_of([payload], org_id=org_id or told.org_id)
        (made,) = ledger.enqueue(tx, jobs, publisher=False, hint_timeout=timedelta(1))
    return made.job_id


def later(told: ToldPeople, span: timedelta = timedelta(minutes=3)) -> None:
    pass_time(told.database, span)
    told.hurry()
    told.run_due()


@pytest.mark.parametrize("channel", list(FAULTS))
def test_a_message_that_failed_is_sent_when_its_job_is_replayed(told: ToldPeople, channel: Channel) -> None:
    address(told, channel)
    for control in (told.resend, told.twilio, told.fcm):
        control.order(FAULTS[channel])
    told.notify(channels=(channel,))
    told.run_due()
    assert (column(told, "select state from deliveries"), sent(told)) == (["failed"], 0)
    (job_id,) = column(told, "select id from jobs where job_type like 'notifications.send_%'")
    with told.process.database.ledger() as tx:
        replays.retry(tx, job_id, by=Origin(), reason="the cause is gone")
    told.run_due()
    assert (column(told, "select state from deliveries"), sent(told)) == (["handed_over"], 1)


def test_a_digest_whose_closing_was_canceled_is_closed_all_the_same(told: ToldPeople) -> None:
    """By `notifications.close_overdue`."""
    told.add_contact(Channel.SMS, NUMBER)
    told.choose(Channel.SMS, Choice.DIGEST)
    told.notify(bucket="1", channels=(Channel.SMS,))
    told.run_due()
    with told.process.database.ledger() as tx:
        jobs = column(told, "select id from jobs where job_type = 'notifications.close_digest'")
        ledger.cancel(tx, jobs, "nobody wants it", by=Origin())
    told.notify(bucket="2", channels=(Channel.SMS,))
    told.run_due()
    told.database.execute("update digests set closes_at = now() - interval '11 minutes'")
    assert told.run(enqueue(told, CloseOverduePayload(), SYSTEM_ORG)) == "succeeded"
    told.run_due()
    assert told.texts() == ["2 messages about bookings"]


LATE_ITEM = """
with item as (
  insert into digest_items (org_id, digest_id, notification_id)
  select d.org_id, d.id, %(late)s from digests d returning notification_id
)
insert into deliveries (id, org_id, user_id, notification_id, channel, state, said)
select gen_random_uuid(), d.org_id, d.user_id, item.notification_id, d.channel, d.state, d.said
from deliveries d, item where d.state = 'collected' limit 1
"""


def test_an_item_that_comes_while_its_digest_is_put_into_words_is_in_it(told: ToldPeople, database_url: str) -> None:
    told.add_contact(Channel.SMS, NUMBER)
    told.choose(Channel.SMS, Choice.DIGEST)
    for number in range(2):
        told.notify(bucket=str(number), channels=(Channel.SMS,))
    late = told.notify(bucket="late", channels=(Channel.INBOX,)).notification_id
    told.run_due()
    told.hurry()
    (job_id,) = column(told, "select id from jobs where job_type = 'notifications.close_digest'")
    with ThreadPoolExecutor(1) as threads:
        with connect(database_url) as other:
            other.execute("select from digests for update")
            other.execute(LATE_ITEM, {"late": late})
            closing = threads.submit(told.run, job_id)
            until_a_lock_is_waited_for(told.database, describe="the job comes to its digest")
        assert closing.result() == "returned"
    told.hurry()
    told.run_due()
    assert told.texts() == ["3 messages about bookings"]


def collected(told: ToldPeople, items: int, contact: UUID, channel: Channel) -> None:
    """Put so many items into a digest, and remove an address while it is open."""
    told.choose(channel, Choice.DIGEST)
    for number in range(items):
        told.notify(bucket=str(number), channels=(channel,))
    told.run_due()
    with told.process.database.ledger() as tx:
        people.remove_contact(tx, told.org_id, told.user_id, contact)


@pytest.mark.parametrize(("items", "text"), [(1, "Stage 2 has changed"), (2, "2 messages about bookings")])
def test_an_address_that_is_removed_takes_no_open_digest_along(told: ToldPeople, items: int, text: str) -> None:
    contact = told.add_contact(Channel.SMS, NUMBER)
    told.add_contact(Channel.SMS, OTHER_NUMBER)
    collected(told, items, contact, Channel.SMS)
    told.hurry()
    told.run_due()
    assert [(one["to"], one["body"]) for one in told.twilio.messages()] == [(OTHER_NUMBER, text)]


def test_a_digest_rings_on_the_devices_that_there_are_when_it_closes(told: ToldPeople) -> None:
    gone = told.add_contact(Channel.PUSH, "device-1")
    for device in ("device-2", "device-3"):
        told.add_contact(Channel.PUSH, device)
    collected(told, 2, gone, Channel.PUSH)
    told.hurry()
    told.run_due()
    found = sorted((one["token"], one["notification"]["title"]) for one in told.fcm.messages())
    assert found == [(one, "2 messages about bookings") for one in ("device-2", "device-3")]


def test_a_digest_that_reaches_nobody_when_it_closes_says_why(told: ToldPeople) -> None:
    collected(told, 2, told.add_contact(Channel.SMS, NUMBER), Channel.SMS)
    told.hurry()
    assert told.run_due() == [("notifications.close_digest", "succeeded")]
    rows = told.database.execute("select state, reason from deliveries").fetchall()
    assert rows == [("suppressed", "no_address")] * 2
    assert told.texts() == []


def run_forget(told: ToldPeople) -> dict[str, Any]:
    """Run the housekeeping of all tables."""
    job_id = enqueue(told, PurgeExpiredKeysPayload(), SYSTEM_ORG)
    assert told.run(job_id) == "succeeded"
    ((output,),) = told.database.execute("select output from jobs where id = %s", (job_id,)).fetchall()
    found: dict[str, Any] = output
    return found


def test_what_would_be_too_old_in_a_digest_goes_by_itself(told: ToldPeople) -> None:
    told.save(max_age_s=900, digest_every_s=900)
    told.add_contact(Channel.SMS, NUMBER)
    told.choose(Channel.SMS, Choice.DIGEST)
    told.notify(channels=(Channel.SMS,))
    told.run_due()
    assert column(told, "select state from deliveries") == ["handed_over"]


def test_a_job_of_another_channel_sends_nothing_and_says_nothing_of_the_delivery(told: ToldPeople) -> None:
    """`notifications.send_push` has the id of a text message."""
    told.add_contact(Channel.SMS, NUMBER)
    asked = told.notify(channels=(Channel.SMS,))
    assert asked.notification_id is not None
    told.run_due("notifications.deliver")
    (delivery,) = told.deliveries(asked.notification_id)
    assert told.run(enqueue(told, SendPushPayload(delivery_id=delivery.delivery_id))) in {"failed", "dead"}
    assert (told.fcm.messages(), column(told, "select state from deliveries")) == ([], ["queued"])
    told.run_due()
    assert (len(told.texts()), column(told, "select state from deliveries")) == (1, ["handed_over"])


def test_a_key_that_another_job_holds_is_a_refusal(told: ToldPeople) -> None:
    first = told.notify()
    told.database.execute("delete from notifications where id = %s", (first.notification_id,))
    again = told.notify()
    assert again.notification_id is None
    assert again.refusal is not None
    assert "another job holds the key" in again.refusal
    assert column(told, "select count(*) from audit_log where event = 'notification.refused'") == [1]


def test_an_email_that_may_have_left_is_not_sent_after_it_was_switched_off(told: ToldPeople) -> None:
    address(told, Channel.EMAIL)
    told.resend.order(FaultOrder(operation="emails.send", drop="before"))
    told.notify(channels=(Channel.EMAIL,))
    told.run_due()
    told.choose(Channel.EMAIL, Choice.OFF)
    later(told)
    assert (column(told, "select state from deliveries"), sent(told)) == (["unknown"], 0)


def test_a_text_that_may_have_left_is_not_called_unsent_when_its_sender_is_removed(told: ToldPeople) -> None:
    told.add_contact(Channel.SMS, NUMBER)
    told.twilio.order(FaultOrder(operation="messages.create", drop="after"))
    told.notify(channels=(Channel.SMS,))
    told.run_due()
    with told.process.database.ledger() as tx:
        channel_senders.remove(tx, told.org_id, Channel.SMS)
    later(told)
    assert (column(told, "select state from deliveries"), len(told.texts())) == (["unknown"], 1)


def test_a_text_whose_callback_came_is_known_to_have_left(told: ToldPeople) -> None:
    """Its words are gone by then, so nobody could look for it."""
    told.add_contact(Channel.SMS, NUMBER)
    told.twilio.order(FaultOrder(operation="messages.create", drop="after"))
    told.notify(channels=(Channel.SMS,))
    told.run_due()
    ((delivery_id,),) = told.database.execute("select id from deliveries").fetchall()
    with told.process.database.ledger() as tx:
        notifications.advance(tx, delivery_id, DeliveryState.DELIVERED, provider_id="SM1")
    told.hurry()
    job = claim_one(told.process.database, enqueue(told, SendSmsPayload(delivery_id=delivery_id)))
    found = sms_sending.find_later(JobContext(told.process, job), delivery_id, sms_sending.key_of(delivery_id))
    assert found == Found({"provider_id": "SM1"})


def test_the_words_of_an_email_end_and_go_with_its_delivery(told: ToldPeople) -> None:
    address(told, Channel.EMAIL)
    told.resend.order(FaultOrder(operation="emails.send", status=429, body={"name": "rate_limit_exceeded"}))
    told.notify(channels=(Channel.EMAIL,))
    told.run_due()
    assert column(told, "select state from email_orders where is_notification") == ["queued"]
    told.choose(Channel.EMAIL, Choice.OFF)
    later(told, timedelta(minutes=20))
    assert column(told, "select state from email_orders") == ["canceled"]
    told.database.execute("delete from users where id = %s", (told.user_id,))
    assert column(told, "select count(*) from email_orders") == [0]


def test_a_locked_row_of_one_org_keeps_no_others_notifications(told: ToldPeople, database_url: str) -> None:
    told.tell()
    other = make_org(told.database, "other")
    person = "insert into users (org_id, email) values (%s, 'bob@example.org') returning id"
    ((user_id,),) = told.database.execute(person, (other,)).fetchall()
    told.database.execute(
        "insert into notifications (org_id, user_id, template, data, data_hash, bucket)"
        " values (%s, %s, 'booking', '{}', repeat('a', 64), '')",
        (other, user_id),
    )
    told.database.execute("update notifications set asked_at = now() - interval '91 days'")
    with connect(database_url) as holder:
        holder.execute("select from deliveries for no key update")
        output = run_forget(told)
        assert (output["notifications"], output["email_receipts"], output["orgs_put_off"]) == (1, 0, 1)
    assert column(told, "select org_id from notifications") == [told.org_id]
    assert run_forget(told)["notifications"] == 1


def test_a_batch_of_rows_that_a_tenant_has_locked_keeps_no_others_notifications(told: ToldPeople) -> None:
    other = make_org(told.database, "other")
    told.database.execute("insert into users (org_id, email) values (%s, 'bob@example.org')", (other,))
    told.database.execute(
        "insert into notifications (org_id, user_id, template, data, data_hash, bucket, asked_at)"
        " select org_id, id, 'booking', '{}', repeat('a', 64), n, now() - interval '91 days' * (1 + (org_id = %s)::int)"
        " from users, generate_series(1, %s) as n",
        (told.org_id, notifications.RETENTION.batch),
    )
    with told.process.database.tenant(told.org_id) as tx:
        tx.raw("select from notifications for no key update")
        assert run_forget(told)["notifications"] == notifications.RETENTION.batch
    assert column(told, "select distinct org_id from notifications") == [told.org_id]
