"""Each message leaves once or never twice: lost answers, refusals, dead addresses, parked providers."""

from datetime import timedelta
from html import escape
from typing import Any

import pytest

from domain.mail.outgoing.outgoing_mail import AutomatedKind, machine_headers
from domain.notifications.channels import Channel, Choice
from domain.notifications.sender import EmailProvider
from sandbox.emulator.fault_order import FaultOrder
from storage.notifications import channel_senders, notifications
from tests.doubles.email_orders import set_sender
from tests.doubles.factories import pass_time
from tests.doubles.told_people import PUBLIC_URL, ToldPeople, states

NUMBER = "+4930123456"
LOST = FaultOrder(operation="messages.*", method="POST", drop="after")


def sms(told: ToldPeople, **more: Any) -> dict[str, tuple[str, str | None]]:  # noqa: ANN401 - fields of a request
    """Tell by SMS; where that stands and why."""
    told.add_contact(Channel.SMS, NUMBER)
    return {one.channel.value: (one.state.value, one.reason) for one in told.tell(channels=(Channel.SMS,), **more)}


def later(told: ToldPeople, minutes: int = 3) -> None:
    """Let some minutes pass, and run what is due then."""
    pass_time(told.database, timedelta(minutes=minutes))
    told.hurry()
    told.run_due()


def state_of(told: ToldPeople) -> tuple[str, str | None]:
    """Where the only delivery stands."""
    row = told.database.execute("select state, reason from deliveries").fetchall()
    assert len(row) == 1
    return row[0]


def test_a_text_whose_answer_was_lost_is_found_and_not_sent_again(told: ToldPeople) -> None:
    """send done, answer lost: the retry finds the message by number, time and body."""
    told.twilio.order(LOST)
    assert sms(told) == {"sms": ("queued", None)}
    told.hurry()
    told.run_due()
    assert state_of(told) == ("handed_over", None)
    assert len(told.texts()) == 1


def test_a_text_that_twilio_lists_late_is_waited_for(told: ToldPeople) -> None:
    told.twilio.order(LOST)
    told.twilio.hide_lists(1)
    sms(told)
    told.hurry()
    told.run_due()
    assert state_of(told) == ("queued", None), "not listed yet proves nothing"
    told.hurry()
    told.run_due()
    assert state_of(told) == ("handed_over", None)
    assert len(told.texts()) == 1


def test_a_text_that_nobody_can_find_ends_unknown_and_is_never_sent_again(told: ToldPeople) -> None:
    told.twilio.order(FaultOrder(operation="messages.create", drop="before"))
    sms(told)
    for _ in range(3):
        later(told)
    assert state_of(told) == ("unknown", "uncertain")
    assert told.texts() == []


def test_the_same_words_of_another_delivery_are_not_taken_for_these(told: ToldPeople) -> None:
    assert sms(told) == {"sms": ("handed_over", None)}
    told.twilio.order(FaultOrder(operation="messages.create", drop="before"))
    told.notify(bucket="again", channels=(Channel.SMS,))
    told.run_due()
    for _ in range(3):
        later(told)
    rows = told.database.execute("select state from deliveries order by state").fetchall()
    assert rows == [("handed_over",), ("unknown",)]


def suppressed_for(told: ToldPeople) -> str | None:
    row = told.database.execute("select suppressed_for from suppressions").fetchone()
    return None if row is None else str(row[0])


@pytest.mark.parametrize(
    ("refusal", "reason"), [("stopped", "stop"), ("invalid_to", "invalid"), ("landline", "invalid")]
)
def test_a_number_that_takes_no_texts_is_suppressed(told: ToldPeople, refusal: str, reason: str) -> None:
    told.twilio.refuse(NUMBER, refusal)
    assert sms(told)["sms"][0] == "failed"
    assert told.database.execute(
        "select (select suppressed_for from suppressions where channel = 'sms')"
    ).fetchone() == (reason,)
    told.notify(bucket="again", channels=(Channel.SMS,))
    told.run_due()
    assert len(told.twilio.journal("messages.create")) == 1, "nobody writes to it again"


