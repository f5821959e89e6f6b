"""Real mails, written anew and sent by either vendor, arrive with their subject, their bodies and their files."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from pydantic import SecretStr

from domain.mail.outgoing.header_lines import header_text
from domain.mail.outgoing.outgoing_mail import attachment_name
from domain.payloads.mail_address import Address
from providers.microsoft.sender import GraphSender
from providers.ports.email import EmailAttachment, OutgoingEmail
from providers.resend.sender import ResendSender
from sandbox.emulator.written_mail import WrittenMail, read_mail
from sandbox.microsoft.control import MicrosoftControl
from sandbox.microsoft.microsoft import microsoft_emulator
from sandbox.resend.control import ResendControl
from sandbox.resend.resend import resend_emulator
from tests.doubles.factories import unmetered
from tests.house.reading import ROOT
from tests.providers.emails import ADA, SENDER
from tests.providers.microsoft.conftest import MAILBOX, open_sender

MAILS = sorted((ROOT / "sandbox" / "mail").glob("*.eml"))


@pytest.fixture(scope="module")
def resend() -> Iterator[tuple[ResendSender, ResendControl]]:
    with resend_emulator() as emulator:
        key = SecretStr("re_key")
        with ResendSender(key, account="an org", api_url=emulator.url, timeout_s=5, meter=unmetered) as sender:
            yield sender, ResendControl(emulator.url)


@pytest.fixture(scope="module")
def graph() -> Iterator[tuple[GraphSender, MicrosoftControl]]:
    with microsoft_emulator() as emulator, open_sender(emulator.url) as sender:
        yield sender, MicrosoftControl(emulator.url)


def written_anew(path: Path) -> OutgoingEmail:
    mail = read_mail(path.read_bytes())
    return OutgoingEmail(
        reference=path.stem,
        sender=Address(header_text(mail.sender[0]), SENDER.address),
        to=(ADA,),
        subject=_encodable(header_text(mail.subject)),
        text=_encodable(mail.text or "") if mail.html is None or mail.text is not None else None,
        html=None if mail.html is None else _encodable(mail.html),
        attachments=tuple(
            EmailAttachment(header_text(one.name) or "file", one.content_type, len(one.data), partial(bytes, one.data))
            for one in mail.files
        ),
    )


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def check(arrived: WrittenMail, email: OutgoingEmail) -> None:
    assert arrived.subject == email.subject
    for came, ordered in ((arrived.text, email.text), (arrived.html, email.html)):
        assert (came or "").replace("\r\n", "\n").rstrip("\n") == (ordered or "").rstrip("\n")
    files = [(attachment_name(one.name), one.read()) for one in email.attachments]
    assert [(one.name, one.data) for one in arrived.files] == files


@pytest.mark.parametrize("path", MAILS, ids=lambda path: path.stem)
def test_a_real_mail_arrives_by_resend(path: Path, resend: tuple[ResendSender, ResendControl]) -> None:
    sender, control = resend
    email = written_anew(path)
    sent = sender.send(path.stem, sender.request(email))
    check(read_mail(control.raw(sent.provider_id)), email)


@pytest.mark.parametrize("path", MAILS, ids=lambda path: path.stem)
def test_a_real_mail_arrives_by_graph(path: Path, graph: tuple[GraphSender, MicrosoftControl]) -> None:
    sender, control = graph
    email = written_anew(path)
    control.turn(MAILBOX, ids_change=False)
    sent = sender.send_draft(sender.create_draft(email))
    check(read_mail(control.raw(MAILBOX, sent.provider_id)), email)


def test_there_are_mails_with_everything() -> None:
    emails = [written_anew(path) for path in MAILS]
    assert any(email.attachments for email in emails)
    assert any(email.html is not None for email in emails)
    assert any(not email.subject.isascii() for email in emails)
