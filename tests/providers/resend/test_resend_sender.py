"""Mail by Resend on its emulator: once under a key, whatever is lost, and what each refusal means."""

import base64
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from domain.jobs.failures import (
    CallState,
    Failure,
    Invalid,
    Permanent,
    Scope,
    Throttled,
    Transient,
    Unauthorised,
)
from domain.payloads.mail_address import Address
from providers.resend.failures import CLOCKS_APART
from providers.resend.sender import LARGEST_REQUEST, MOST_RECIPIENTS, ResendSender, request_of
from sandbox.emulator.fault_order import FaultOrder
from sandbox.resend import service
from sandbox.resend.control import ResendControl
from sandbox.resend.resend import resend_emulator
from tests.doubles.factories import unmetered
from tests.providers.emails import ADA, make_email, make_file
from tests.providers.resend.description import SendEmailRequest, SendEmailResponse
from tests.providers.wire import Wire, cut_short, drop, hang, reply

KEY = "re_Abcdefgh_of_an_org"
NOON = datetime(2026, 11, 26, 12, tzinfo=UTC)
MAIL = make_email()
REQUEST = request_of(MAIL)


@pytest.fixture
def control() -> Iterator[ResendControl]:
    with resend_emulator() as emulator:
        yield ResendControl(emulator.url)


def opened(url: str, now: datetime = NOON, timeout_s: float = 5, key: str = KEY) -> ResendSender:
    return ResendSender(
        SecretStr(key), account="an org", api_url=url, timeout_s=timeout_s, meter=unmetered, clock=lambda: now
    )


def failed(url: str, now: datetime = NOON, timeout_s: float = 5, request: bytes = REQUEST, key: str = "k") -> Failure:
    with opened(url, now, timeout_s) as sender, pytest.raises(Failure) as raised:
        sender.send(key, request)
    shown = f"{raised.value!r}{raised.value.__cause__}{raised.value.__context__}"
    assert KEY not in shown
    assert "ada@" not in shown
    return raised.value


def test_a_mail_is_sent_once_however_often_it_is_called(control: ResendControl) -> None:
    with opened(control.url) as sender:
        assert sender.send("k", REQUEST) == sender.send("k", REQUEST)
    assert [one["subject"] for one in control.emails()] == [MAIL.subject]


@pytest.mark.parametrize(
    "lost",
    [
        FaultOrder(drop="after"),
        FaultOrder(status=504, after_execution=True),
        FaultOrder(status=503, after_execution=True, headers={"Retry-After": "9"}),
    ],
)
def test_after_a_lost_answer_the_same_key_and_bytes_send_nothing_more(control: ResendControl, lost: FaultOrder) -> None:
    control.order(lost)
    assert failed(control.url).call_state is CallState.IN_DOUBT
    with opened(control.url) as sender:
        sent = sender.send("k", REQUEST)
    assert [one["id"] for one in control.emails()] == [sent.provider_id]


def test_a_key_is_forgotten_after_a_day(control: ResendControl) -> None:
    """Why the engine repeats a call under a native key for 23 hours only."""
    with opened(control.url) as sender:
        sender.send("k", REQUEST)
        control.advance_clock(24 * 3600)
        sender.send("k", REQUEST)
    assert len(control.emails()) == 2


def test_another_body_under_a_key_is_our_own_mistake(control: ResendControl) -> None:
    """https://github.com/ugurkocde/AwesomeIntune/pull/187."""
    with opened(control.url) as sender:
        sender.send("k", REQUEST)
    mistake = failed(control.url, request=request_of(make_email(subject="Another")))
    assert (type(mistake), mistake.code) == (Permanent, "resend.invalid_idempotent_request")


def test_a_call_while_the_first_is_at_work_leaves_doubt_and_sends_nothing(control: ResendControl) -> None:
    """https://resend.com/docs/dashboard/emails/idempotency-keys."""
    control.order(FaultOrder(operation="emails.send", hang_s=30))
    with ThreadPoolExecutor(1) as pool, opened(control.url) as sender:
        first = pool.submit(failed, control.url, timeout_s=0.7)
        control.wait_for("emails.send")
        with pytest.raises(Transient) as concurrent:
            sender.send("k", REQUEST)
        assert first.result().call_state is CallState.IN_DOUBT
    assert concurrent.value.code == "resend.concurrent_idempotent_requests"
    assert concurrent.value.call_state is CallState.IN_DOUBT
    assert len(control.emails()) == 1


