"""Callbacks of Twilio and Resend: verified, doubled, in any order, before the send is known."""

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from pydantic import SecretStr

from domain.jobs.job import Origin
from domain.notifications.channels import Channel
from domain.notifications.delivery import DeliveryState
from domain.notifications.sender import EmailProvider
from sandbox.twilio.callbacks import signed
from sandbox.twilio.service import TOKEN
from storage.notifications import people, receipts
from storage.orgs.access import users
from storage.orgs.access.users import UserChanges
from storage.orgs.secrets import org_secrets
from storage.orgs.secrets.sealing import SecretPlace
from tests.doubles.email_orders import set_sender
from tests.doubles.factories import make_org
from tests.doubles.told_people import PUBLIC_URL, ToldPeople, states
from tests.gateway.serving import ask, serve

NUMBER = "+4930123456"


@pytest.fixture
def door(told: ToldPeople) -> Iterator[str]:
    with serve(told.process.settings) as url:
        yield url


def sent_text(told: ToldPeople) -> tuple[str, str]:
    """A text that Twilio has taken: its id, and the path of its callbacks."""
    told.add_contact(Channel.SMS, NUMBER)
    told.tell(channels=(Channel.SMS,))
    (message,) = told.twilio.messages()
    return str(message["sid"]), str(message["callback_url"]).removeprefix(PUBLIC_URL)


def state_of(told: ToldPeople) -> tuple[str, str | None]:
    row = told.database.execute("select state, reason from deliveries").fetchone()
    assert row is not None
    return row[0], row[1]


def suppressed_for(told: ToldPeople) -> str | None:
    row = told.database.execute("select suppressed_for from suppressions").fetchone()
    return None if row is None else str(row[0])


def counted(told: ToldPeople) -> dict[str, int]:
    return dict(told.database.execute("select reason, count from refused_pushes").fetchall())


def test_receipts_of_a_text_come_doubled_and_in_any_order(told: ToldPeople, door: str) -> None:
    """GOV.UK #338: `sent` after `delivered`, and a second receipt, change nothing."""
    sid, path = sent_text(told)
    answers = told.twilio.send_callbacks(
        sid,
        "queued",
        "sent",
        "delivered",
        copies=2,
        order="reversed",
        to_url=f"{door}{path}",
        signed_url=PUBLIC_URL + path,
    )
    assert answers == [200] * 6
    assert state_of(told) == ("delivered", None)


def test_one_failed_segment_stays_a_failure(told: ToldPeople, door: str) -> None:
    """postmangovsg#1150: one of three segments failed."""
    sid, path = sent_text(told)
    posted = {"to_url": f"{door}{path}", "signed_url": PUBLIC_URL + path}
    told.twilio.send_callbacks(sid, "delivered", "undelivered", "delivered", error_code=30005, **posted)
    assert state_of(told) == ("failed", "twilio.30005")
    assert told.database.execute(
        "select (select suppressed_for from suppressions where channel = 'sms')"
    ).fetchone() == (None,)
    told.twilio.send_callbacks(sid, "failed", error_code=21610, **posted)
    assert told.database.execute(
        "select (select suppressed_for from suppressions where channel = 'sms')"
    ).fetchone() == ("stop",)


@pytest.mark.parametrize(
    "odd",
    [
        {"forged": True},
        {"signed_url": "http://mail.example.org{path}"},
        {"signed_url": "https://mail.example.org:443{path}"},
        {"signed_url": "https://mail.example.org{path}?a=1"},
    ],
    ids=["forged", "another-scheme", "a-port", "a-query"],
)
def test_only_the_exact_address_and_the_orgs_token_prove_twilio(
    told: ToldPeople, door: str, odd: dict[str, str | bool]
) -> None:
    """yap#1627, twilio-php#790: the signature is of the address as it was handed over."""
    sid, path = sent_text(told)
    changed = {name: value.format(path=path) if isinstance(value, str) else value for name, value in odd.items()}
    posted = {"to_url": f"{door}{path}", "signed_url": PUBLIC_URL + path} | changed
    assert told.twilio.send_callbacks(sid, "failed", **posted) == [403]
    assert state_of(told) == ("handed_over", None)


def test_a_proxy_may_sort_the_query_and_change_the_scheme(told: ToldPeople, door: str) -> None:
    """What arrives may differ from what was signed: the address is put together from the setting."""
    sid, path = sent_text(told)
    answers = told.twilio.send_callbacks(sid, "delivered", to_url=f"{door}{path}?b=2&a=1", signed_url=PUBLIC_URL + path)
    assert answers == [200]
    assert state_of(told) == ("delivered", None)


