"""The demo's scenario: mail before the first sync, mail that arrives later, and a person who works with the drafts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from sandbox.demo.evidence import EmailRecord, Ledger
from sandbox.demo.mailbox_story import OWNER, Delivery, tell_story
from sandbox.emulator.control import GmailAccount, GmailControl, MailboxState

ORG = "The Example Org"
ACCESS_TOKEN = "local-access-token"  # noqa: S105  # valid at the emulator only
REFRESH_TOKEN = "local-refresh-token"  # noqa: S105  # as above
FIRST_SYNC = 36
"""How many of the 60 messages are in the mailbox before it is connected."""
WAVE = 6
"""How many of the others arrive at once."""
DONE = "Postroom/Done"
SENDS = 4
EDITED_TEXT = "Hello,\r\n\r\nthank you. I have rewritten this draft myself and will send it tomorrow.\r\n"

What = Literal["sent", "edited", "discarded", "done"]


@dataclass(frozen=True, slots=True)
class PersonAction:
    """What the person did with a thread; `message_id` is the message that this made."""

    what: What
    thread_id: str
    message_id: str | None = None


def make_mailbox(gmail: GmailControl) -> GmailAccount:
    """The owner's mailbox at the emulator, empty; the fleet makes its labels when the account is connected."""
    return gmail.create_account(OWNER, ACCESS_TOKEN, REFRESH_TOKEN)


def deliver(mailbox: GmailAccount, deliveries: Sequence[Delivery]) -> None:
    """Let messages arrive, each at the time it says."""
    for one in deliveries:
        at = int(one.at.timestamp() * 1000)
        mailbox.deliver(one.raw, label_ids=list(one.story.labels), internal_date=at)


def whole_story() -> Sequence[Delivery]:
    """All 60 messages as of now, the oldest first."""
    return list(tell_story(datetime.now(UTC)))


def split_story() -> tuple[Sequence[Delivery], Iterator[Sequence[Delivery]]]:
    """The messages at the first sync, and the groups that arrive after it."""
    told = whole_story()
    waves = (told[start : start + WAVE] for start in range(FIRST_SYNC, len(told), WAVE))
    return told[:FIRST_SYNC], waves


def work_through_drafts(mailbox: GmailAccount, ledger: Ledger) -> list[PersonAction]:
    """Discard one draft, edit another, send the next ones, and put Done on a thread without a draft.

    The person works from the mailbox's drafts; the ledger only names a thread that needs none.
    """
    drafts = mailbox.state().drafts
    actions: list[PersonAction] = []
    for place, draft in enumerate(drafts[: SENDS + 2]):
        draft_id, thread_id = draft["draft_id"], draft["thread_id"]
        if place == 0:
            mailbox.discard_draft(draft_id)
            actions.append(PersonAction("discarded", thread_id))
        elif place == 1:
            edited = mailbox.edit_draft(draft_id, text=EDITED_TEXT)
            actions.append(PersonAction("edited", thread_id, edited.message_id))
        else:
            actions.append(PersonAction("sent", thread_id, mailbox.send_draft(draft_id).message_id))
    read = next(email for email in ledger.emails if email.state == "skipped" and email.draft_id is None)
    mailbox.label_thread(read.thread_id, add=(DONE,))
    return [*actions, PersonAction("done", read.thread_id)]


def unseen(actions: Sequence[PersonAction], ledger: Ledger, state: MailboxState) -> list[PersonAction]:
    """The actions that the fleet's records and the mailbox do not show yet."""
    records = {email.thread_id: email for email in ledger.emails}
    return [action for action in actions if not _is_seen(action, records.get(action.thread_id), state)]


def _is_seen(action: PersonAction, record: EmailRecord | None, state: MailboxState) -> bool:
    if record is None:
        return False
    match action.what:
        case "sent":
            return record.state == "sent" and record.sent_message_id == action.message_id
        case "edited":
            return record.state == "drafted" and record.draft_message_id == action.message_id
        case "discarded":
            return record.state == "skipped"
        case "done":
            lying = [one for one in state.labelled("INBOX") if one["thread_id"] == action.thread_id]
            return record.state == "archived" and not lying
