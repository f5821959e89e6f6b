"""Why a job waits: every state has a sentence that names its cause and, where it is known, a time."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.instants import written
from domain.jobs.gate_causes import Cause
from domain.jobs.job import State
from domain.jobs.monitoring.job_facts import (
    AwaitingNode,
    ClosedGate,
    HoldingWorker,
    JobFacts,
    KeyHolder,
    LastReturn,
    LetterFacts,
    Line,
    NodeWait,
)
from domain.jobs.monitoring.why import LONGEST_REASON, MOST_COUNTED, WaitCause, why
from tests.model.waiting_causes import causes_of

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
BEFORE, AFTER = NOW - timedelta(minutes=9), NOW + timedelta(minutes=9)
JOB, OTHER = UUID(int=1), UUID(int=2)
QUEUED = JobFacts(
    now=NOW, job_id=JOB, job_type="probe.run", queue="exports", state=State.QUEUED, run_at=BEFORE, max_attempts=5
)
LATER = replace(QUEUED, run_at=AFTER, next_check_at=AFTER)
PARKED = replace(QUEUED, parked_by="gate:queue:exports", gate="gate:queue:exports")
RUNNING = replace(
    QUEUED, state=State.RUNNING, attempt=2, claimed_at=BEFORE, started_at=BEFORE, deadline_at=AFTER,
    worker=HoldingWorker("red", 7, AFTER),
)  # fmt: skip
ENDED = replace(QUEUED, attempt=5, finished_at=BEFORE, code="gmail.gone", reason="no such message")
LETTER = LetterFacts(OTHER, "open", "Mend the cause, then replay; or discard.", None, None, None)


def gate(scope: str, key: str, cause: Cause, **more: Any) -> ClosedGate:  # noqa: ANN401 - any fact of a gate
    return ClosedGate(scope=scope, key=key, cause=cause, **({"until": AFTER, "closed_at": BEFORE} | more))


def behind(*gates: ClosedGate, line: Line | None = None) -> JobFacts:
    return replace(PARKED, gates=gates, line=line)


CASES: dict[str, tuple[JobFacts, WaitCause, tuple[str, ...]]] = {
    "scheduled": (LATER, WaitCause.SCHEDULED, ("not due before 2026-11-29T12:09:00Z (in 9 min)",)),
    "retry": (
        replace(LATER, attempt=2, returned=LastReturn("failure", "gmail.backendError", "try later")),
        WaitCause.RETRY,
        ("Attempt 2 of 5 failed (gmail.backendError: try later)", "in 9 min"),
    ),
    "retry of which the log is too long": (
        replace(LATER, attempt=2, code="x.y", reason="why"),
        WaitCause.RETRY,
        ("Attempt 2 of 5 failed (x.y: why)",),
    ),
    "snoozed": (
        replace(LATER, returned=LastReturn("snooze", None, "the account is disconnected")),
        WaitCause.SNOOZED,
        ("put it off until", "the account is disconnected"),
    ),
    "throttled": (
        replace(LATER, returned=LastReturn("throttled", "resend.429", "slow down")),
        WaitCause.RETURNED,
        ("A provider said to slow down (resend.429: slow down)", "in 9 min"),
    ),
    "a worker without the package": (
        replace(LATER, returned=LastReturn("unknown type", None, None)),
        WaitCause.RETURNED,
        ("Its worker does not have the package that has its job type; it is due again", "in 9 min"),
    ),
    "a cause of another release": (
        replace(LATER, returned=LastReturn("eclipse", None, None)),
        WaitCause.RETURNED,
        ("It came back (eclipse); it is due again",),
    ),
    "paused queue": (
        behind(gate("queue", "exports", Cause.PAUSE, until=None, actor="ada", reason="moving"), line=Line(41, 3)),
        WaitCause.GATE,
        ("The queue exports is paused by ada", "moving", "at least 41 other jobs", "9 min ago", "stays closed"),
    ),
    "paused, for a tenant": (
        behind(gate("fleet", "*", Cause.PAUSE)),
        WaitCause.GATE,
        ("The whole fleet is paused by an operator", "until 2026-11-29T12:09:00Z"),
    ),
    "slow provider": (
        behind(gate("provider", "gmail", Cause.SLOW_DOWN)),
        WaitCause.GATE,
        ("Calls for the provider gmail were asked to slow down", "in 9 min"),
    ),
    "consent": (
        behind(gate("account", "a", Cause.CONSENT, address="ada@example.org", until=None)),
        WaitCause.GATE,
        ("Its mailbox ada@example.org has to be connected again",),
    ),
    "credentials": (
        behind(gate("org_provider", f"{OTHER}:twilio", Cause.CONSENT, until=None)),
        WaitCause.GATE,
        ("The credentials of its org at twilio", "set them anew"),
    ),
    "budget": (
        behind(gate("org_provider", f"{OTHER}:anthropic", Cause.BUDGET)),
        WaitCause.GATE,
        ("The money of its org at anthropic is spent", "until 2026-11-29T12:09:00Z (in 9 min)"),
    ),
    "two causes": (
        behind(gate("org", "o", Cause.PAUSE), gate("org", "o", Cause.BUDGET)),
        WaitCause.GATE,
        ("Its org is paused", "The money of its org is spent"),
    ),
    "a gate before a due job": (
        replace(behind(gate("org", "o", Cause.PAUSE)), parked_by=None, backlog_since=BEFORE),
        WaitCause.GATE,
        ("It is due, and a closed gate is in its way", "Its org is paused"),
    ),
    "an opened gate": (PARKED, WaitCause.LET_OUT, ("open again",)),
    "an opened gate without a relay": (replace(PARKED, relay_leads=False), WaitCause.LET_OUT, ("no relay leads",)),
    "key": (
        replace(QUEUED, parked_by="key:probe.run:o:a", holders=(KeyHolder(OTHER, BEFORE),), line=Line(9, 3)),
        WaitCause.CONCURRENCY_KEY,
        (f"which the job {OTHER} (since 2026-11-29T11:51:00Z (9 min ago)) holds", "3 jobs are before it"),
    ),
    "next of a key": (
        replace(QUEUED, parked_by="key:k", holders=(KeyHolder(OTHER, BEFORE),), line=Line(9, 0)),
        WaitCause.CONCURRENCY_KEY,
        ("it is the next",),
    ),
    "a free key": (replace(QUEUED, parked_by="key:k"), WaitCause.LET_OUT, ("is free again",)),
    "backlog": (
        replace(QUEUED, backlog_since=BEFORE, ahead=1, weight=2, weights=7),
        WaitCause.BACKLOG,
        ("backlog of the queue exports: 1 job of its org is before it", "its org has 2 of 7"),
    ),
    "deep backlog": (
        replace(QUEUED, backlog_since=BEFORE, ahead=MOST_COUNTED + 1, weight=1),
        WaitCause.BACKLOG,
        ("more than 1,000 jobs", "its org has 1."),
    ),
    "suspect in the backlog": (
        replace(QUEUED, backlog_since=BEFORE, ahead=0, suspect=True),
        WaitCause.BACKLOG,
        ("the next of its org", "what ended its worker process"),
    ),
    "no worker": (
        replace(QUEUED, backlog_since=BEFORE, workers_live=False),
        WaitCause.NO_WORKER,
        ("no worker process is alive", "exports"),
    ),
    "published": (
        replace(QUEUED, published_at=BEFORE, next_check_at=AFTER),
        WaitCause.PUBLISHED,
        ("on its way to the workers of the queue exports since", "doctor"),
    ),
    "suspect put off": (
        replace(QUEUED, next_check_at=AFTER, suspect=True), WaitCause.PUT_OFF, ("offered again at", "ended its worker")
    ),
    "key locked": (replace(QUEUED, next_check_at=AFTER), WaitCause.PUT_OFF, ("holds its idempotency key",)),
    "due": (replace(QUEUED, next_check_at=BEFORE), WaitCause.RELAY, ("the relay publishes it next",)),
    "due without a relay": (
        replace(QUEUED, next_check_at=BEFORE, relay_leads=False), WaitCause.RELAY, ("no relay leads",)
    ),
    "expired": (replace(QUEUED, expires_at=BEFORE), WaitCause.EXPIRED, ("It expired at",)),
    "to be canceled": (
        replace(QUEUED, cancel_requested_at=BEFORE, cancel_reason="not needed"), WaitCause.CANCELING, ("not needed",)
    ),
    "claimed": (replace(RUNNING, state=State.CLAIMED), WaitCause.CLAIMED, ("process 7 on red has claimed it since",)),
    "running": (
        RUNNING, WaitCause.RUNNING, ("process 7 on red runs it since", "attempt 2 of 5", "deadline 2026-11-29T12:09")
    ),
    "running, for a tenant": (
        replace(RUNNING, worker=HoldingWorker(None, None, AFTER)), WaitCause.RUNNING, ("A worker process runs it",)
    ),
    "running, to be canceled": (
        replace(RUNNING, cancel_requested_at=BEFORE, cancel_reason="not needed"),
        WaitCause.RUNNING,
        ("asked to stop (not needed)",),
    ),
    "silent": (
        replace(RUNNING, worker=HoldingWorker("red", 7, BEFORE)), WaitCause.WORKER_SILENT, ("silent since", "9 min ago")
    ),
    "worker gone": (replace(RUNNING, worker=None), WaitCause.WORKER_SILENT, ("is silent;",)),
    "succeeded": (replace(ENDED, state=State.SUCCEEDED), WaitCause.SUCCEEDED, ("succeeded at 2026-11-29T11:51:00Z",)),
    "approval": (
        replace(ENDED, state=State.SUCCEEDED, run_goes_on=True, run_awaits=NodeWait("ask", None, OTHER, BEFORE, AFTER)),
        WaitCause.APPROVAL,
        ("Node ask of its run waits for a person's approval until", str(OTHER)),
    ),
    "event": (
        replace(ENDED, state=State.SUCCEEDED, run_goes_on=True, run_awaits=NodeWait("n", "paid", None, BEFORE, None)),
        WaitCause.EVENT,
        ("waits for the event paid.",),
    ),
    "a run's time": (
        replace(ENDED, state=State.SUCCEEDED, run_goes_on=True, run_awaits=NodeWait("n", None, None, BEFORE, AFTER)),
        WaitCause.EVENT,
        ("waits for its time until",),
    ),
    "a run at work": (
        replace(ENDED, state=State.SUCCEEDED, run_goes_on=True), WaitCause.RUN_GOES_ON, (f"workflows show {JOB}",)
    ),
    "failed": (replace(ENDED, state=State.FAILED), WaitCause.FAILED, ("5 of 5: gmail.gone: no such message",)),
    "dead": (
        replace(ENDED, state=State.DEAD, letter=LETTER), WaitCause.DEAD, (f"letter {OTHER} is open", "then replay")
    ),
    "dead and replayed": (
        replace(ENDED, state=State.DEAD, letter=replace(LETTER, state="replayed", replay_job_id=JOB)),
        WaitCause.DEAD,
        (f"replayed as the job {JOB}",),
    ),
    "dead and discarded": (
        replace(ENDED, state=State.DEAD, letter=LetterFacts(OTHER, "discarded", "", None, "old", "ada")),
        WaitCause.DEAD,
        ("discarded by ada: old",),
    ),
    "canceled": (
        replace(ENDED, state=State.CANCELED, cancel_reason="not needed", canceled_by="operator:ada"),
        WaitCause.CANCELED,
        ("canceled by operator:ada: not needed",),
    ),
    "ended by its time": (
        replace(ENDED, state=State.CANCELED, cancel_reason="expired"), WaitCause.CANCELED, ("It expired before",)
    ),
    "awaited by a node": (
        replace(LATER, awaited_by=AwaitingNode(OTHER, "pay")),
        WaitCause.SCHEDULED,
        (f"Node pay of the workflow run {OTHER}",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_sentence_names_the_cause(case: str) -> None:
    job, cause, words = CASES[case]
    found = why(job)
    assert found.cause is cause in causes_of(job)
    assert [word for word in words if word not in found.sentence] == []


def test_every_cause_has_a_case() -> None:
    assert {cause for _, cause, _ in CASES.values()} == set(WaitCause)


TIMES = st.none() | st.sampled_from([BEFORE, NOW, AFTER])
WAITS = st.sampled_from(["next_check_at", "backlog_since", "key", "gate"])
TEXTS = st.none() | st.text(max_size=2 * LONGEST_REASON)


@st.composite
def jobs(draw: st.DrawFn) -> JobFacts:
    """A job as the ledger's checks allow it, with any facts beside it."""
    wait = draw(WAITS)
    parked = {"key": "key:k", "gate": "gate:org:o"}.get(wait)
    scopes = st.sampled_from(["fleet", "org", "account", "new"])
    gates = st.lists(st.builds(gate, scopes, st.just("k"), st.sampled_from(Cause), reason=TEXTS))
    workers = st.builds(HoldingWorker, TEXTS, st.none() | st.just(1), st.sampled_from([BEFORE, AFTER]))
    return JobFacts(
        now=NOW,
        job_id=JOB,
        job_type="probe.run",
        queue="default",
        state=draw(st.sampled_from(State)),
        attempt=draw(st.integers(0, 5)),
        max_attempts=5,
        suspect=draw(st.booleans()),
        run_at=draw(st.sampled_from([BEFORE, NOW, AFTER])),
        expires_at=draw(TIMES),
        published_at=draw(TIMES),
        next_check_at=draw(st.sampled_from([BEFORE, AFTER])) if wait == "next_check_at" else None,
        backlog_since=draw(st.sampled_from([BEFORE, NOW])) if wait == "backlog_since" else None,
        parked_by=parked,
        claimed_at=draw(TIMES),
        started_at=draw(TIMES),
        finished_at=draw(TIMES),
        deadline_at=draw(TIMES),
        cancel_requested_at=draw(TIMES),
        cancel_reason=draw(TEXTS),
        code=draw(TEXTS),
        reason=draw(TEXTS),
        gates=tuple(draw(gates)) if wait != "key" and draw(st.booleans()) else (),
        line=draw(st.none() | st.builds(Line, st.integers(0, 1001), st.integers(0, 1001))),
        holders=draw(st.none() | st.just((KeyHolder(uuid4(), BEFORE),))),
        ahead=draw(st.none() | st.integers(0, 1001)),
        weight=draw(st.none() | st.integers(1, 100)),
        returned=draw(st.none() | st.builds(LastReturn, TEXTS, TEXTS, TEXTS)),
        workers_live=draw(st.booleans()),
        relay_leads=draw(st.booleans()),
        worker=draw(st.none() | workers),
    )  # fmt: skip


@given(jobs())
def test_every_job_has_one_line_that_ends_and_says_when(job: JobFacts) -> None:
    found = why(job)
    assert found.sentence.endswith(".")
    assert "\n" not in found.sentence
    if found.until is not None:
        assert written(found.until) in found.sentence
    if job.state is State.QUEUED:
        assert found.since or found.until