def test_each_mail_is_a_call_with_a_key_of_its_own(control: ResendControl) -> None:
    """https://github.com/namuh-eng/opensend/issues/176."""
    with opened(control.url) as sender:
        for number in range(3):
            sender.send(f"key-{number}", request_of(make_email(subject=f"{number}", attachments=(make_file(),))))
    assert [call.path for call in control.journal()] == ["/emails"] * 3
    assert [one["mail"]["attachments"][0]["name"] for one in control.emails()] == ["plan.pdf"] * 3


def test_a_mail_has_an_id_by_which_our_own_record_is_kept(control: ResendControl) -> None:
    """https://github.com/ugurkocde/AwesomeIntune/pull/210."""
    with opened(control.url) as sender:
        sent = sender.send("k", REQUEST)
    assert sent.as_json() == {"provider_id": control.emails()[0]["id"], "message_id": None}


def test_three_quotas_share_a_status_and_mean_three_waits(control: ResendControl) -> None:
    """https://resend.com/docs/api-reference/errors."""

    def waits(**quota: int | None) -> tuple[str, float]:
        control.set_quotas(per_second=None, per_day=None, per_month=None)
        control.set_quotas(**quota)
        refused = failed(control.url)
        assert isinstance(refused, Throttled)
        assert (refused.scope, refused.provider) == (Scope.ORG, "resend")
        return refused.code, (refused.retry_after).total_seconds()

    margin = CLOCKS_APART.total_seconds()
    assert waits(per_second=0) == ("resend.rate_limit_exceeded", 1)
    assert waits(per_day=0) == ("resend.daily_quota_exceeded", 12 * 3600 + margin)
    assert waits(per_month=0) == ("resend.monthly_quota_exceeded", 4.5 * 86_400 + margin)
    assert control.emails() == []


def test_a_used_quota_uses_no_key(control: ResendControl) -> None:
    control.set_quotas(per_day=0)
    failed(control.url)
    control.set_quotas(per_day=None)
    with opened(control.url) as sender:
        sender.send("k", REQUEST)
    assert len(control.emails()) == 1


def test_a_revoked_key_is_the_owners_to_replace(control: ResendControl) -> None:
    control.revoke(KEY)
    lost = failed(control.url)
    assert isinstance(lost, Unauthorised)
    assert (lost.account, lost.call_state) == ("an org", CallState.NOT_DONE)


@pytest.mark.parametrize("body", [{}, b"<html>", b"[" * 100_000])
def test_an_answer_that_cannot_be_read_leaves_doubt(body: object) -> None:
    with Wire(reply(200, body)) as wire:
        failure = failed(wire.url)
    assert (type(failure), failure.code, failure.call_state) == (Transient, "resend.unreadable", CallState.IN_DOUBT)


def test_nothing_is_redirected() -> None:
    with Wire(reply(302, {}, {"Location": "http://127.0.0.1:1/"})) as wire:
        assert failed(wire.url).code == "resend.http_302"
        assert len(wire.seen) == 1


@pytest.mark.parametrize(
    ("conduct", "code"), [(drop, "connection_lost"), (cut_short, "connection_lost"), (hang, "timeout")]
)
def test_without_an_answer_there_is_doubt(conduct: object, code: str) -> None:
    with Wire(conduct) as wire:  # type: ignore[arg-type]  # one of the wire's own
        failure = failed(wire.url, timeout_s=0.3)
    assert (type(failure), failure.code) == (Transient, f"resend.{code}")
    assert failure.call_state is CallState.IN_DOUBT


def test_what_was_never_reached_did_nothing() -> None:
    failure = failed("http://127.0.0.1:1")
    assert (failure.code, failure.call_state) == ("resend.unreachable", CallState.NOT_DONE)


