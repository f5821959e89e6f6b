"""An agent looks after a message that a rule sends to it."""

from dataclasses import dataclass
from typing import ClassVar

from sandbox.demo.letters import Letter
from sandbox.demo.steps.step import Mark, Proof, Stage, Step

LABEL = "Invoices"
"""The one label that the agent may put on, a person's own."""


@dataclass(frozen=True, slots=True)
class AgentAtWork(Step):
    """A letter arrives whose rule names an agent."""

    letter: Letter
    title: ClassVar[str] = "an agent at work"
    expected: ClassVar[str] = f"run succeeded, label {LABEL} on, out of the inbox"

    @property
    def targets(self) -> tuple[str, ...]:
        """The letter."""
        return (self.letter.name,)

    def play(self, stage: Stage) -> Mark:
        """Let it arrive."""
        stage.deliver(self.letter.name, self.letter.raw(stage.mailbox.email))
        return {}

    def found(self, proof: Proof) -> str:
        """The run's row, and the labels in the mailbox."""
        runs = [one.status for one in proof.ledger.agent_runs if one.message_id == proof.place.message_id]
        labels = proof.labels()
        on, inbox = ("on" if LABEL in labels else "missing"), ("in" if "INBOX" in labels else "out of")
        return f"run {' and '.join(runs) or 'missing'}, label {LABEL} {on}, {inbox} the inbox"
