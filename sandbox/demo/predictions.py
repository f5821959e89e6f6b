"""Which state the record of each message's thread ends in, by the script; and what the database says."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sandbox.demo.evidence import Ledger, Outside
from sandbox.demo.letters import Letter
from sandbox.demo.mailbox_story import StoryMessage
from sandbox.demo.report import Outcome
from sandbox.demo.steps.step import Mark, Proof, Step, number
from sandbox.emulator.control import MessagePlace


@dataclass(frozen=True, slots=True)
class Played:
    """A step that was played, and what it kept."""

    step: Step
    mark: Mark


def predict(messages: Sequence[StoryMessage], letters: Sequence[Letter], steps: Sequence[Step]) -> dict[str, str]:
    """The predicted state of each message's record, by the name of the message.

    What a step leaves holds for all messages of its thread, for there is one record to a thread.
    """
    threads = {one.file: one.thread or one.file for one in messages}
    left = {threads.get(name, name): step.ends for step in steps if step.ends for name in step.targets}
    predicted = {one.file: left.get(threads[one.file], one.ends) for one in messages}
    return predicted | {one.name: left.get(one.name, one.ends) for one in letters}


def find_endings(
    predicted: Mapping[str, str], places: Mapping[str, MessagePlace], evidence: tuple[Ledger, Outside]
) -> list[Outcome]:
    """The state of each message's record beside the predicted one; the mailbox has to bear the record out."""
    ledger, outside = evidence
    records = {one.thread_id: one.state for one in ledger.emails}
    drafts = Counter(one["thread_id"] for one in outside.mailbox.drafts)
    subjects = {one.message_id: " ".join(one.subject.split()) for one in ledger.messages}
    found: list[Outcome] = []
    for name, expected in predicted.items():
        place = places.get(name)
        state = "never arrived" if place is None else records.get(place.thread_id, "no record")
        lying = drafts[place.thread_id] if place else 0
        if place is not None and lying != (state == "drafted"):
            state = f"{state} with {number(lying, 'draft')}"
        subject = subjects.get(place.message_id, "") if place else ""
        found.append(Outcome(subject, name, expected, state))
    return found


def find_steps(
    played: Sequence[Played],
    missing: Sequence[Step],
    places: Mapping[str, MessagePlace],
    evidence: tuple[Ledger, Outside],
) -> list[Outcome]:
    """The end of each step beside the predicted one; those that were never played are found `not played`."""
    ledger, outside = evidence
    ends = [
        Outcome(
            one.step.title,
            ", ".join(one.step.targets),
            one.step.expected,
            one.step.found(Proof(ledger, outside, places[one.step.targets[0]], one.mark, places)),
        )
        for one in played
    ]
    return ends + [Outcome(one.title, ", ".join(one.targets), one.expected, "not played") for one in missing]
