"""What becomes of an order: subject, thread, recipients, the quoted original, and the address it is written from."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from domain.jobs.failures import Invalid
from domain.mail.mailbox import SenderAddress
from domain.mail.outgoing.composing import compose, subject_of
from domain.mail.outgoing.outgoing_mail import MailMessage, message_bytes
from domain.mail.outgoing.senders import DELIVERED_TO, SenderWords, choose_sender
from domain.mail.parsing.mime import parse_message
from domain.payloads.mail_address import Address
from domain.payloads.outbound import SendPayload
from tests.domain.mail.messages import make_message

NOBODY = UUID(int=1)
OWNER = SenderAddress("owner@example.com", "Olga Owner", is_primary=True, is_default=True)
QUESTION = make_message(
    message_id="<two@example.org>", references="<one@example.org>", date="Tue, 3 Nov 2026 10:00:00 +0000"
)


def order(**fields: Any) -> SendPayload:  # noqa: ANN401 - fields of the payload
    given = {"to": ("ada@example.org",), "body_plain": "Yes.", "message_type": "reply"} | fields
    if given["message_type"] != "new":
        given.setdefault("original_message_id", "18c2f0a1b2c3d4e6")
    return SendPayload(account_id=NOBODY, action_id=NOBODY, **given)


def composed(original: Any = QUESTION, **fields: Any) -> MailMessage:  # noqa: ANN401 - fields of the payload
    now = datetime(2026, 11, 3, 12, tzinfo=UTC)
    return compose(
        order(**fields), original, sender=choose_sender((OWNER,), OWNER.address, None), token="token-12345", date=now
    )


def test_a_reply_stays_in_its_conversation() -> None:
    mail = composed()
    assert mail.subject == "Re: Meeting"
    assert mail.in_reply_to == "<two@example.org>"
    assert mail.references == ("<one@example.org>", "<token-12345@draft.postroom.invalid>", "<two@example.org>")
    assert parse_message(message_bytes(mail)).references == mail.references


def test_the_references_of_the_payload_go_before_those_that_are_stored() -> None:
    assert composed(references=("<root@example.org>",)).references[0] == "<root@example.org>"


def test_a_reply_to_a_mail_without_an_id_has_only_the_token() -> None:
    mail = composed(make_message())
    assert (mail.in_reply_to, mail.references) == (None, ("<token-12345@draft.postroom.invalid>",))


@pytest.mark.parametrize(
    ("kind", "given", "theirs", "subject"),
    [
        ("reply", "", "Meeting", "Re: Meeting"),
        ("reply", "Meeting", "Meeting", "Re: Meeting"),
        ("reply", "RE: Meeting", "Meeting", "RE: Meeting"),
        ("reply", "", "Re: Re: Meeting", "Re: Re: Meeting"),
        ("reply", "", "", "Re:"),
        ("forward", "", "Meeting", "Fwd: Meeting"),
        ("forward", "", "Fwd: Meeting", "Fwd: Meeting"),
        ("forward", "FW: Meeting", "Other", "FW: Meeting"),
        ("forward", "", "Re: Meeting", "Fwd: Re: Meeting"),
        ("new", "Hello", "", "Hello"),
    ],
)
def test_a_subject_has_one_prefix(kind: str, given: str, theirs: str, subject: str) -> None:
    original = None if kind == "new" else make_message(subject=theirs or " ")
    assert subject_of(order(message_type=kind, subject=given), original) == subject


def test_a_hostile_subject_of_the_original_becomes_one_line() -> None:
    original = make_message(subject="=?utf-8?q?Hello=0D=0ABcc:_eve=40example.org?=")
    mail = composed(original)
    assert "\n" not in mail.subject
    assert parse_message(message_bytes(mail)).bcc == ()


def test_a_reply_with_another_subject_is_refused() -> None:
    with pytest.raises(Invalid, match="new conversation") as refusal:
        composed(subject="Something else")
    assert refusal.value.field == "payload.subject"


def test_a_forward_is_a_new_conversation_that_quotes_the_original() -> None:
    mail = composed(message_type="forward", body_plain="See below.", body_html="<p>See below.</p>")
    assert (mail.subject, mail.in_reply_to, mail.references) == ("Fwd: Meeting", None, ())
    assert mail.text.startswith("See below.\n\n---------- Forwarded message ---------\nFrom: ")
    for line in ("From: Ada <ada@example.org>", "Subject: Meeting", "Date: Tue, 03 Nov 2026 10:00:00 +0000"):
        assert line in mail.text.splitlines()
    assert mail.text.endswith("Hello, can we meet on Monday?")
    assert mail.html.startswith("<p>See below.</p>")


def test_a_forward_needs_no_words() -> None:
    mail = composed(message_type="forward", body_plain="")
    assert mail.text.startswith("---------- Forwarded message")
    assert mail.html == ""


def test_strangers_words_are_escaped_in_html() -> None:
    hostile = make_message("<script>alert(1)</script>\n", subject="<b>Hi</b>")
    mail = composed(hostile, message_type="forward", body_html="<p>x</p>")
    assert "<script>" not in mail.html
    assert "<b>" not in mail.html
    assert "&lt;script&gt;" in mail.html


ALIAS = SenderAddress("sales@example.com", "Sales", reply_to="desk@example.com")
OWNER_ONLY = SenderAddress("owner@example.com", is_primary=True)
PENDING = SenderAddress("boss@example.com", is_verified=False)


@pytest.mark.parametrize(
    ("own", "to", "cc", "chosen"),
    [
        ((OWNER, ALIAS), "sales@example.com", "", ALIAS),
        ((OWNER, ALIAS), "Owner <OWNER@example.com>", "sales@example.com", OWNER),
        ((OWNER, ALIAS), "other@example.com", "Sales@Example.com", ALIAS),
        ((OWNER, PENDING), "boss@example.com", "", OWNER),
        ((OWNER, ALIAS), "list@example.org", "", OWNER),
        ((), "list@example.org", "", SenderAddress("owner@example.com", is_primary=True)),
    ],
)
def test_an_answer_comes_from_the_address_that_was_written_to(
    own: tuple[SenderAddress, ...], to: str, cc: str, chosen: SenderAddress
) -> None:
    assert choose_sender(own, "owner@example.com", make_message(to=to, cc=cc)).address.address == chosen.address


@pytest.mark.parametrize(
    ("headers", "address"),
    [
        *(
            ({name: "Sales <SALES@example.com>", "to": "list@example.org"}, "sales@example.com")
            for name in DELIVERED_TO
        ),
        ({"to": "sales+shop@example.com"}, "sales@example.com"),
        ({"bcc": "sales@example.com", "to": "list@example.org"}, "sales@example.com"),
        ({"to": "sa.les@example.com"}, "team@example.com"),
        ({"to": "list@example.org", "delivered_to": "owner@example.com"}, "team@example.com"),
        ({"to": "owner@example.com", "delivered_to": "sales@example.com"}, "owner@example.com"),
        ({"to": "list@example.org", "delivered_to": "boss@example.com"}, "team@example.com"),
        ({"from": "sales@example.com", "to": "ada@example.org"}, "sales@example.com"),
    ],
)
def test_every_header_that_says_where_a_mail_arrived_is_read(headers: dict[str, str], address: str) -> None:
    own = (OWNER_ONLY, ALIAS, PENDING, SenderAddress("team@example.com", is_default=True))
    message = make_message(**{name.replace("-", "_"): value for name, value in headers.items()})
    assert choose_sender(own, "owner@example.com", message).address.address == address


def test_a_signature_is_below_the_words_once() -> None:
    sender = SenderWords(Address("", "a@example.com"), signature="Olga\nAcme")
    signed = sender.signed("Yes.\n")
    assert signed == sender.signed(signed) == "Yes.\n\n-- \nOlga\nAcme"
    assert sender.unsigned(signed) == "Yes."


def test_a_new_mail_comes_from_the_default_address() -> None:
    default = SenderAddress("team@example.com", is_default=True)
    own = (SenderAddress("owner@example.com", is_primary=True), default)
    assert choose_sender(own, "owner@example.com", None).address.address == default.address
    made = compose(
        order(message_type="new", subject="Hi"),
        None,
        sender=choose_sender((ALIAS,), ALIAS.address, None),
        token="token-12345",
        date=datetime.now(UTC),
    )
    assert made.reply_to