@pytest.mark.parametrize(
    ("fault", "suppressed"),
    [
        (None, "unregistered"),
        ({"status": 404, "body": {"error": {"code": 404, "message": "Not Found", "status": "NOT_FOUND"}}}, None),
        ({"status": 400, "reason": "INVALID_ARGUMENT", "message": "Invalid value at 'message.android.ttl'"}, None),
        (
            {
                "status": 400,
                "reason": "INVALID_ARGUMENT",
                "message": "The registration token is not a valid FCM registration token",
            },
            "unregistered",
        ),
        ({"status": 403, "reason": "SENDER_ID_MISMATCH", "message": "SenderId mismatch"}, None),
    ],
    ids=["unregistered", "bare-404", "bad-request", "bad-token", "another-sender"],
)
def test_only_what_names_the_token_drops_a_device(
    told: ToldPeople, fault: dict[str, Any] | None, suppressed: str | None
) -> None:
    """action_push_native#141, hackerspub#251, noticed#195: clean-up on any error deleted living devices."""
    told.add_contact(Channel.PUSH, "device-1")
    if fault is None:
        told.fcm.set_device("device-1", "gone")
    else:
        told.fcm.order(FaultOrder(operation="messages.send", **fault))
    assert states(told.tell(channels=(Channel.PUSH,))) == {"push": "failed"}
    assert suppressed_for(told) == suppressed


@pytest.mark.parametrize(
    "doubtful",
    [
        LOST,
        FaultOrder(operation="messages.*", status=503, reason="UNAVAILABLE", after_execution=True),
        FaultOrder(operation="messages.*", status=503, reason="UNAVAILABLE", headers={"Retry-After": "9"}),
        FaultOrder(operation="messages.*", status=500, reason="INTERNAL"),
    ],
)
def test_a_push_in_doubt_is_sent_again_in_the_first_ones_place(told: ToldPeople, doubtful: FaultOrder) -> None:
    told.add_contact(Channel.PUSH, "device-1")
    told.fcm.order(doubtful)
    told.notify(channels=(Channel.PUSH,))
    told.run_due()
    later(told)
    later(told)
    assert state_of(told) == ("handed_over", None)
    sent = [one["android"]["notification"]["tag"] for one in told.fcm.messages()]
    assert len(sent) == 1 + (doubtful.drop == "after" or doubtful.after_execution)
    assert len(set(sent)) == 1


def test_a_retry_sends_only_to_the_device_that_has_nothing_yet(told: ToldPeople) -> None:
    """diplicity#1281: the retry of a batch sent to all of it."""
    for number in range(3):
        told.add_contact(Channel.PUSH, f"device-{number}")
    told.fcm.order(FaultOrder(operation="messages.send", status=429))
    told.notify(channels=(Channel.PUSH,))
    told.run_due()
    assert len(told.fcm.messages()) < 3
    later(told)
    assert sorted(one["token"] for one in told.fcm.messages()) == ["device-0", "device-1", "device-2"]


def test_the_largest_push_fits(told: ToldPeople) -> None:
    """FCM takes 4,096 bytes; an emoji has four, and twelve when JSON escapes it."""
    link = "https://example.com/" + "x" * 480
    told.save("large", push={"title": "{{ what }}", "body": "{{ what }}", "link": link}, sms=None, inbox=None)
    told.add_contact(Channel.PUSH, "d" * 200)
    told.tell(name="large", data={"what": "😀" * 3_000, "who": "Ada"}, channels=(Channel.PUSH,))
    (message,) = told.fcm.messages()
    assert message["notification"]["body"].endswith("😀…")
    assert message["data"] == {"link": link}


def test_a_push_lives_no_longer_than_its_message(told: ToldPeople) -> None:
    told.save("short", max_age_s=600)
    told.add_contact(Channel.PUSH, "device-1")
    told.tell(name="short", channels=(Channel.PUSH,))
    (message,) = told.fcm.messages()
    assert 590 <= int(message["android"]["ttl"].removesuffix("s")) <= 600
    assert message["android"]["notification"]["tag"] == message["apns"]["headers"]["apns-collapse-id"]


def test_a_parked_twilio_delays_no_push_and_new_credentials_let_texts_go(told: ToldPeople) -> None:
    told.add_contact(Channel.PUSH, "device-1")
    told.twilio.revoke()
    told.add_contact(Channel.SMS, NUMBER)
    assert states(told.tell(channels=(Channel.SMS, Channel.PUSH))) == {"push": "handed_over", "sms": "queued"}
    gates = told.database.execute("select scope, key, cause from gates").fetchall()
    assert gates == [("org_provider", f"{told.org_id}:twilio", "consent")]
    assert told.database.execute("select count(*) from jobs where job_type = 'deadletter.send_alert'").fetchone() == (
        1,
    )
    told.twilio.revoke(is_revoked=False)
    with told.process.database.ledger() as tx:
        channel_senders.choose(tx, told.org_id, Channel.SMS, from_name="+15005550006", secret="twilio", by="test")
    told.hurry()
    told.run_due()
    assert len(told.texts()) == 1