def test_an_unknown_text_is_answered_200_and_counted(told: ToldPeople, door: str) -> None:
    """GOV.UK #802: a provider would send it again for days."""
    path = "/webhooks/twilio/01a21a5c-0000-7000-8000-000000000000"
    assert told.twilio.send_callbacks("SM0", "delivered", to_url=f"{door}{path}") == [200]
    assert counted(told) == {"receipt_unknown": 1}


def resend_path(told: ToldPeople, door: str) -> str:
    """Let Resend call the org, with the secret of its page."""
    set_sender(told.process, told.org_id, EmailProvider.RESEND)
    path = f"/webhooks/resend/{told.org_id}"
    secret = told.resend.configure_callbacks(f"{door}{path}")
    with told.process.database.ledger() as tx:
        place = SecretPlace(told.org_id, "resend_webhook")
        org_secrets.keep(tx, told.process.sealer, place, SecretStr(secret), by=Origin())
    return path


def test_receipts_of_an_email_are_monotone_and_suppress_what_bounced(told: ToldPeople, door: str) -> None:
    resend_path(told, door)
    told.tell(channels=(Channel.EMAIL,))
    (email,) = told.resend.emails()
    answers = told.resend.send_callbacks(email["id"], "email.sent", "email.delivered", copies=2, order="reversed")
    assert answers == [200] * 4
    assert state_of(told) == ("delivered", None)
    told.resend.send_callbacks(email["id"], "email.bounced", "email.delivered")
    assert state_of(told) == ("failed", "resend.email.bounced")
    assert suppressed_for(told) == "bounce"
    assert {one.reason for one in told.tell(bucket="again", channels=(Channel.EMAIL,))} == {"suppressed"}


def test_a_bounce_that_passes_suppresses_nothing(told: ToldPeople, door: str) -> None:
    resend_path(told, door)
    told.tell(channels=(Channel.EMAIL,))
    (email,) = told.resend.emails()
    told.resend.send_callbacks(email["id"], "email.bounced", data={"bounce": {"type": "Transient"}})
    assert (state_of(told)[0], suppressed_for(told)) == ("failed", None)


def test_a_complaint_suppresses_and_the_mail_stays_delivered(told: ToldPeople, door: str) -> None:
    resend_path(told, door)
    told.tell(channels=(Channel.EMAIL,))
    (email,) = told.resend.emails()
    told.resend.send_callbacks(email["id"], "email.delivered", "email.complained")
    assert (state_of(told), suppressed_for(told)) == (("delivered", None), "complaint")


@pytest.mark.parametrize("odd", [{"forged": True}, {"age_s": 3600.0}], ids=["forged", "replayed"])
def test_a_forged_or_replayed_callback_of_resend_is_refused(
    told: ToldPeople, door: str, odd: dict[str, bool | float]
) -> None:
    resend_path(told, door)
    told.tell(channels=(Channel.EMAIL,))
    (email,) = told.resend.emails()
    assert told.resend.send_callbacks(email["id"], "email.bounced", **odd) == [403]
    assert state_of(told) == ("handed_over", None)


def test_a_receipt_before_its_send_is_written_down_is_kept_until_then(told: ToldPeople, door: str) -> None:
    """VA#1097: the callback comes before the send is recorded."""
    resend_path(told, door)
    assert told.resend.send_callbacks("email-0", "email.bounced", "email.delivered") == [200, 200]
    assert counted(told) == {"receipt_unknown": 2}
    told.tell(channels=(Channel.EMAIL,))
    row = told.database.execute("select id from deliveries").fetchone()
    assert row is not None
    with told.process.database.tenant(told.org_id) as tx:
        early = receipts.record_send(tx, told.org_id, row[0], "email-0")
        assert early is not None
        assert early.state is DeliveryState.FAILED
        receipts.apply(tx, told.org_id, row[0], early)
    assert state_of(told) == ("failed", "resend.email.bounced")


def test_an_org_without_the_secret_is_answered_200_and_counted(told: ToldPeople, door: str) -> None:
    told.resend.configure_callbacks(f"{door}/webhooks/resend/{told.org_id}")
    assert told.resend.send_callbacks("email-1", "email.bounced") == [200]
    assert counted(told) == {"receipt_unknown": 1}


def test_a_callback_without_meaning_is_answered_200(told: ToldPeople, door: str) -> None:
    resend_path(told, door)
    assert told.resend.send_callbacks("email-1", "email.opened") == [200]
    assert counted(told) == {"receipt_meaningless": 1}


