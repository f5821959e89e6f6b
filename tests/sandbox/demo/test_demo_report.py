"""The demo's counting functions on made-up states: each kind of loss and doubling is found, and only it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from sandbox.demo.evidence import Effect, EmailRecord, JobRow, Ledger, ModelCall, Outside, StoredMessage
from sandbox.demo.report import (
    count,
    find_duplicates,
    find_lost,
    find_problems,
    make_report,
    repeated,
    tokens_in,
)
from sandbox.emulator.control import JournalledCall, MailboxState

NOW = datetime(2026, 1, 5, tzinfo=UTC)
JOB = UUID(int=1)
Change = Callable[[Ledger, Outside], tuple[Ledger, Outside]]

DRAFT_RAW = "Subject: Re: lunch\r\nX-Postroom-Token: token-one\r\n\r\nX-Postroom-Token: in the text\r\n"


def lying(message_id: str, thread_id: str, *label_ids: str) -> dict[str, Any]:
    return {"message_id": message_id, "thread_id": thread_id, "label_ids": list(label_ids)}


def call(operation: str, status: int | None = 200, **summary: Any) -> JournalledCall:  # noqa: ANN401  # any JSON
    return JournalledCall(operation, "POST", "/", status, None, summary, {}, None, 1, 0.0)


def answer(tokens: int, status: int = 200) -> JournalledCall:
    usage = {"input_tokens": tokens - 3, "output_tokens": 2, "cache_read_input_tokens": 1}
    return call("messages.create", status, usage={"cache_creation_input_tokens": 0} | usage)


def stored(message_id: str, thread_id: str, direction: str = "incoming", source: str | None = "llm") -> StoredMessage:
    decided = "needs_response" if source else None
    return StoredMessage(message_id, thread_id, direction, NOW, "anna@example.com", "lunch", decided, source)


def draft_call() -> JournalledCall:
    return call("drafts.create", draft_id="d2", message_id="m6", thread_id="t2")


LEDGER = Ledger(
    messages=(stored("m1", "t1"), stored("m2", "t2", source="deterministic"), stored("m3", "t1", "outgoing", None)),
    emails=(EmailRecord("t1", "m1", "sent", "d1", "m4", "m3"), EmailRecord("t2", "m2", "drafted", "d2", "m6")),
    jobs=(
        JobRow(JOB, "drafts.write", "succeeded", thread_id="t1", output={"drafted": True}),
        JobRow(UUID(int=2), "gmail.sync", "queued", scheduled=True),
        JobRow(UUID(int=3), "gmail.sync", "canceled", reason="expired"),
    ),
    effects=(
        Effect("draft:e1:token", "succeeded", "d1", "t1"),
        Effect("draft:e2:token", "succeeded", "d2", "t2"),
        Effect("labels:1", "succeeded"),
    ),
    model_calls=(ModelCall(JOB, "classify", 1_250_000, "North", 40), ModelCall(JOB, "draft", 2_000_000, "South", 60)),
    audit_events=12,
)
MAILBOX = MailboxState(
    "owner@postroom.example",
    9,
    1,
    messages=[
        lying("m1", "t1", "INBOX"),
        lying("m2", "t2"),
        lying("m3", "t1", "SENT"),
        lying("m6", "t2", "DRAFT"),
    ],
    drafts=[{"draft_id": "d2", "message_id": "m6", "thread_id": "t2", "raw": DRAFT_RAW}],
    labels=[],
    threads={},
)
OUTSIDE = Outside(
    MAILBOX,
    (call("drafts.create", draft_id="d1"), draft_call(), call("push.deliver", 204), call("push.deliver", None)),
    (answer(40), answer(60), answer(0, 529)),
)


def in_mailbox(**changes: Any) -> Change:  # noqa: ANN401  # fields of the mailbox
    return lambda ledger, outside: (ledger, replace(outside, mailbox=replace(outside.mailbox, **changes)))


def in_ledger(**changes: Any) -> Change:  # noqa: ANN401  # fields of the ledger
    return lambda ledger, outside: (replace(ledger, **changes), outside)


def in_journals(**changes: Any) -> Change:  # noqa: ANN401  # fields of the outside
    return lambda ledger, outside: (ledger, replace(outside, **changes))


def test_a_good_run_has_nothing_lost_and_nothing_double() -> None:
    assert make_report(LEDGER, OUTSIDE) == {
        "messages": 2,
        "classified": {"by_class": {"needs_response": 2}, "by_source": {"deterministic": 1, "llm": 1}},
        "drafts": 2,
        "sent": 1,
        "jobs": {"drafts.write": {"succeeded": 1}, "gmail.sync": {"canceled": 1, "queued": 1}},
        "effects": {"succeeded": 3},
        "audit_events": 12,
        "llm_cost_cents": 3.25,
        "llm_cost_cents_by_org": {"North": 1.25, "South": 2.0},
        "llm_tokens": {"billed": 100, "used": 100},
        "lost": 0,
        "duplicates": 0,
        "lost_by_kind": {"undecided": [], "unrecorded": [], "unseen": [], "unfinished": [], "undrafted": []},
        "duplicates_by_kind": {kind: [] for kind in find_duplicates(LEDGER, OUTSIDE)},
        "pushes": {"204": 1, "none": 1},
        "model_calls": 2,
    }
    assert find_problems(make_report(LEDGER, OUTSIDE), LEDGER) == []


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (in_ledger(messages=LEDGER.messages[1:]), "undecided"),
        (in_ledger(messages=(stored("m1", "t1", source=None), *LEDGER.messages[1:])), "undecided"),
        (in_mailbox(messages=[*MAILBOX.messages, lying("m7", "t1", "INBOX", "UNREAD")]), "undecided"),
        (in_ledger(emails=LEDGER.emails[:1]), "unrecorded"),
        (in_mailbox(messages=[*MAILBOX.messages, lying("m7", "t7")]), "unrecorded"),
        (in_mailbox(messages=[*MAILBOX.messages, lying("m8", "t2", "SENT")]), "unseen"),
        (in_ledger(jobs=(JobRow(JOB, "gmail.ingest", "queued"),)), "unfinished"),
        (in_ledger(jobs=(JobRow(JOB, "gmail.ingest", "running"),)), "unfinished"),
        (in_ledger(jobs=(JobRow(JOB, "drafts.write", "succeeded", thread_id="t3"),)), "undrafted"),
        (in_ledger(jobs=(JobRow(JOB, "drafts.write", "canceled", thread_id="t3"),)), "undrafted"),
    ],
)
def test_what_is_lost_is_found_under_its_kind(change: Change, kind: str) -> None:
    ledger, outside = change(LEDGER, OUTSIDE)
    lost = find_lost(ledger, outside)
    assert {name: len(found) for name, found in lost.items() if found} == {kind: 1}
    report = make_report(ledger, outside)
    assert report["lost"] == 1
    assert len(find_problems(report, ledger)) == 1


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (in_mailbox(drafts=[*MAILBOX.drafts, MAILBOX.drafts[0] | {"raw": ""}]), "drafts_in_thread"),
        (in_mailbox(drafts=[*MAILBOX.drafts, MAILBOX.drafts[0] | {"thread_id": "t9"}]), "effects_twice"),
        (in_journals(gmail_calls=(*OUTSIDE.gmail_calls, call("drafts.create", draft_id="d3"))), "drafts_unrecorded"),
        (in_journals(gmail_calls=(call("drafts.create", None, draft_id="d3"),)), "drafts_unrecorded"),
        (in_ledger(effects=(Effect("draft:e1:token", "succeeded", "d1", "t1"),)), "drafts_unrecorded"),
        (in_mailbox(messages=[*MAILBOX.messages, lying("m8", "t1", "SENT")]), "sent_in_thread"),
        (in_journals(gmail_calls=(call("drafts.send", draft_id="d1"),) * 2), "sends_of_draft"),
        (in_ledger(model_calls=(LEDGER.model_calls[0],) * 2), "model_calls_twice"),
        (in_journals(model_answers=(call("messages.create"),) * 3), "model_calls_unrecorded"),
    ],
)
def test_what_happened_twice_is_found_under_its_kind(change: Change, kind: str) -> None:
    ledger, outside = change(LEDGER, OUTSIDE)
    found = find_duplicates(ledger, outside)
    assert {name: len(doubles) for name, doubles in found.items() if doubles} == {kind: 1}
    assert make_report(ledger, outside)["duplicates"] == 1


def test_a_draft_that_was_given_up_for_a_reason_is_not_lost() -> None:
    given_up = JobRow(UUID(int=5), "drafts.write", "succeeded", thread_id="t3", output={"drafted": False, "why": "so"})
    assert count(find_lost(replace(LEDGER, jobs=(*LEDGER.jobs, given_up)), OUTSIDE)) == 0


def test_a_refused_draft_was_not_made() -> None:
    calls = (*OUTSIDE.gmail_calls, call("drafts.create", 403, refused="rateLimitExceeded"))
    assert count(find_duplicates(LEDGER, replace(OUTSIDE, gmail_calls=calls))) == 0


def test_what_failed_is_a_problem_though_nothing_is_lost() -> None:
    ledger = replace(
        LEDGER,
        jobs=(JobRow(JOB, "triage.classify", "dead", reason="it broke"), JobRow(UUID(int=4), "gmail.sync", "failed")),
        effects=(*LEDGER.effects, Effect("draft:e3:token", "unknown")),
    )
    report = make_report(ledger, OUTSIDE)
    assert (report["lost"], report["duplicates"]) == (0, 0)
    assert find_problems(report, ledger) == [
        f"triage.classify {JOB} is dead: it broke",
        f"gmail.sync {UUID(int=4)} is failed: None",
        "the effect draft:e3:token is unknown",
    ]


def test_tokens_that_the_model_counted_otherwise_are_a_problem() -> None:
    report = make_report(LEDGER, replace(OUTSIDE, model_answers=(answer(40), answer(61))))
    assert find_problems(report, LEDGER) == ["100 tokens are billed, and the model has counted 101"]


def test_a_sent_record_whose_message_is_not_in_the_mailbox_does_not_count() -> None:
    outside = replace(OUTSIDE, mailbox=replace(MAILBOX, messages=MAILBOX.messages[:2]))
    assert make_report(LEDGER, outside)["sent"] == 0


def test_tokens_are_read_from_the_head_only() -> None:
    assert tokens_in(DRAFT_RAW) == ["token-one"]
    assert tokens_in("no head at all") == []


def test_repeated_names_each_value_beyond_its_first() -> None:
    assert repeated(["a", "b", "a", "a"]) == ["a", "a"]
