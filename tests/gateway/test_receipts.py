"""Callbacks of Twilio and Resend: verified, doubled, in any order, before the send is known."""

from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from domain.email.sender import EmailProvider
from domain.jobs.job import Origin
from domain.notifications.channels import Channel
from domain.notifications.delivery import DeliveryState
from storage.notifications import receipts
from storage.secrets import org_secrets
from storage.secrets.sealing import SecretPlace
from tests.doubles.email_orders import set_sender
from tests.doubles.told_people import PUBLIC_URL, ToldPeople
from tests.gateway.serving import serve

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
    assert told.database.execute("select suppressed_for from contact_points where channel = 'sms'").fetchone() == (
        None,
    )
    told.twilio.send_callbacks(sid, "failed", error_code=21610, **posted)
    assert told.database.execute("select suppressed_for from contact_points where channel = 'sms'").fetchone() == (
        "stop",
    )


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
    row = told.database.execute("select suppressed_for from contact_points where channel = 'email'").fetchone()
    assert row == ("bounce",)
    assert {one.reason for one in told.tell(bucket="again", channels=(Channel.EMAIL,))} == {"suppressed"}


def test_a_bounce_that_passes_suppresses_nothing(told: ToldPeople, door: str) -> None:
    resend_path(told, door)
    told.tell(channels=(Channel.EMAIL,))
    (email,) = told.resend.emails()
    told.resend.send_callbacks(email["id"], "email.bounced", data={"bounce": {"type": "Transient"}})
    row = told.database.execute("select suppressed_for from contact_points where channel = 'email'").fetchone()
    assert (state_of(told)[0], row) == ("failed", (None,))


def test_a_complaint_suppresses_and_the_mail_stays_delivered(told: ToldPeople, door: str) -> None:
    resend_path(told, door)
    told.tell(channels=(Channel.EMAIL,))
    (email,) = told.resend.emails()
    told.resend.send_callbacks(email["id"], "email.delivered", "email.complained")
    row = told.database.execute("select suppressed_for from contact_points where channel = 'email'").fetchone()
    assert (state_of(told), row) == (("delivered", None), ("complaint",))


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