def test_the_client_names_itself_or_a_firewall_would_refuse_it(control: ResendControl) -> None:
    with opened(control.url) as sender:
        sender.send("k", REQUEST)
    with Wire(reply(200, {"id": "7"})) as wire, opened(wire.url) as sender:
        sender.send("k", REQUEST)
    headers = {name.lower(): value for name, value in wire.seen[0].headers.items()}
    assert headers["user-agent"].startswith("postroom/")
    assert headers["idempotency-key"] == "k"
    assert wire.seen[0].body == REQUEST


@pytest.mark.parametrize("key", ["", "x" * 257, "a\nb", "ä"])
def test_a_key_that_is_none_is_refused_before_the_call(key: str) -> None:
    with Wire(reply(200, {"id": "7"})) as wire, opened(wire.url) as sender:
        with pytest.raises(Invalid) as refused:
            sender.send(key, REQUEST)
        assert wire.seen == []
    assert refused.value.field == "key"


@pytest.mark.parametrize("api_key", ["", "re_a b", "re_ä", "re_a\n"])
def test_an_api_key_that_is_none_is_refused_and_not_shown(api_key: str) -> None:
    with pytest.raises(Invalid) as refused:
        opened("http://127.0.0.1:1", key=api_key)
    assert refused.value.field == "api_key"
    assert "re_" not in str(refused.value)


def test_what_is_too_much_is_refused_by_field() -> None:
    many = tuple(Address("", f"a{number}@example.org") for number in range(MOST_RECIPIENTS + 1))
    for email, field in (
        ({"to": many}, "to"),
        ({"attachments": (make_file(size=LARGEST_REQUEST),)}, "attachments"),
    ):
        with pytest.raises(Invalid) as refused:
            request_of(make_email(**email))
        assert refused.value.field == field


def test_everything_in_a_mail_arrives(control: ResendControl) -> None:
    file = make_file("Pläne, final.pdf", 1000)
    email = make_email(
        cc=(Address("Café, GmbH", "cafe@example.org"),),
        bcc=(Address("", '"odd local"@example.org'),),
        reply_to=(Address("", "replies@example.com"),),
        subject="Grüße 🚀",
        html="<p>Hello</p>",
        headers={"List-Unsubscribe": "<https://example.com/u/1>"},
        attachments=(file,),
    )
    with opened(control.url) as sender:
        sender.send("k", sender.request(email))
    (kept,) = control.emails()
    mail = kept["mail"]
    assert (mail["subject"], mail["text"], mail["html"]) == (email.subject, email.text, email.html)
    assert mail["to"] == [[ADA.name, ADA.address]]
    assert mail["cc"] == [["Café, GmbH", "cafe@example.org"]]
    assert mail["bcc"] == [["", '"odd local"@example.org']]
    assert mail["headers"] == dict(email.headers)
    assert base64.b64decode(mail["attachments"][0]["content"]) == file.read()
    assert mail["attachments"][0]["name"] == file.name


WORDS = st.text(st.characters(blacklist_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=60)


@given(subject=WORDS, name=WORDS, text=st.none() | st.text(), size=st.integers(0, 300), copies=st.integers(0, 3))
def test_a_request_is_as_described(subject: str, name: str, text: str | None, size: int, copies: int) -> None:
    email = make_email(
        subject=subject,
        to=(Address(name, "ada@example.org"),),
        cc=(ADA,) * copies,
        text=text,
        html="<p>",
        attachments=(make_file(size=size),) * copies,
    )
    assert request_of(email) == request_of(email)
    SendEmailRequest.model_validate_json(request_of(email))


@pytest.mark.parametrize("change", [{"to": []}, {"to": ["a@b"] * 51}, {"subject": None}, {"tone": 1}, {"from": 7}])
def test_what_resend_would_refuse_is_seen(change: dict[str, object]) -> None:
    good = json.loads(REQUEST)
    SendEmailRequest.model_validate(good)
    with pytest.raises(ValidationError):
        SendEmailRequest.model_validate(good | change)


def test_the_emulator_answers_as_described_and_holds_us_to_the_same_limits(control: ResendControl) -> None:
    with opened(control.url) as sender:
        sent = sender.send("k", REQUEST)
    SendEmailResponse.model_validate({"id": sent.provider_id})
    assert MOST_RECIPIENTS == service.MOST_RECIPIENTS
    assert LARGEST_REQUEST == service.LARGEST_REQUEST