def test_what_was_sent_and_not_recorded_is_not_sent_again(told: ToldPeople) -> None:
    """granit#947: the send is done, the database refuses its record."""
    told.database.execute(
        "create function refuse() returns trigger language plpgsql as $$ begin raise exception 'full'; end $$;"
        "create trigger refuse before update on deliveries for each row when (new.state = 'handed_over')"
        " execute function refuse()"
    )
    sms(told)
    assert len(told.texts()) == 1
    told.database.execute("drop trigger refuse on deliveries")
    later(told)
    assert state_of(told) == ("handed_over", None)
    assert len(told.texts()) == 1


def test_an_email_has_both_bodies_its_frame_and_one_click(told: ToldPeople) -> None:
    set_sender(told.process, told.org_id, EmailProvider.RESEND)
    data = {"what": "Stage 2\r\nBcc: eve@example.net", "who": "<script>alert(1)</script>"}
    assert states(told.tell(data=data, channels=(Channel.EMAIL,))) == {"email": "handed_over"}
    (email,) = told.resend.emails()
    mail = email["mail"]
    assert mail["subject"] == "Stage 2 Bcc: eve@example.net has changed", "a value begins no header"
    headers = {name.lower(): value for name, value in mail["headers"].items()}
    url = headers["list-unsubscribe"].strip("<>")
    assert url.startswith(f"{PUBLIC_URL}/u/")
    assert headers["list-unsubscribe-post"] == "List-Unsubscribe=One-Click"
    assert headers["auto-submitted"] == "auto-generated"
    assert headers["x-auto-response-suppress"] == "All", "no autoresponder answers"
    assert url in mail["text"]
    assert f'href="{escape(url)}"' in mail["html"]
    assert "<script>" not in mail["html"]
    assert "&lt;script&gt;" in mail["html"]


def test_an_email_of_a_category_that_cannot_be_muted_offers_no_way_out(told: ToldPeople) -> None:
    set_sender(told.process, told.org_id, EmailProvider.RESEND)
    told.save("reset", category="security")
    told.tell(name="reset", channels=(Channel.EMAIL,))
    (email,) = told.resend.emails()
    assert "list-unsubscribe" not in {name.lower() for name in email["mail"].get("headers", {})}
    assert "/u/" not in email["mail"]["text"]


def test_an_email_whose_answer_was_lost_is_sent_once(told: ToldPeople) -> None:
    set_sender(told.process, told.org_id, EmailProvider.RESEND)
    told.resend.order(FaultOrder(operation="emails.send", drop="after"))
    told.notify(channels=(Channel.EMAIL,))
    assert told.run_due()[-1] == ("notifications.send_email", "queued")
    told.save(subject="Other words {{ what }}")
    later(told, 1)
    assert state_of(told) == ("handed_over", None)
    (email,) = told.resend.emails()
    assert email["mail"]["subject"] == "Stage 2 has changed"


def test_a_digest_by_email_lists_its_items(told: ToldPeople) -> None:
    set_sender(told.process, told.org_id, EmailProvider.RESEND)
    told.choose(Channel.EMAIL, Choice.DIGEST)
    for number in (2, 3):
        told.notify(data={"what": f"Stage {number}", "who": "Ada"}, channels=(Channel.EMAIL,))
    told.run_due()
    told.hurry()
    told.run_due()
    (email,) = told.resend.emails()
    assert email["mail"]["subject"] == "2 messages about bookings"
    assert "* Stage 2 has changed\n" in email["mail"]["text"]
    assert "Stop e-mail about bookings" in email["mail"]["text"]


def test_a_receipt_that_came_before_the_record_stays(told: ToldPeople) -> None:
    """GOV.UK #802, twilio-csharp#633: `delivered` may be known before the send is."""
    told.add_contact(Channel.SMS, NUMBER)
    asked = told.notify(channels=(Channel.SMS,))
    assert asked.notification_id is not None
    told.run_due("notifications.deliver")
    (delivery,) = told.deliveries(asked.notification_id)
    with told.process.database.ledger() as tx:
        assert notifications.advance(tx, delivery.delivery_id, delivery.state.DELIVERED, provider_id="SM1")
    told.run_due()
    assert state_of(told) == ("delivered", None)


def test_a_digest_by_email_names_itself_as_machine_mail(told: ToldPeople) -> None:
    set_sender(told.process, told.org_id, EmailProvider.RESEND)
    told.choose(Channel.EMAIL, Choice.DIGEST)
    for number in range(3):
        told.notify(bucket=str(number), channels=(Channel.EMAIL,))
    told.run_due()
    told.hurry()
    told.run_due()
    (email,) = told.resend.emails()
    assert email["mail"]["subject"] == "3 messages about bookings"
    assert machine_headers(AutomatedKind.GENERATED).items() <= email["mail"]["headers"].items()