def move_out(told: ToldPeople, how: str) -> None:
    """Remove an address and add it again, or its person with it."""
    with told.process.database.ledger() as tx:
        if how == "address":
            for one in people.contact_points(tx, told.org_id, told.user_id):
                people.remove_contact(tx, told.org_id, told.user_id, one.contact_id)
                people.add_contact(tx, told.org_id, told.user_id, one.channel, one.address, is_verified=True)
            return
        users.remove(tx, told.org_id, "ada@example.org")
        told.user_id = users.add(tx, told.org_id, "ada@example.org", UserChanges()).user_id
        people.add_contact(tx, told.org_id, told.user_id, Channel.SMS, NUMBER, is_verified=True)


@pytest.mark.parametrize("how", ["address", "person"])
@pytest.mark.parametrize("event", ["email.bounced", "email.complained"])
def test_what_bounced_or_complained_stays_suppressed_when_it_is_added_again(
    told: ToldPeople, door: str, how: str, event: str
) -> None:
    resend_path(told, door)
    told.tell(channels=(Channel.EMAIL,))
    (email,) = told.resend.emails()
    told.resend.send_callbacks(email["id"], event)
    move_out(told, how)
    assert {one.reason for one in told.tell(bucket="again", channels=(Channel.EMAIL,))} == {"suppressed"}


def test_a_bounce_that_comes_after_its_address_was_removed_suppresses_it(told: ToldPeople, door: str) -> None:
    resend_path(told, door)
    told.tell(channels=(Channel.EMAIL,))
    (email,) = told.resend.emails()
    move_out(told, "address")
    told.resend.send_callbacks(email["id"], "email.bounced")
    assert {one.reason for one in told.tell(bucket="again", channels=(Channel.EMAIL,))} == {"suppressed"}


def test_no_address_of_a_removed_person_stands_in_the_clear(told: ToldPeople, door: str) -> None:
    reply(told, door, Body="STOP")
    move_out(told, "person")
    told.database.execute("delete from contact_points")
    (row,) = told.database.execute("select row_to_json(s)::text from suppressions s").fetchall()
    assert NUMBER not in row[0]
    hashes = "select distinct postroom.address_hash(%s, 'sms', %s) = address_hash from suppressions"
    assert told.database.execute(hashes, (told.org_id, NUMBER)).fetchall() == [(True,)]
    other = make_org(told.database, "other")
    assert told.database.execute(hashes, (other, NUMBER)).fetchall() == [(False,)], "each org has its own key"


def reply(told: ToldPeople, door: str, *, forged: bool = False, **said: str) -> int:
    """Let Twilio hand a text of the person's to the org."""
    form = {"From": NUMBER, "To": "+15005550006", "MessageSid": "SM1", **said}
    path = f"/webhooks/twilio/replies/{told.org_id}"
    headers = {
        "X-Twilio-Signature": signed("forged" if forged else TOKEN, PUBLIC_URL + path, form),
        "Content-Type": "application/x-www-form-urlencoded",
    }
    return ask(door + path, urlencode(form).encode(), headers).status


@pytest.mark.parametrize("how", ["address", "person"])
def test_a_stop_outlives_its_address_and_start_lifts_it(told: ToldPeople, door: str, how: str) -> None:
    told.add_contact(Channel.SMS, NUMBER)
    assert reply(told, door, Body=" stop ") == 200
    move_out(told, how)
    assert {one.reason for one in told.tell(channels=(Channel.SMS,))} == {"suppressed"}
    assert reply(told, door, Body="start", forged=True) == 403
    assert reply(told, door, Body="please start") == 200
    assert {one.reason for one in told.tell(bucket="2", channels=(Channel.SMS,))} == {"suppressed"}
    assert reply(told, door, Body="Start") == 200
    assert states(told.tell(bucket="3", channels=(Channel.SMS,))) == {"sms": "handed_over"}
    row = told.database.execute(
        "select actor_type, data ->> 'suppressed_for' from audit_entries where event = 'contact_point.allowed'"
    ).fetchall()
    assert row == [("user", "stop")]


def test_start_lifts_nothing_but_a_stop(told: ToldPeople, door: str) -> None:
    told.twilio.refuse(NUMBER, "landline")
    told.add_contact(Channel.SMS, NUMBER)
    told.tell(channels=(Channel.SMS,))
    assert reply(told, door, Body="anfangen", OptOutType="START") == 200
    assert {one.reason for one in told.tell(bucket="2", channels=(Channel.SMS,))} == {"suppressed"}
