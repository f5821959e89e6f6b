"""What a person does with a draft: send it, edit it, throw it away, or have it written anew."""

from dataclasses import dataclass
from typing import ClassVar

from sandbox.demo.steps.step import Mark, OnMessage, Proof, Stage, number, text_of

EDITED_TEXT = "Hello,\n\nthank you. I have rewritten this draft myself and will send it tomorrow.\n"
WISH = "Shorter, please."
REWORK_LABEL = "Postroom/Rework"


@dataclass(frozen=True, slots=True)
class Send(OnMessage):
    """The person sends the draft as it is."""

    title: ClassVar[str] = "a draft is sent"
    expected: ClassVar[str] = "record sent, 1 sent message, no draft"
    ends: ClassVar[str | None] = "sent"

    def play(self, stage: Stage) -> Mark:
        """Send it by hand."""
        return {"message_id": stage.mailbox.send_draft(stage.draft_of(self.target)["draft_id"]).message_id}

    def found(self, proof: Proof) -> str:
        """The record names the message that was sent."""
        record, sent = proof.record(), [one["message_id"] for one in proof.sent()]
        named = record is not None and sent == [record.sent_message_id] == [proof.mark["message_id"]]
        state = proof.state() if named or proof.state() != "sent" else "sent by another message"
        return f"record {state}, {number(len(sent), 'sent message')}, {number(len(proof.drafts()), 'draft')}"


@dataclass(frozen=True, slots=True)
class Edit(OnMessage):
    """The person writes the draft anew with their own words."""

    title: ClassVar[str] = "a draft is edited"
    expected: ClassVar[str] = "record drafted and knows it, 1 draft, words of the person"
    ends: ClassVar[str | None] = "drafted"

    def play(self, stage: Stage) -> Mark:
        """Replace its text by hand."""
        draft_id = stage.draft_of(self.target)["draft_id"]
        return {"message_id": stage.mailbox.edit_draft(draft_id, text=EDITED_TEXT).message_id}

    def found(self, proof: Proof) -> str:
        """The draft has the person's words, and the record its new message id."""
        record, drafts = proof.record(), proof.drafts()
        knows = record is not None and record.draft_message_id == proof.mark["message_id"]
        own = [text_of(one) for one in drafts] == [EDITED_TEXT.strip()]
        return (
            f"record {proof.state()}{' and knows it' if knows else ''}, {number(len(drafts), 'draft')},"
            f" {'words of the person' if own else 'other words'}"
        )


@dataclass(frozen=True, slots=True)
class Discard(OnMessage):
    """The person throws the draft away."""

    title: ClassVar[str] = "a draft is thrown away"
    expected: ClassVar[str] = "record skipped, no draft"
    ends: ClassVar[str | None] = "skipped"

    def play(self, stage: Stage) -> Mark:
        """Discard it by hand."""
        stage.mailbox.discard_draft(stage.draft_of(self.target)["draft_id"])
        return {}

    def found(self, proof: Proof) -> str:
        """The draft stays away."""
        return f"record {proof.state()}, {number(len(proof.drafts()), 'draft')}"


@dataclass(frozen=True, slots=True)
class Rework(OnMessage):
    """The person writes what they want above the draft's words, and asks for a rework by the label."""

    title: ClassVar[str] = "a draft is reworked"
    expected: ClassVar[str] = "record drafted, 1 draft, written anew without the instruction, label taken off"
    ends: ClassVar[str | None] = "drafted"

    def play(self, stage: Stage) -> Mark:
        """Write the wish into the draft, and put the label on."""
        draft = stage.draft_of(self.target)
        before = text_of(draft)
        wish = f"{WISH}\n\n{before}\n"
        stage.mailbox.edit_draft(draft["draft_id"], text=wish)
        stage.mailbox.label_thread(draft["thread_id"], add=(REWORK_LABEL,))
        return {"before": before}

    def found(self, proof: Proof) -> str:
        """The words are others than before, and the wish is not among them."""
        drafts = proof.drafts()
        words = text_of(drafts[0]) if drafts else ""
        anew = bool(words) and words != proof.mark["before"] and proof.mark["before"] not in words
        said = "written anew" if anew else "not written anew"
        without = "without the instruction" if WISH not in words else "with the instruction"
        label = "label on" if REWORK_LABEL in proof.labels() else "label taken off"
        return f"record {proof.state()}, {number(len(drafts), 'draft')}, {said} {without}, {label}"
