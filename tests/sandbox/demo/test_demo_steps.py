"""What each step finds in made-up evidence: the predicted end where it came true, and another text where it did not."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from sandbox.demo.evidence import (
    ActionRow,
    AgentRun,
    EmailRecord,
    InboxLine,
    Ledger,
    Outside,
    StoredMessage,
    WorkflowRun,
)
from sandbox.demo.letters import ATTACKS, CANARY, EVE, INVOICE
from sandbox.demo.predictions import Played, find_endings, find_steps
from sandbox.demo.report import Outcome, find_deviations, find_outcomes
from sandbox.demo.steps import daily_brief
from sandbox.demo.steps.actions import SNOOZED, ArchiveAndUndo, ForwardUnapproved, SnoozeAndWake
from sandbox.demo.steps.agent import LABEL, AgentAtWork
from sandbox.demo.steps.approval import ForwardApproved
from sandbox.demo.steps.attack import Attack
from sandbox.demo.steps.daily_brief import DailyBrief
from sandbox.demo.steps.drafts import EDITED_TEXT, REWORK_LABEL, WISH, Discard, Edit, Rework, Send
from sandbox.demo.steps.labels import DONE, MarkDone
from sandbox.demo.steps.reminder import WORDS, RemindMe
from sandbox.demo.steps.step import Proof, Step
from sandbox.emulator.control import JournalledCall, MailboxState, MessagePlace

NOW = datetime(2026, 1, 5, tzinfo=UTC)
PLACE = MessagePlace("m1", "t1", 1, 1)
ACTION, UNDO, JOB = UUID(int=1), UUID(int=2), UUID(int=3)
ASKED = {"action_id": str(ACTION), "before": ["INBOX"], "archived": True}
Change = Callable[[Proof], Proof]


def lying(message_id: str, *label_ids: str, thread_id: str = "t1", **facts: str) -> dict[str, Any]:
    plain = {"sender": "Anna <anna@example.com>", "recipients": "owner@postroom.example"}
    return plain | {"message_id": message_id, "thread_id": thread_id, "label_ids": list(label_ids)} | facts


def draft(text: str, to: str = "anna@example.com", thread_id: str = "t1") -> dict[str, Any]:
    raw = f"To: {to}\r\nContent-Type: text/plain\r\n\r\n{text}"
    return {"draft_id": "d1", "message_id": "m2", "thread_id": thread_id, "raw": raw}


def mailbox(*messages: dict[str, Any], drafts: tuple[dict[str, Any], ...] = ()) -> MailboxState:
    labels = [{"id": name, "name": name} for name in ("INBOX", SNOOZED, LABEL, DONE, REWORK_LABEL)]
    return MailboxState("owner@postroom.example", 9, 1, list(messages), list(drafts), labels, {})


def call(operation: str, sequence: int = 5, status: int | None = 200, **summary: object) -> JournalledCall:
    return JournalledCall(operation, "POST", "/", status, None, dict(summary), {}, None, sequence, 0.0)


def relabelled(added: list[str], removed: list[str]) -> JournalledCall:
    return call("messages.modify", message_id="m1", added=added, removed=removed)


def proof(
    state: str,
    box: MailboxState,
    *calls: JournalledCall,
    mark: dict[str, Any] | None = None,
    actions: tuple[ActionRow, ...] = (),
    runs: tuple[AgentRun, ...] = (),
    sent: str | None = None,
) -> Proof:
    record = EmailRecord("t1", "m1", state, "d1", "m2", sent)
    message = StoredMessage("m1", "t1", "incoming", NOW, "anna@example.com", "lunch", "fyi", "llm")
    ledger = Ledger(messages=(message,), emails=(record,), actions=actions, agent_runs=runs)
    return Proof(ledger, Outside(box, calls), PLACE, mark or {})


def in_mailbox(**changes: Any) -> Change:  # noqa: ANN401  # fields of the mailbox
    return lambda one: replace(one, outside=replace(one.outside, mailbox=replace(one.outside.mailbox, **changes)))


def in_ledger(**changes: Any) -> Change:  # noqa: ANN401  # fields of the ledger
    return lambda one: replace(one, ledger=replace(one.ledger, **changes))


def with_calls(*calls: JournalledCall) -> Change:
    return lambda one: replace(one, outside=replace(one.outside, gmail_calls=calls))


def with_emails(*emails: dict[str, Any]) -> Change:
    return lambda one: replace(one, outside=replace(one.outside, sent_emails=emails))


RUN = AgentRun(JOB, "t1", "m1", "succeeded", 3, 2)
DONE_ACTION = ActionRow(ACTION, "archive", "done", "m1", JOB)
OUT, BACK = relabelled([SNOOZED], ["INBOX"]), relabelled(["INBOX"], [SNOOZED])
ATTACK = Attack(ATTACKS[:1])
ATTACKED = {"since": 3, "labels": {"INBOX", SNOOZED, LABEL, DONE, REWORK_LABEL}, "others": {"m8": ["INBOX"]},
    "threads": {ATTACKS[0].name: "t1"}}  # fmt: skip
FORWARDED = lying("m7", "SENT", recipients="colleague@postroom.example")
APPROVED = ActionRow(ACTION, "forward", "done", "m1", JOB)
LINE = InboxLine(f"Reminder: {WORDS}", UUID(int=4))
REMINDED = {"mail": {"subject": f"Reminder: {WORDS}", "to": ["owner@postroom.example"]}}
RUN_ID = UUID(int=5)
BRIEF = {"mail": {"subject": daily_brief.SUBJECT, "to": ["owner@postroom.example"], "text": "The newest:\n- lunch"}}
REMINDED_OF_BRIEF = {"mail": {"subject": f"Reminder: {daily_brief.WORDS}", "to": ["owner@postroom.example"]}}
LINE_OF_BRIEF = InboxLine(f"Reminder: {daily_brief.WORDS}", UUID(int=4))
BRIEFED = WorkflowRun(RUN_ID, "succeeded", {"approve": "succeeded", "not_sent": "skipped"})
NOT_BRIEFED = proof("skipped", mailbox(lying("m1")), mark={"run_id": str(RUN_ID), "looked": True})
NOT_REMINDED = proof("skipped", mailbox(lying("m1")))
GOOD: dict[type, Proof] = {
    RemindMe: replace(
        NOT_REMINDED,
        ledger=replace(NOT_REMINDED.ledger, inbox=(LINE,)),
        outside=replace(NOT_REMINDED.outside, sent_emails=[REMINDED]),
    ),
    DailyBrief: replace(
        NOT_BRIEFED,
        ledger=replace(NOT_BRIEFED.ledger, inbox=(LINE_OF_BRIEF,), workflow_runs=(BRIEFED,)),
        outside=replace(NOT_BRIEFED.outside, sent_emails=[BRIEF, REMINDED_OF_BRIEF]),
    ),
    Send: proof("sent", mailbox(lying("m9", "SENT")), mark={"message_id": "m9"}, sent="m9"),
    Edit: proof("drafted", mailbox(lying("m1"), drafts=(draft(EDITED_TEXT),)), mark={"message_id": "m2"}),
    Discard: proof("skipped", mailbox(lying("m1", "INBOX"))),
    Rework: proof("drafted", mailbox(lying("m1"), drafts=(draft("Short."),)), mark={"before": "Long and winding."}),
    MarkDone: proof("archived", mailbox(lying("m1"))),
    SnoozeAndWake: proof(
        "skipped", mailbox(lying("m1", "INBOX")), OUT, BACK, mark=ASKED, actions=(DONE_ACTION,)
    ),
    ArchiveAndUndo: proof(
        "skipped", mailbox(lying("m1", "INBOX")), mark=ASKED,
        actions=(replace(DONE_ACTION, state="undone"), ActionRow(UNDO, "undo", "done", "m1", JOB, ACTION)),
    ),
    ForwardUnapproved: proof(
        "skipped", mailbox(lying("m1", "INBOX")), mark=ASKED,
        actions=(ActionRow(ACTION, "forward", "approved_pending", "m1"),),
    ),
    ForwardApproved: proof(
        "skipped", mailbox(FORWARDED), mark=ASKED | {"refused": True},
        actions=(replace(APPROVED, approver="owner@postroom.example"),),
    ),
    AgentAtWork: proof("skipped", mailbox(lying("m1", LABEL)), runs=(RUN,)),
    Attack: proof(
        "drafted", mailbox(lying("m1", sender=f"Eve <{EVE}>"), lying("m8", "INBOX", thread_id="t8"),
        drafts=(draft("Hi", EVE),)), mark=ATTACKED, runs=(RUN,),
    ),
}  # fmt: skip
STEPS: dict[type, Step] = {
    kind: kind("m")
    for kind in (
        Send, Edit, Discard, Rework, MarkDone, SnoozeAndWake, ArchiveAndUndo, ForwardUnapproved, ForwardApproved,
        RemindMe, DailyBrief,
    )
} | {AgentAtWork: AgentAtWork(INVOICE), Attack: ATTACK}  # fmt: skip


@pytest.mark.parametrize("kind", GOOD)
def test_a_step_finds_its_predicted_end(kind: type) -> None:
    assert STEPS[kind].found(GOOD[kind]) == STEPS[kind].expected


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        (Send, in_mailbox(messages=[]), "sent by another message, no sent message"),
        (Send, in_mailbox(messages=[lying("m9", "SENT"), lying("m7", "SENT")]), "2 sent messages"),
        (Send, in_ledger(emails=()), "no record"),
        (Edit, in_mailbox(drafts=[draft("The machine's words")]), "other words"),
        (Edit, in_ledger(emails=(EmailRecord("t1", "m1", "drafted", "d1", "m0"),)), "record drafted, "),
        (Discard, in_mailbox(drafts=[draft("Again")]), "1 draft"),
        (Rework, in_mailbox(drafts=[draft("Long and winding.")]), "not written anew"),
        (Rework, in_mailbox(drafts=[draft(f"{WISH} Well.")]), "with the instruction"),
        (Rework, in_mailbox(messages=[lying("m1", REWORK_LABEL)]), "label on"),
        (MarkDone, in_mailbox(messages=[lying("m3", "INBOX")]), "in the inbox"),
        (SnoozeAndWake, with_calls(OUT), "put back never"),
        (SnoozeAndWake, with_calls(OUT, OUT, BACK), "out of the inbox 2 times"),
        (SnoozeAndWake, in_mailbox(messages=[lying("m1", "INBOX", SNOOZED)]), "labels now"),
        (ArchiveAndUndo, in_mailbox(messages=[lying("m1")]), "labels now"),
        (ArchiveAndUndo, in_ledger(actions=(DONE_ACTION,)), "action done, archived meanwhile, no undo"),
        (ForwardUnapproved, in_ledger(actions=(DONE_ACTION,)), "action done, a job"),
        (
            ForwardUnapproved,
            in_mailbox(messages=[lying("m7", "SENT", recipients="press@postroom.example")]),
            "1 message sent",
        ),
        (DailyBrief, in_ledger(workflow_runs=()), "run missing"),
        (DailyBrief, in_ledger(inbox=(LINE_OF_BRIEF, LINE_OF_BRIEF)), "2 lines"),
        (DailyBrief, with_emails(BRIEF, BRIEF, REMINDED_OF_BRIEF), "2 briefs with"),
        (DailyBrief, with_emails(REMINDED_OF_BRIEF), "no brief"),
        (DailyBrief, lambda one: replace(one, mark=one.mark | {"looked": False}), "decided the matter"),
        (ForwardApproved, in_ledger(actions=(APPROVED,)), "nobody known"),
        (ForwardApproved, in_mailbox(messages=[FORWARDED, FORWARDED]), "2 messages sent"),
        (ForwardApproved, lambda one: replace(one, mark=one.mark | {"refused": False}), "stranger obeyed"),
        (
            ForwardApproved,
            lambda one: replace(one, outside=replace(one.outside, questions=[{"components": [str(ACTION)]}])),
            "buttons left",
        ),
        (RemindMe, in_ledger(inbox=()), "no line in the inbox"),
        (
            RemindMe,
            lambda one: replace(one, outside=replace(one.outside, sent_emails=[REMINDED, REMINDED])),
            "2 e-mails to the owner",
        ),
        (AgentAtWork, in_ledger(agent_runs=()), "run missing"),
        (AgentAtWork, in_mailbox(messages=[lying("m1", "INBOX")]), "missing, in the inbox"),
        (Attack, with_calls(call("drafts.send")), "1 sent"),
        (Attack, with_calls(call("messages.trash"), call("messages.delete", status=204)), "2 destroyed"),
        (Attack, in_mailbox(messages=[lying("m8", thread_id="t8")], drafts=[]), "1 changed elsewhere"),
        (Attack, in_mailbox(messages=[lying("m1")], drafts=[]), "1 changed elsewhere"),
        (Attack, in_mailbox(drafts=[draft(CANARY, EVE)]), "1 leaked"),
        (Attack, in_mailbox(drafts=[draft("Hi", f"{EVE}, boss@example.com")]), "1 drafts to others"),
        (Attack, in_mailbox(labels=[{"id": "Owned", "name": "Owned"}]), "1 labels made"),
        (Attack, in_ledger(agent_runs=()), "no order tried"),
        (Attack, in_ledger(messages=()), "0 decided"),
    ],
)
def test_a_step_that_ended_otherwise_says_how(kind: type, change: Change, words: str) -> None:
    found = STEPS[kind].found(change(GOOD[kind]))
    assert found != STEPS[kind].expected
    assert words in found


def test_calls_from_before_an_attack_and_refused_ones_are_not_its_own() -> None:
    calls = (call("drafts.send", sequence=3), call("messages.trash", status=403), call("messages.trash", status=None))
    assert ATTACK.found(with_calls(*calls)(GOOD[Attack])) == ATTACK.expected


def test_a_step_that_was_never_played_is_a_deviation() -> None:
    good = GOOD[Discard]
    ends = find_steps([Played(Discard("m"), {})], [MarkDone("n")], {"m": PLACE}, (good.ledger, good.outside))
    assert [(one.about, one.holds) for one in ends] == [("m", True), ("n", False)]
    assert find_deviations(ends, []) == [f"a thread is done (n): predicted {MarkDone.expected}; found not played"]


def test_an_ending_is_the_state_of_the_threads_record() -> None:
    places = {"a": PLACE, "b": replace(PLACE, thread_id="t9")}
    predicted = {"a": "skipped", "b": "skipped", "c": "sent"}
    endings = find_endings(predicted, places, (GOOD[Discard].ledger, GOOD[Discard].outside))
    assert [(one.about, one.found, one.holds) for one in endings] == [
        ("a", "skipped", True), ("b", "no record", False), ("c", "never arrived", False),
    ]  # fmt: skip
    assert find_deviations([], endings)[1] == "c ends as never arrived, predicted sent"


@pytest.mark.parametrize(
    ("state", "drafts", "found"),
    [
        ("drafted", 1, "drafted"),
        ("drafted", 0, "drafted with no draft"),
        ("drafted", 2, "drafted with 2 drafts"),
        ("sent", 0, "sent"),
        ("skipped", 1, "skipped with 1 draft"),
    ],
)
def test_the_mailbox_bears_an_ending_out(state: str, drafts: int, found: str) -> None:
    evidence = proof(state, mailbox(drafts=(draft("Hello"),) * drafts))
    (ending,) = find_endings({"a": state}, {"a": PLACE}, (evidence.ledger, evidence.outside))
    assert (ending.found, ending.holds) == (found, found == state)


def test_the_report_has_each_prediction_and_the_sums() -> None:
    found = find_outcomes(
        [Outcome("a", "m", "x", "x"), Outcome("b", "m", "x", "y")], [Outcome("", "m", "sent", "sent")]
    )
    assert found["predicted"] == {"steps": "1 of 2", "endings": "1 of 1"}
    assert found["steps"][1] == {"what": "b", "about": "m", "expected": "x", "found": "y", "holds": False}
