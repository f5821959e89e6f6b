"""The mail of the day: 200 real messages, 60 of the demo's story and 140 of lists and newsletters, for three people."""

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

from sandbox.demo.expected_draft import expects_draft
from sandbox.demo.mail_headers import RawMessage
from sandbox.demo.mailbox_story import Delivery, StoryMessage, tell_story
from sandbox.demo.processes import ROOT

CORPUS = ROOT / "tests" / "mail"
"""The larger sample that the tests read."""
FOLDERS = ("easy-ham-1", "easy-ham-2", "hard-ham-1")
BULK = 140
MARKS_OF_A_LIST = ("List-Id", "List-Post", "List-Unsubscribe", "Mailing-List", "Precedence", "X-Mailman-Version")


@dataclass(frozen=True, slots=True)
class BulkMail:
    """Mail of a list or a newsletter."""

    path: Path

    @property
    def name(self) -> str:
        """Folder and file, as the story's messages are named."""
        return name_of(self.path)

    @property
    def ends(self) -> str:
        """The predicted state of its thread's record, by its own words and headers."""
        return "drafted" if expects_draft(self.path.read_bytes()) else "skipped"

    def raw(self, owner: str) -> bytes:
        """The message as it arrives now: its date and id are new, so that it is a thread of its own."""
        message = RawMessage.parse(self.path.read_bytes())
        message = message.without({"delivered-to", "delivery-date", "in-reply-to", "references"})
        message = message.having("Date", format_datetime(datetime.now(UTC)))
        return message.having("Message-ID", f"<{self.name}@postroom.example>").having("Delivered-To", owner).render()


def bulk_mail() -> list[BulkMail]:
    """140 messages with the marks of a list that are not in the story, in the order of their names."""
    told = {one.story.file for one in tell_story(datetime.now(UTC))}
    found: list[BulkMail] = []
    for folder in FOLDERS:
        for path in sorted((CORPUS / folder).glob("*.eml")):
            mail = BulkMail(path)
            if mail.name not in told and _is_of_a_list(path):
                found.append(mail)
    return found[:BULK]


def personal_share(owner: str, share: int, shares: int) -> list[Delivery]:
    """A person's part of the story's 60 messages; a thread is not torn apart."""
    return [one for one in tell_story(datetime.now(UTC), owner=owner) if share_of(one.story, shares) == share]


def share_of(message: StoryMessage, shares: int) -> int:
    """Whose part a message of the story is in: by the digits of its file, or of its thread's name."""
    return sum((message.thread or message.file).encode()) % shares


def name_of(path: Path) -> str:
    """Folder and file, as the story's messages are named."""
    return f"{path.parent.name}-{path.name}"


def _is_of_a_list(path: Path) -> bool:
    message = RawMessage.parse(path.read_bytes())
    return any(message.get(name) for name in MARKS_OF_A_LIST)
