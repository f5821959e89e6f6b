"""A reminder that becomes an e-mail to the mailbox's owner and a line of the owner's inbox in the app."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from sandbox.demo.steps.step import Mark, OnMessage, Proof, Stage, number

WORDS = "Answer before the weekend"
SOON = timedelta(seconds=2)
"""A reminder has whole seconds, and is due in the future."""


@dataclass(frozen=True, slots=True)
class RemindMe(OnMessage):
    """The owner wants to be reminded of a message."""

    title: ClassVar[str] = "a reminder is due"
    expected: ClassVar[str] = "1 e-mail to the owner, 1 line in the inbox"

    def play(self, stage: Stage) -> Mark:
        """Ask for the reminder, as the owner's app does."""
        owner = next(one for one in stage.wait(lambda _ledger: "").accounts if one.email == stage.mailbox.email)
        at = (datetime.now(UTC) + SOON).isoformat()
        made = stage.door.post("/v1/reminders", {"user_id": str(owner.user_id), "title": WORDS, "at": at})
        return {"reminder_id": made["reminder_id"]}

    def found(self, proof: Proof) -> str:
        """What Resend has taken for the owner, and the owner's inbox."""
        owner = proof.outside.mailbox.email
        mails = [
            one
            for one in proof.outside.sent_emails
            if WORDS in one["mail"]["subject"] and owner in str(one["mail"]["to"])
        ]
        lines = [one for one in proof.ledger.inbox if WORDS in one.title]
        return f"{number(len(mails), 'e-mail')} to the owner, {number(len(lines), 'line')} in the inbox"
