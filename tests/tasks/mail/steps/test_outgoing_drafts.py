"""What became of a mail whose answer was lost: found, not found, or nobody can tell; its draft, and its sending."""

from collections.abc import Iterator
from dataclasses import dataclass
from email.message import EmailMessage
from uuid import UUID

import pytest

from domain.jobs.effects import CannotTell, Found, NotFound
from domain.jobs.failures import Transient
from domain.mail.mailbox import Draft
from providers.google.gmail import GmailMailbox
from sandbox.emulator.control import GmailAccount, GmailControl
from sandbox.google.gmail import gmail_emulator
from storage.mail.outgoing_mails import MailRecord
from tasks.mail.steps.drafts.lost_drafts import MOST_READ
from tasks.mail.steps.outgoing import outgoing_drafts
from tests.doubles.factories import unmetered
from tests.doubles.mail_environment import letter

EMAIL = "owner@postroom.example"
TOKEN = "token-12345"  # names a draft


@dataclass
class Place:
    """A mailbox with a question in it, seen by its owner and by the client."""

    account: GmailAccount
    mailbox: GmailMailbox
    thread_id: str

    def record(self, kind: str = "reply") -> MailRecord:
        """A mail that is about to be made."""
        return MailRecord(UUID(int=1), TOKEN, kind, automatic=False, history_id=self.account.state().history_id)

    def draft(self, kind: str = "reply", token: str = TOKEN) -> Draft:
        """Make the draft of a mail."""
        message = EmailMessage()
        message["To"], message["Subject"] = "anna@example.com", "Re: Lunch?" if kind == "reply" else "Fwd: Lunch?"
        if token:
            message["X-Postroom-Token"] = token
        if kind == "reply":
            message["In-Reply-To"] = message["References"] = "<asked@example.com>"
        message.set_content("Yes.")
        return self.mailbox.create_draft(message.as_bytes(), thread_id=self.thread_id if kind == "reply" else None)

    def find_draft(self, record: MailRecord) -> Found | NotFound | CannotTell:
        """Look for the draft."""
        thread_id = self.thread_id if record.message_type == "reply" else None
        return outgoing_drafts.find_draft(self.mailbox, record, thread_id)


@pytest.fixture
def place() -> Iterator[Place]:
    with gmail_emulator() as emulator:
        account = GmailControl(emulator.url).create_account(EMAIL, "access", "refresh")
        asked = account.deliver(letter("Lunch?", "Noon?", **{"Message-ID": "<asked@example.com>"}))
        with GmailMailbox(
            account=EMAIL, access_token="access", timeout_s=5, meter=unmetered, endpoint=emulator.url
        ) as mailbox:
            yield Place(account, mailbox, asked.thread_id)


KINDS = pytest.mark.parametrize("kind", ["reply", "forward", "new"])


@KINDS
def test_a_draft_is_found_by_its_token(place: Place, kind: str) -> None:
    record = place.record(kind)
    place.draft(kind, token="token-of-another")
    draft = place.draft(kind)
    found = place.find_draft(record)
    assert isinstance(found, Found)
    assert found.result["draft_id"] == draft.draft_id


@KINDS
def test_a_draft_that_was_not_made_is_not_found(place: Place, kind: str) -> None:
    record = place.record(kind)
    place.draft(kind, token="token-of-another")
    assert place.find_draft(record) == NotFound()


@KINDS
def test_a_draft_that_its_person_has_sent_is_found_as_sent(place: Place, kind: str) -> None:
    record = place.record(kind)
    sent = place.account.send_draft(place.draft(kind).draft_id)
    assert place.find_draft(record) == Found({"sent": sent.message_id, "thread_id": sent.thread_id})


def test_where_history_has_expired_a_draft_is_found_among_all(place: Place) -> None:
    record = place.record("forward")
    draft = place.draft("forward")
    place.account.expire_history()
    found = place.find_draft(record)
    assert isinstance(found, Found)
    assert found.result["draft_id"] == draft.draft_id


def test_where_history_has_expired_an_absent_draft_proves_nothing(place: Place) -> None:
    record = place.record("forward")
    place.draft("new", token="token-of-another")
    place.account.expire_history()
    assert isinstance(place.find_draft(record), CannotTell)


def test_a_mailbox_of_many_drafts_is_not_read_through(place: Place) -> None:
    record = place.record("forward")
    for number in range(MOST_READ + 1):
        place.draft("new", token=f"another-{number}")
    assert isinstance(place.find_draft(record), CannotTell)
    place.account.expire_history()
    assert isinstance(place.find_draft(record), CannotTell)


@KINDS
def test_a_draft_that_its_person_discarded_is_known_by_history(place: Place, kind: str) -> None:
    record = place.record(kind)
    draft = place.draft(kind)
    place.account.edit_draft(draft.draft_id, text="My own words.")
    place.account.discard_draft(draft.draft_id)
    assert place.find_draft(record) == Found({"discarded": True})


def test_a_reply_s_draft_that_is_gone_with_its_history_may_have_been_discarded(place: Place) -> None:
    record = place.record()
    place.account.discard_draft(place.draft().draft_id)
    place.account.expire_history()
    assert isinstance(place.find_draft(record), CannotTell)


def test_a_draft_of_another_conversation_is_no_trace_of_a_mail_that_begins_one(place: Place) -> None:
    """Its person answers a mail, and thinks better of it."""
    record = place.record("forward")
    place.account.discard_draft(place.draft("reply", token="").draft_id)
    kept = place.draft("new", token="")
    place.account.edit_draft(kept.draft_id, text="Better words.")
    sent = place.draft("new", token="")
    place.account.send_draft(sent.draft_id)
    assert place.find_draft(record) == NotFound()


