"""Whatever is sent parses back as it was meant, and nothing in it can add a header."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.mail.outgoing.header_lines import mailbox_text
from domain.mail.outgoing.outgoing_mail import (
    LARGEST_MESSAGE,
    AttachmentBody,
    AutomatedKind,
    MailMessage,
    message_bytes,
)
from domain.mail.parsing.mime import parse_message
from domain.mail.triage.automation import detect_automation, replies_allowed
from domain.payloads.mail_address import Address
from domain.payloads.mail_fields import mailbox_parts

ADA, BOB = Address("Ada Lovelace", "ada@example.org"), Address("Böb, the \u5bb6", "bob@example.org")
MAIL = MailMessage(
    sender=Address("Öwner", "owner@example.com"),
    to=(ADA,),
    cc=(BOB,),
    bcc=(Address("", "archive@example.net"),),
    subject="Großer Auftrag",
    text="Grüße\nOwner",
    html="",
    token="token-12345",
    date=datetime(2026, 11, 3, 12, tzinfo=UTC),
)
OURS = {
    "from", "to", "cc", "bcc", "subject", "date", "x-postroom-token", "mime-version", "content-type",
    "content-transfer-encoding",
}  # fmt: skip
PLAIN = st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"])
BREAKS = st.sampled_from(["\r", "\n", "\r\n", "\x00", "\u2028", "\u2029", "\x0b", "\x85"])


def read(raw: bytes) -> EmailMessage:
    message = message_from_bytes(raw, policy=policy.default)
    assert isinstance(message, EmailMessage)
    return message


def lines_of_head(raw: bytes) -> list[bytes]:
    return raw.partition(b"\r\n\r\n")[0].split(b"\r\n")


def test_every_part_of_a_mail_is_where_readers_look_for_it() -> None:
    raw = message_bytes(replace(MAIL, reply_to=(Address("", "desk@example.com"),)))
    seen = parse_message(raw)
    assert (seen.from_, seen.to, seen.cc) == (MAIL.sender, (ADA,), (BOB,))
    assert [one.address for one in seen.bcc] == ["archive@example.net"]
    assert [one.address for one in seen.reply_to] == ["desk@example.com"]
    assert (seen.subject, seen.text, seen.date) == (MAIL.subject, MAIL.text, MAIL.date)
    assert seen.header("x-postroom-token") == "token-12345"
    assert seen.message_id is None, "Gmail gives the id"
    assert seen.in_reply_to is None
    assert seen.references == ()


def test_a_mail_may_bring_its_own_id_and_further_headers() -> None:
    headers = {"List-Unsubscribe": "<https://example.com/u/1>"}
    seen = parse_message(message_bytes(replace(MAIL, message_id="<a@example.com>", headers=headers)))
    assert seen.message_id == "<a@example.com>"
    assert seen.header("list-unsubscribe") == "<https://example.com/u/1>"


def test_text_and_html_are_alternatives_and_files_stand_beside_them() -> None:
    files = (
        AttachmentBody("plan.pdf", "application/pdf", b"%PDF\x00"),
        AttachmentBody("note.txt", "text/plain", b"hi"),
    )
    message = read(message_bytes(replace(MAIL, html="<p>Grüße</p>", files=files)))
    plain, html = message.get_body(("plain",)), message.get_body(("html",))
    assert plain is not None
    assert html is not None
    assert (plain.get_content(), html.get_content()) == ("Grüße\r\nOwner\r\n", "<p>Grüße</p>\r\n")
    assert message.get_content_type() == "multipart/mixed"
    found = list(message.iter_attachments())
    assert [(one.get_filename(), one.get_content_type()) for one in found] == [
        ("plan.pdf", "application/pdf"), ("note.txt", "text/plain"),
    ]  # fmt: skip
    assert found[0].get_content() == b"%PDF\x00"


def test_a_mail_of_html_alone_has_no_empty_text() -> None:
    assert read(message_bytes(replace(MAIL, text="", html="<p>x</p>"))).get_content_type() == "text/html"


def test_what_is_sent_by_itself_says_so_and_what_a_person_approved_does_not() -> None:
    automatic = parse_message(message_bytes(replace(MAIL, automatic=AutomatedKind.REPLIED)))
    assert automatic.header("auto-submitted") == "auto-replied"
    assert automatic.header("x-auto-response-suppress") == "All"
    assert not replies_allowed(detect_automation(automatic)), "two machines must not answer each other"
    approved = parse_message(message_bytes(MAIL))
    assert approved.header("auto-submitted") is None
    assert approved.header("x-auto-response-suppress") is None
    assert replies_allowed(detect_automation(approved))


def test_a_mail_that_gmail_would_not_take_is_refused() -> None:
    big = AttachmentBody("big.bin", "application/octet-stream", bytes(LARGEST_MESSAGE))
    with pytest.raises(Invalid, match=f"attachments: .*{LARGEST_MESSAGE}"):
        message_bytes(replace(MAIL, files=(big,)))


@pytest.mark.parametrize("kind", ["message/rfc822", "multipart/mixed", "x", "", "text/pl ain", "a/b\r\nX-Evil: 1"])
def test_a_file_of_an_odd_type_travels_as_bytes(kind: str) -> None:
    raw = message_bytes(replace(MAIL, files=(AttachmentBody("a.eml", kind, b"Subject: x\r\n\r\nbody"),)))
    (part,) = read(raw).iter_attachments()
    assert part.get_content_type() == "application/octet-stream"
    assert part.get_content() == b"Subject: x\r\n\r\nbody"
    assert b"X-Evil" not in raw


def unmarked(text: str) -> str:
    """Text without byte order marks, which a reader drops at the beginning of an encoded word."""
    return text.replace("\ufeff", "")


@given(st.text(PLAIN, max_size=300))
@example("\ufeff")
@settings(deadline=None)
def test_a_subject_parses_back(subject: str) -> None:
    raw = message_bytes(replace(MAIL, subject=subject))
    assert unmarked(parse_message(raw).subject) == unmarked(" ".join(subject.split()))
    assert max(map(len, lines_of_head(raw))) <= 998
    assert all(len(word) <= 75 for line in lines_of_head(raw) for word in re.findall(rb"=\?[^ ]*?\?=", line))


def words_of(name: str) -> str:
    """What our parser keeps of a name: it drops quotation marks, and the backslash before one."""
    return " ".join(re.sub(r'["\\]', "", name).split())


@given(st.lists(st.text(PLAIN, max_size=100), min_size=1, max_size=4))
@example(["0 \\"])
@example(["\ufeff"])
@settings(deadline=None)
def test_names_parse_back(names: list[str]) -> None:
    people = tuple(Address(name, f"person{place}@example.org") for place, name in enumerate(names))
    seen = parse_message(message_bytes(replace(MAIL, to=people))).to
    assert [one.address for one in seen] == [one.address for one in people]
    assert [words_of(unmarked(one.name)) for one in seen] == [words_of(unmarked(name)) for name in names]


@given(st.text(PLAIN, min_size=1, max_size=150))
@settings(deadline=None)
def test_a_file_name_parses_back_and_is_no_path(name: str) -> None:
    raw = message_bytes(replace(MAIL, files=(AttachmentBody(name, "text/plain", b"x"),)))
    (part,) = read(raw).iter_attachments()
    shown = part.get_filename() or ""
    assert "/" not in shown
    assert "\\" not in shown
    assert shown.isprintable()
    if name.isprintable() and name == " ".join(name.split()) and not re.search(r"[/\\]|=\?", name):
        assert shown == name


@given(st.text(max_size=30), BREAKS, st.text(max_size=30))
@settings(deadline=None)
def test_a_line_break_is_refused_in_every_header(before: str, line_break: str, after: str) -> None:
    bad = f"{before}{line_break}Bcc: victim@example.net{after}"
    for changed, field in (
        ({"subject": f"x{bad}"}, "subject"),
        ({"to": (Address(bad, "ada@example.org"),)}, "to"),
        ({"cc": (Address("n", f"ada@example.org{line_break}"),)}, "cc"),
        ({"sender": Address(bad, "owner@example.com")}, "from"),
        ({"references": (f"<a@b>{line_break}X: y",)}, "references"),
        ({"token": bad}, "x-postroom-token"),
    ):
        with pytest.raises(Invalid) as refusal:
            message_bytes(replace(MAIL, **changed))
        assert refusal.value.field == field


@given(
    subject=st.text(max_size=60),
    name=st.text(max_size=60),
    filename=st.text(max_size=60),
    text=st.text(min_size=1, max_size=200),
    html=st.text(max_size=100),
)
@settings(deadline=None, max_examples=200)
def test_whatever_is_accepted_has_no_header_but_ours(
    subject: str, name: str, filename: str, text: str, html: str
) -> None:
    mail = replace(
        MAIL,
        subject=subject,
        to=(Address(name, "ada@example.org"),),
        text=text,
        html=html,
        files=(AttachmentBody(filename, "text/plain", b"x"),),
    )
    try:
        raw = message_bytes(mail)
    except Invalid:
        return
    assert raw.isascii()
    message = read(raw)
    assert {key.lower() for key in message} == OURS - {"content-transfer-encoding"}
    assert len(message.keys()) == len(set(message.keys()))
    (part,) = message.iter_attachments()
    assert {key.lower() for key in part} <= {
        "content-type", "content-transfer-encoding", "content-disposition", "mime-version",
    }  # fmt: skip


@given(st.text(max_size=120))
@settings(deadline=None)
def test_a_stranger_s_name_becomes_a_mailbox_that_a_payload_takes(name: str) -> None:
    assert mailbox_parts(mailbox_text(Address(name, "ada@example.org")))[1] == "ada@example.org"
