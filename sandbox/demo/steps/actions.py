"""Actions that a service asks for over `/v1/actions`: a snooze, an undo, and one that a person has to approve."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from sandbox.demo.evidence import Ledger
from sandbox.demo.steps.step import Mark, OnMessage, Proof, Stage, number
from sandbox.emulator.control import JournalledCall

SNOOZED = "Postroom/Snoozed"
FORWARD_TO, NEVER_TO = "colleague@postroom.example", "press@postroom.example"
"""To whom forwards go: one that is approved, and one that nobody approves."""


@dataclass(frozen=True, slots=True)
class SnoozeAndWake(OnMessage):
    """A message is snoozed until a moment of the demo, and comes back by itself."""

    wakes_in_s: float = 6.0
    """Long enough for the action to be done first, on a busy machine too; if not, the waking job waits for it."""
    title: ClassVar[str] = "a snooze comes back"
    expected: ClassVar[str] = "action done, taken out of the inbox once and put back once, labels as before"

    def play(self, stage: Stage) -> Mark:
        """Ask for a snooze until that moment."""
        until = (datetime.now(UTC) + timedelta(seconds=self.wakes_in_s)).isoformat()
        before = sorted(stage.mailbox.state().label_names(stage.places[self.target].message_id))
        return {"action_id": stage.ask_for(self.target, {"kind": "snooze", "until": until}), "before": before}

    def found(self, proof: Proof) -> str:
        """The emulator's journal has both changes; the message carries what it did before."""
        changes = changes_of(proof, proof.place.message_id)
        out = sum("INBOX" in call.summary["removed"] for call in changes)
        back = sum("INBOX" in call.summary["added"] for call in changes)
        times = {0: "never", 1: "once"}
        same = "as before" if sorted(proof.labels()) == proof.mark["before"] else f"now {sorted(proof.labels())}"
        return (
            f"action {proof.action_state()}, taken out of the inbox {times.get(out, f'{out} times')}"
            f" and put back {times.get(back, f'{back} times')}, labels {same}"
        )


@dataclass(frozen=True, slots=True)
class ArchiveAndUndo(OnMessage):
    """A message is archived by an action, and the action is taken back."""

    title: ClassVar[str] = "an action is undone"
    expected: ClassVar[str] = "action undone, archived meanwhile, 1 undo linked, labels as before"

    def play(self, stage: Stage) -> Mark:
        """Ask for it, wait until it is done, and ask for its undo."""
        before = sorted(stage.mailbox.state().label_names(stage.places[self.target].message_id))
        action_id = stage.ask_for(self.target, {"kind": "archive"})
        stage.wait(lambda ledger: _not_ended(ledger, action_id))
        archived = "INBOX" not in stage.mailbox.state().label_names(stage.places[self.target].message_id)
        stage.door.post(f"/v1/actions/{action_id}/undo", None)
        return {"action_id": action_id, "before": before, "archived": archived}

    def found(self, proof: Proof) -> str:
        """The undo is an action of its own, linked to this one."""
        undos = [one for one in proof.ledger.actions if str(one.undo_of) == proof.mark["action_id"]]
        done = [one for one in undos if one.state == "done"]
        same = "as before" if sorted(proof.labels()) == proof.mark["before"] else f"now {sorted(proof.labels())}"
        meanwhile = "archived meanwhile" if proof.mark["archived"] else "never archived"
        return f"action {proof.action_state()}, {meanwhile}, {number(len(done), 'undo')} linked, labels {same}"


@dataclass(frozen=True, slots=True)
class ForwardUnapproved(OnMessage):
    """A forward is asked for and nobody approves it: it waits, and nothing leaves."""

    title: ClassVar[str] = "a forward waits for approval"
    expected: ClassVar[str] = "action approved_pending, no job, nothing sent"

    def play(self, stage: Stage) -> Mark:
        """Ask for it."""
        return {"action_id": stage.ask_for(self.target, {"kind": "forward", "to": [NEVER_TO]})}

    def found(self, proof: Proof) -> str:
        """No job has it, and no message went to its recipient."""
        action = proof.action()
        job = "no job" if action is not None and action.job_id is None else "a job"
        gone = forwarded(proof, NEVER_TO)
        return f"action {proof.action_state()}, {job}, {'nothing' if not gone else number(len(gone), 'message')} sent"


def forwarded(proof: Proof, recipient: str) -> list[str]:
    """The sent messages that went to a forward's recipient."""
    lying = proof.outside.mailbox.labelled("SENT")
    return [one["message_id"] for one in lying if recipient in one["recipients"]]


def changes_of(proof: Proof, message_id: str) -> list[JournalledCall]:
    """The fleet's changes of a message's labels that Gmail has carried out, the oldest first."""
    return [
        call
        for call in proof.outside.gmail_calls
        if {"added", "removed"} <= set(call.summary)
        and message_id in call.summary.get("message_ids", [call.summary.get("message_id")])
    ]


def _not_ended(ledger: Ledger, action_id: str) -> str:
    found = next((one for one in ledger.actions if str(one.action_id) == action_id), None)
    return "" if found and found.state in {"done", "failed", "expired", "canceled"} else "the end of an archive action"