def test_a_reply_of_its_person_in_the_thread_takes_the_place_of_ours(place: Place) -> None:
    record = place.record()
    place.draft(token="")
    assert place.find_draft(record) == Found({"discarded": True})


@KINDS
def test_a_draft_that_is_still_there_was_not_sent(place: Place, kind: str) -> None:
    record = place.record(kind)
    draft = place.draft(kind)
    place.account.edit_draft(draft.draft_id, text="My own words.")
    assert outgoing_drafts.find_sent(place.mailbox, record, draft) == NotFound()


@KINDS
def test_a_sent_draft_is_found_in_its_thread(place: Place, kind: str) -> None:
    record = place.record(kind)
    draft = place.draft(kind)
    sent = place.account.send_draft(draft.draft_id)
    there = Found({"sent": sent.message_id, "thread_id": sent.thread_id})
    assert outgoing_drafts.find_sent(place.mailbox, record, draft) == there
    place.account.expire_history()
    assert outgoing_drafts.find_sent(place.mailbox, record, draft) == there


def test_the_wrapper_of_a_sent_draft_names_the_sent_mail(place: Place) -> None:
    place.account.turn(sent_wrapper_gets=1)
    record = place.record()
    draft = place.draft()
    sent = place.account.send_draft(draft.draft_id)
    found = outgoing_drafts.find_sent(place.mailbox, record, draft)
    assert found == Found({"sent": sent.message_id, "thread_id": sent.thread_id})


def test_a_person_s_own_answer_in_the_thread_is_not_ours(place: Place) -> None:
    record = place.record()
    draft = place.draft()
    place.account.discard_draft(draft.draft_id)
    place.account.deliver(letter("Re: Lunch?", "Mine."), thread_id=place.thread_id, label_ids=("SENT",))
    assert outgoing_drafts.find_sent(place.mailbox, record, draft) == NotFound()


@KINDS
def test_a_draft_that_its_person_discarded_was_not_sent(place: Place, kind: str) -> None:
    record = place.record(kind)
    draft = place.draft(kind)
    place.account.discard_draft(draft.draft_id)
    assert outgoing_drafts.find_sent(place.mailbox, record, draft) == NotFound()


def test_a_mail_that_an_edited_subject_moved_is_found_by_history(place: Place) -> None:
    record = place.record()
    draft = place.draft()
    place.account.edit_draft(draft.draft_id, subject="Something else")
    sent = place.account.send_draft(draft.draft_id)
    assert sent.thread_id != place.thread_id
    found = outgoing_drafts.find_sent(place.mailbox, record, draft)
    assert found == Found({"sent": sent.message_id, "thread_id": sent.thread_id})


@KINDS
def test_without_draft_mail_and_history_nobody_can_tell(place: Place, kind: str) -> None:
    record = place.record(kind)
    draft = place.draft(kind)
    place.account.discard_draft(draft.draft_id)
    place.account.expire_history()
    assert isinstance(outgoing_drafts.find_sent(place.mailbox, record, draft), CannotTell)


@KINDS
@pytest.mark.parametrize("where", ["TRASH", "SPAM"])
@pytest.mark.parametrize("is_moved", [False, True])
def test_a_draft_in_the_trash_or_in_spam_was_discarded(place: Place, kind: str, where: str, is_moved: bool) -> None:
    record = place.record(kind)
    draft = place.draft(kind)
    if is_moved:
        place.account.edit_draft(draft.draft_id, subject="Something else")
    message_id = next(one["message_id"] for one in place.account.state().drafts if one["draft_id"] == draft.draft_id)
    place.account.label_message(message_id, add=(where,))
    assert place.find_draft(record) == Found({"discarded": True})
    assert outgoing_drafts.find_sent(place.mailbox, record, draft) == Found({"discarded": True})
    place.account.label_message(message_id, remove=(where,))
    assert isinstance(place.find_draft(record), Found)
    assert outgoing_drafts.find_sent(place.mailbox, record, draft) == NotFound()


@KINDS
def test_without_the_labels_of_a_message_that_is_gone_nobody_can_tell(place: Place, kind: str) -> None:
    place.account.turn(history_forgets_labels=1)
    record = place.record(kind)
    place.account.discard_draft(place.draft(kind).draft_id)
    assert isinstance(place.find_draft(record), CannotTell)


def test_a_message_without_labels_that_is_there_is_no_draft(place: Place) -> None:
    record = place.record()
    archived = place.account.deliver(letter("Re: Lunch?", "One o'clock?"), thread_id=place.thread_id, label_ids=())
    assert place.account.state().message(archived.message_id)
    assert place.find_draft(record) == NotFound()


@KINDS
@pytest.mark.parametrize("is_sent", [False, True])
def test_while_history_lags_the_draft_is_looked_for_again(place: Place, kind: str, is_sent: bool) -> None:
    record = place.record(kind)
    place.account.deliver(letter("Another matter", "News."), hidden_history=2)
    draft = place.draft(kind)
    if is_sent:
        place.account.edit_draft(draft.draft_id, subject="Something else")
        place.account.send_draft(draft.draft_id)
    else:
        place.account.discard_draft(draft.draft_id)
    with pytest.raises(Transient, match="history does not show yet"):
        place.find_draft(record)
    found = place.find_draft(record)
    assert isinstance(found, Found)
    assert ("sent" in found.result, "discarded" in found.result) == (is_sent, not is_sent)


def test_a_reply_s_draft_that_gmail_made_in_another_thread_may_have_been_discarded(place: Place) -> None:
    record = place.record()
    place.account.discard_draft(place.draft("new").draft_id)
    assert isinstance(place.find_draft(record), CannotTell)
