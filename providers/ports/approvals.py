"""The port behind which people are asked to approve actions."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from domain.approvals.question import Question
from domain.jobs.effects import Finding


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a question ended, in words on one line."""

    question: Question
    words: str


class ApprovalChannel(Protocol):
    """Where people are asked to approve an action. One question is one message, with two buttons."""

    def post_question(self, channel_id: str, question: Question) -> str:
        """Post the question; returns the message's id. A repeat within minutes returns the message that there is."""
        ...

    def find_question(
        self, channel_id: str, question: Question, *, since: datetime, repeat_at: datetime | None
    ) -> Finding:
        """Whether the question was posted after `since`; the result of `Found` has its `message_id`.

        `repeat_at` is the present where a question that is not there is posted in the same channel next, else None.
        """
        ...

    def show_outcome(self, channel_id: str, message_id: str, outcome: Outcome) -> None:
        """Put the outcome in the place of the question's buttons; raises `Gone` when the message was deleted."""
        ...
