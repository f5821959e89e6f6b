"""What a person says by a label."""

from dataclasses import dataclass
from typing import ClassVar

from sandbox.demo.steps.step import Mark, OnMessage, Proof, Stage

DONE = "Postroom/Done"


@dataclass(frozen=True, slots=True)
class MarkDone(OnMessage):
    """The person puts Done on a conversation."""

    title: ClassVar[str] = "a thread is done"
    expected: ClassVar[str] = "record archived, out of the inbox, label taken off"
    ends: ClassVar[str | None] = "archived"

    def play(self, stage: Stage) -> Mark:
        """Put the label on the whole conversation."""
        stage.mailbox.label_thread(stage.places[self.target].thread_id, add=(DONE,))
        return {}

    def found(self, proof: Proof) -> str:
        """The thread has left the inbox, and the label its message."""
        lying = [one for one in proof.outside.mailbox.labelled("INBOX") if one["thread_id"] == proof.place.thread_id]
        place = "in the inbox" if lying else "out of the inbox"
        return f"record {proof.state()}, {place}, label {'on' if DONE in proof.labels() else 'taken off'}"
