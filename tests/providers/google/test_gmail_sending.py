"""What sending needs of Gmail: files, own addresses, uploads, and the limit on sent mail; by the real client."""

from collections.abc import Iterator
from datetime import timedelta
from email.message import EmailMessage

import pytest

from domain.jobs.failures import CallState, Gone, Scope, Throttled, Transient
from domain.mail.mailbox import SenderAddress
from providers.google import gmail
from providers.google.gmail import GmailMailbox
from sandbox.emulator.control import FaultOrder, GmailAccount, GmailControl
from sandbox.google.gmail import gmail_emulator
from tests.doubles.factories import unmetered

EMAIL = "reader@example.com"
PDF = b"%PDF-1.4\x00\xff\r\n.\r\n"


def with_files() -> bytes:
    inner = EmailMessage()
    inner["Subject"] = "Inner"
    inner.set_content("inside")
    inner.add_attachment(b"deep", maintype="text", subtype="plain", filename="deep.txt")
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "ana@example.org", EMAIL, "The plan"
    message.set_content("Here.")
    message.add_alternative("<p>Here.</p>", subtype="html")
    message.add_attachment(PDF, maintype="application", subtype="pdf", filename="Übersicht.pdf")
    message.add_attachment(b"", maintype="text", subtype="plain", filename="empty.txt")
    return message.as_bytes()


@pytest.fixture
def control() -> Iterator[GmailControl]:
    with gmail_emulator() as emulator:
        yield GmailControl(emulator.url)


@pytest.fixture
def account(control: GmailControl) -> GmailAccount:
    aliases = {"Sales@example.com": "accepted", "new@example.com": "pending"}
    facts = {"sales@example.com": {"displayName": "Säles", "replyToAddress": "desk@example.com", "isDefault": True}}
    return control.create_account(EMAIL, "access-1", "refresh-1", aliases=aliases, send_as=facts)


@pytest.fixture
def mailbox(control: GmailControl, account: GmailAccount) -> Iterator[GmailMailbox]:
    with GmailMailbox(
        account=account.email, access_token="access-1", timeout_s=5, meter=unmetered, endpoint=control.url
    ) as opened:
        yield opened


@pytest.mark.parametrize("inline_below", [0, 10_000])
def test_files_are_listed_and_fetched(mailbox: GmailMailbox, account: GmailAccount, inline_below: int) -> None:
    account.turn(inline_files_below=inline_below)
    place = account.deliver(with_files())
    parts = mailbox.attachments(place.message_id)
    assert [(one.filename, one.content_type, one.size) for one in parts] == [
        ("Übersicht.pdf", "application/pdf", len(PDF)),
        ("empty.txt", "text/plain", 0),
    ]
    assert [mailbox.attachment(place.message_id, one) for one in parts] == [PDF, b""]


def test_the_ids_of_files_change_with_each_listing(mailbox: GmailMailbox, account: GmailAccount) -> None:
    place = account.deliver(with_files())
    first, second = (mailbox.attachments(place.message_id)[0] for _ in range(2))
    assert first.attachment_id != second.attachment_id
    assert mailbox.attachment(place.message_id, first) == PDF


def test_files_of_a_message_that_is_gone(mailbox: GmailMailbox, account: GmailAccount) -> None:
    place = account.deliver(with_files())
    (part, _) = mailbox.attachments(place.message_id)
    account.delete_message(place.message_id)
    with pytest.raises(Gone):
        mailbox.attachments(place.message_id)
    with pytest.raises(Gone):
        mailbox.attachment(place.message_id, part)


def test_the_addresses_that_mail_may_be_written_from(mailbox: GmailMailbox) -> None:
    assert mailbox.send_as() == (
        SenderAddress(EMAIL, is_primary=True),
        SenderAddress("sales@example.com", "Säles", "desk@example.com", is_default=True),
        SenderAddress("new@example.com", is_verified=False),
    )


@pytest.mark.parametrize("thread", [True, False])
def test_a_large_draft_is_uploaded_byte_by_byte(mailbox: GmailMailbox, account: GmailAccount, thread: bool) -> None:
    place = account.deliver(with_files())
    raw = b"To: ana@example.org\r\nSubject: Re: The plan\r\n\r\n" + bytes(range(256)) * 12_300
    assert len(raw) > gmail.LARGEST_IN_JSON
    draft = mailbox.create_draft(raw, thread_id=place.thread_id if thread else None)
    assert (draft.thread_id == place.thread_id) is thread
    assert account.raw(draft.message_id) == raw


def test_an_upload_whose_answer_is_lost_is_made_once(
    mailbox: GmailMailbox, account: GmailAccount, control: GmailControl
) -> None:
    control.order(FaultOrder(operation="drafts.create", drop="after"))
    with pytest.raises(Transient) as caught:
        mailbox.create_draft(b"To: a@example.org\r\n\r\n" + b"x" * 3_200_000, thread_id=None)
    assert caught.value.call_state is CallState.IN_DOUBT
    assert len(account.state().drafts) == 1


def test_the_limit_on_sent_mail_is_told_from_other_limits(
    mailbox: GmailMailbox, account: GmailAccount, control: GmailControl
) -> None:
    account.turn(sends_per_day=1)
    drafts = [mailbox.create_draft(b"To: a@example.org\r\n\r\nx", thread_id=None) for _ in range(2)]
    mailbox.send_draft(drafts[0].draft_id)
    with pytest.raises(Throttled) as limit:
        mailbox.send_draft(drafts[1].draft_id)
    assert (limit.value.code, limit.value.scope) == ("gmail.sendingLimit", Scope.ACCOUNT)
    assert timedelta(hours=23) < limit.value.retry_after <= timedelta(hours=24)
    assert mailbox.draft(drafts[1].draft_id).is_draft, "it can be sent later"
    control.advance_clock(24 * 3600 + 1)
    account.consent("access-1", "refresh-1")
    mailbox.send_draft(drafts[1].draft_id)
