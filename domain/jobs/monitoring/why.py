"""Why a job is where it is, in one sentence or two for people, and as a cause for programs: one pure function."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from domain.instants import written
from domain.jobs.gate_causes import Cause
from domain.jobs.job import State
from domain.jobs.monitoring.job_facts import ClosedGate, JobFacts, LetterFacts

MOST_COUNTED = 1000
LONGEST_REASON = 300
"""Characters of a reason that a sentence repeats."""


class WaitCause(StrEnum):
    """What keeps a job from going on; of one that has ended, how."""

    CANCELING = "canceling"
    EXPIRED = "expired"
    SCHEDULED = "scheduled"
    RETRY = "retry"
    SNOOZED = "snoozed"
    RETURNED = "returned"
    PUT_OFF = "put_off"
    GATE = "gate"
    CONCURRENCY_KEY = "concurrency_key"
    LET_OUT = "let_out"
    BACKLOG = "backlog"
    PUBLISHED = "published"
    RELAY = "relay"
    NO_WORKER = "no_worker"
    CLAIMED = "claimed"
    RUNNING = "running"
    WORKER_SILENT = "worker_silent"
    SUCCEEDED = "succeeded"
    RUN_GOES_ON = "run_goes_on"
    APPROVAL = "approval"
    EVENT = "event"
    FAILED = "failed"
    DEAD = "dead"
    CANCELED = "canceled"


@dataclass(frozen=True, slots=True)
class Why:
    """The answer: since when it is so, and when it should change, where that is known."""

    cause: WaitCause
    sentence: str
    since: datetime | None = None
    until: datetime | None = None

    def also(self, sentence: str) -> "Why":
        """The same with one more sentence; an empty one adds nothing."""
        return replace(self, sentence=f"{self.sentence} {sentence}") if sentence else self


RETURNS: Mapping[str, str] = {
    "throttled": "A provider said to slow down",
    "parked": "A gate was closed because of it",
    "lost": "Its worker process was lost",
    "deadline": "Its attempt outran its deadline",
    "shutdown": "Its worker stopped and gave it back",
    "unanswered": "Nobody heard the answer to its claim",
    "margin": "Its claim had too little time left for an effect",
    "in_flight": "A call to a provider may still be under way",
    "busy": "Something that it needs was busy",
    "other_worker": "Its worker lacks what it needs, and another may have it",
    "newer payload": "Its payload is newer than its worker knows",
    "unknown type": "Its worker does not have the package that has its job type",
}
"""What the causes of returns mean; `failure` and `snooze` have sentences of their own."""


def why(job: JobFacts) -> Why:
    """Why the job is where it is; total over all that the ledger may say."""
    match job.state:
        case State.QUEUED:
            found = _queued(job)
        case State.CLAIMED | State.RUNNING:
            found = _held(job)
        case State.SUCCEEDED:
            found = _succeeded(job)
        case State.FAILED:
            said = f"It failed at attempt {_attempts(job)}: {_error(job)}. `jobs retry` does it again as a new job."
            found = Why(WaitCause.FAILED, said, job.finished_at)
        case State.DEAD:
            said = f"It is dead after attempt {_attempts(job)}: {_error(job)}. {_letter(job.letter)}"
            found = Why(WaitCause.DEAD, said, job.finished_at)
        case State.CANCELED:
            by = f" by {job.canceled_by}" if job.canceled_by else ""
            said = "It expired before a worker claimed it." if job.cancel_reason == "expired" else ""
            canceled = f"It was canceled{by}: {_short(job.cancel_reason or 'no reason was given')}."
            found = Why(WaitCause.CANCELED, said or canceled, job.finished_at)
    awaited = job.awaited_by
    return found.also(f"Node {awaited.node} of the workflow run {awaited.run_id} waits for its end." if awaited else "")


def _queued(job: JobFacts) -> Why:
    """Of one that waits: what ends it first, then what parks it, its time, and its way to a worker."""
    if job.cancel_requested_at is not None:
        said = f"It was asked to stop ({_short(job.cancel_reason or 'canceled')}) and ends when the relay looks at it."
        return Why(WaitCause.CANCELING, said, job.cancel_requested_at)
    if job.expires_at is not None and job.expires_at <= job.now:
        said = f"It expired at {_at(job, job.expires_at)} and ends when the relay looks at it."
        return Why(WaitCause.EXPIRED, said, job.expires_at)
    if job.parked_by is not None and job.parked_by.startswith("key:"):
        return _behind_key(job)
    if job.gates:
        return _behind_gate(job)
    if job.parked_by is not None:
        said = f"The gate that kept it back is open again, and the relay lets it out soon.{_no_relay(job)}"
        return Why(WaitCause.LET_OUT, said, job.run_at)
    return _not_due(job) if job.run_at > job.now else _due(job)


def _not_due(job: JobFacts) -> Why:
    due, back = _at(job, job.run_at), job.returned
    cause = None if back is None else back.cause
    if back is None or cause is None:
        # A job that has spent attempts came back; its error says why, where the audit log is too long to be read.
        if job.attempt:
            said = f"Attempt {_attempts(job)} failed ({_error(job)}); the next is due at {due}."
            return Why(WaitCause.RETRY, said, until=job.run_at)
        return Why(WaitCause.SCHEDULED, f"It is not due before {due}.", until=job.run_at)
    reason = _short(": ".join(filter(None, (back.code, back.reason))))
    if cause == "failure":
        said = f"Attempt {_attempts(job)} failed ({reason or 'no reason was kept'}); the next is due at {due}."
        return Why(WaitCause.RETRY, said, until=job.run_at)
    if cause == "snooze":
        said = f"Its handler put it off until {due}: {reason or 'no reason was kept'}."
        return Why(WaitCause.SNOOZED, said, until=job.run_at)
    words = RETURNS.get(cause, f"It came back ({cause})")
    said = f"{words}{f' ({reason})' if reason else ''}; it is due again at {due}."
    return Why(WaitCause.RETURNED, said, until=job.run_at)


def _due(job: JobFacts) -> Why:
    """Of a due job: where it is between the ledger and a worker."""
    suspect = " It may be what ended its worker process, so it waits for a process without other jobs." * job.suspect
    if not job.workers_live:
        start = f"start workers for its queue, {job.queue}"
        said = f"It is due since {_at(job, job.run_at)}, and no worker process is alive: {start}."
        return Why(WaitCause.NO_WORKER, said + suspect, job.run_at)
    if job.backlog_since is not None:
        place = _before(job.ahead, " of its org") if job.ahead else "it is the next of its org"
        said = f"It is due and waits in the backlog of the queue {job.queue}: {place}.{_share(job)}"
        return Why(WaitCause.BACKLOG, said + suspect, job.backlog_since)
    if job.published_at is not None:
        back = f"; if none takes it before {_at(job, job.next_check_at)}, it comes again" if job.next_check_at else ""
        since = _at(job, job.published_at)
        said = (
            f"Its message is on its way to the workers of the queue {job.queue} since {since}{back}."
            " If that repeats, no worker serves the queue, or all are full: `celery -A tasks doctor` says which."
        )
        return Why(WaitCause.PUBLISHED, said + suspect, job.published_at, job.next_check_at)
    if job.next_check_at is not None and job.next_check_at > job.now and not job.suspect:
        said = f"A transaction holds its idempotency key; the relay looks again at {_at(job, job.next_check_at)}."
        return Why(WaitCause.PUT_OFF, said, job.run_at, job.next_check_at)
    if job.suspect and job.next_check_at is not None and job.next_check_at > job.now:
        said = f"{suspect.strip()} It is offered again at {_at(job, job.next_check_at)}."
        return Why(WaitCause.PUT_OFF, said, job.run_at, job.next_check_at)
    said = f"It is due since {_at(job, job.run_at)}, and the relay publishes it next.{_no_relay(job)}"
    return Why(WaitCause.RELAY, said + suspect, job.run_at)


def _behind_gate(job: JobFacts) -> Why:
    """By the cause that lasts longest, which comes first; the others follow."""
    said = " ".join(_gate(job, one) for one in job.gates)
    last = job.gates[0]
    if job.parked_by is None:
        said = f"It is due, and a closed gate is in its way. {said}"
    elif job.line is not None and job.line.others:
        others = _count(job.line.others, "other job", "other jobs", least=True)
        said += f" Behind it {'waits' if job.line.others == 1 else 'wait'} {others}, too."
    if any(one.until is None for one in job.gates):
        said += " It stays closed until that is mended."
    return Why(WaitCause.GATE, said, min(one.closed_at for one in job.gates), last.until)


def _gate(job: JobFacts, gate: ClosedGate) -> str:
    """One cause of a closed gate as a sentence."""
    until = f" until {_at(job, gate.until)}" if gate.until else ""
    since = f" since {_at(job, gate.closed_at)}"
    reason = f": {_short(gate.reason)}" if gate.reason else ""
    subject = {
        "fleet": "the whole fleet",
        "queue": f"the queue {gate.key}",
        "job_type": f"the job type {gate.key}",
        "org": "its org",
        "account": f"its mailbox {gate.address or gate.key}",
        "provider": f"the provider {gate.key}",
        "org_provider": f"its org at {gate.key.partition(':')[2]}",
    }.get(gate.scope, f"{gate.scope} {gate.key}")
    match gate.cause:
        case Cause.PAUSE:
            by = gate.actor or "an operator"
            return f"{_upper(subject)} is paused by {by}{since}{until}{reason}."
        case Cause.SLOW_DOWN:
            return f"Calls for {subject} were asked to slow down{since}{until}{reason}."
        case Cause.CONSENT if gate.scope == "account":
            return f"{_upper(subject)} has to be connected again by its owner{since}{until}{reason}."
        case Cause.CONSENT:
            return f"The credentials of {subject} are refused or missing{since}{until}; set them anew{reason}."
        case Cause.BUDGET:
            return f"The money of {subject} is spent{since}{until}{reason}."
        case Cause.MOVE:
            return f"{_upper(subject)} is on its way to another cell{since}{until}{reason}."


def _behind_key(job: JobFacts) -> Why:
    key = (job.parked_by or "").removeprefix("key:")
    if not job.holders:
        said = f"Its concurrency key {key} is free again, and the relay calls it soon.{_no_relay(job)}"
        return Why(WaitCause.LET_OUT, said, job.run_at)
    held = " and ".join(f"{one.job_id} (since {_at(job, one.taken_at)})" for one in job.holders)
    first = _before(job.line.ahead) if job.line is not None and job.line.ahead else "it is the next"
    said = f"It waits for its concurrency key {key}, which the job {held} holds; {first}."
    return Why(WaitCause.CONCURRENCY_KEY, said, min(one.taken_at for one in job.holders))


def _held(job: JobFacts) -> Why:
    worker = job.worker
    name = f"The worker process {worker.pid} on {worker.hostname}" if worker and worker.hostname else "A worker process"
    asked = f" It was asked to stop ({_short(job.cancel_reason or 'canceled')}) and does at its next step." * (
        job.cancel_requested_at is not None
    )
    if worker is None or worker.lease_until <= job.now:
        silent = f" since {_at(job, worker.lease_until)}" if worker else ""
        said = f"{name} has it and is silent{silent}; the relay takes the claim away soon."
        return Why(WaitCause.WORKER_SILENT, said + asked, worker.lease_until if worker else job.claimed_at)
    limit = f", at the latest until its deadline {_at(job, job.deadline_at)}" if job.deadline_at else ""
    if job.state is State.CLAIMED:
        said = f"{name} has claimed it{_since(job, job.claimed_at)} and begins it in its turn{limit}."
        return Why(WaitCause.CLAIMED, said + asked, job.claimed_at, job.deadline_at)
    said = f"{name} runs it{_since(job, job.started_at)}, attempt {_attempts(job)}{limit}."
    return Why(WaitCause.RUNNING, said + asked, job.started_at, job.deadline_at)


def _succeeded(job: JobFacts) -> Why:
    ended, wait = f"It succeeded{_since(job, job.finished_at, 'at')}.", job.run_awaits
    if not job.run_goes_on:
        return Why(WaitCause.SUCCEEDED, ended, job.finished_at)
    if wait is None:
        said = f"{ended} The workflow run that it began goes on: `workflows show {job.job_id}` shows its nodes."
        return Why(WaitCause.RUN_GOES_ON, said, job.finished_at)
    until = f" until {_at(job, wait.until)}" if wait.until else ""
    if wait.approval_id is not None:
        said = f"Node {wait.node} of its run waits for a person's approval{until}: `approvals show {wait.approval_id}`."
        return Why(WaitCause.APPROVAL, f"{ended} {said}", wait.since, wait.until)
    what = f"the event {wait.event}" if wait.event else "its time"
    return Why(WaitCause.EVENT, f"{ended} Node {wait.node} of its run waits for {what}{until}.", wait.since, wait.until)


def _letter(letter: LetterFacts | None) -> str:
    if letter is None:
        return "Its dead letter is gone."
    match letter.state:
        case "replayed":
            return f"Its dead letter {letter.letter_id} was replayed as the job {letter.replay_job_id}."
        case "discarded":
            by = f" by {letter.resolved_by}" if letter.resolved_by else ""
            reason = _short(letter.resolution or "no reason was given")
            return f"Its dead letter {letter.letter_id} was discarded{by}: {reason}."
        case _:
            return f"Its dead letter {letter.letter_id} is open. {letter.plan}"


def _before(ahead: int, whose: str = "") -> str:
    return f"{_count(ahead, 'job', 'jobs')}{whose} {'is' if ahead == 1 else 'are'} before it"


def _share(job: JobFacts) -> str:
    if job.weight is None:
        return ""
    of_all = f" of {job.weights}" if job.weights and job.weights > job.weight else ""
    return f" Orgs have turns by weight; its org has {job.weight}{of_all}."


def _count(number: int, one: str, many: str, *, least: bool = False) -> str:
    if number > MOST_COUNTED:
        return f"more than {MOST_COUNTED:,} {many}"
    return f"{'at least ' * least}{number:,} {one if number == 1 else many}"


def _no_relay(job: JobFacts) -> str:
    return "" if job.relay_leads else " But no relay leads: no worker process is alive that would do it."


def _attempts(job: JobFacts) -> str:
    return f"{job.attempt} of {job.max_attempts}"


def _error(job: JobFacts) -> str:
    return _short(": ".join(filter(None, (job.code, job.reason)))) or "no error was kept"


def _since(job: JobFacts, at: datetime | None, word: str = "since") -> str:
    return f" {word} {_at(job, at)}" if at else ""


def _at(job: JobFacts, at: datetime | None) -> str:
    """An instant, and how far it is from now."""
    if at is None:
        return "an unknown time"
    seconds = round((at - job.now).total_seconds())
    far = _span(abs(seconds))
    return f"{written(at.replace(microsecond=0))} ({f'in {far}' if seconds >= 0 else f'{far} ago'})"


def _span(seconds: int) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_REASON else f"{line[: LONGEST_REASON - 1]}…"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
