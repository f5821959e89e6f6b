"""What must hold in every ledger, whatever happened to its processes (docs: promises.md): read from its rows alone."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from psycopg import Connection

from domain.jobs.job import State
from domain.jobs.lifecycle import MOVES

LEADS_TO = {
    "job.claimed": State.CLAIMED,
    "job.started": State.RUNNING,
    "job.retried": State.QUEUED,
    "job.succeeded": State.SUCCEEDED,
    "job.failed": State.FAILED,
    "job.canceled": State.CANCELED,
    "job.deadlettered": State.DEAD,
}
"""The state that each audit event of a move leads to; `job.enqueued` begins the log, and a request moves nothing."""

GUARD_SAYS = {
    State.QUEUED: "pending",
    State.CLAIMED: "running",
    State.RUNNING: "running",
    State.SUCCEEDED: "succeeded",
    State.DEAD: "dead",
    State.FAILED: "failed",
    State.CANCELED: "failed",
}

HOLDING = {State.CLAIMED, State.RUNNING}


def check_ledger(connection: Connection[Any], *, open_jobs: int = 0) -> None:
    """Fail with everything that is wrong; `open_jobs` may legitimately be unfinished."""
    wrong = find_gaps(connection)
    unfinished = connection.execute("select id, state from jobs where finished_at is null").fetchall()
    if len(unfinished) != open_jobs:
        wrong.append(f"{len(unfinished)} jobs are unfinished instead of {open_jobs}: {unfinished[:5]}")
    assert not wrong, "\n".join(wrong)


def find_gaps(connection: Connection[Any], *, resting: bool = True) -> list[str]:
    """Everything that contradicts itself: audit logs, dead letters, guards, concurrency slots, parked jobs.

    While the fleet is not `resting`, jobs may be parked a moment longer than they need be: the relay finds them.
    """
    looks = (_audit_logs, _letters, _guards, _keys_of_jobs, _slots, *([_parked] if resting else []))
    with connection.transaction():
        # One snapshot for all: what a fleet at work writes between two queries is no contradiction.
        connection.execute("set transaction isolation level repeatable read")
        return [wrong for look in looks for wrong in look(connection)]


def check_calls(calls: list[str]) -> None:
    """Fail when something was done to the outside world twice (promise P3)."""
    assert [call for call, times in Counter(calls).items() if times > 1] == []


def _audit_logs(connection: Connection[Any]) -> Iterator[str]:
    log: dict[Any, list[tuple[str, int]]] = defaultdict(list)
    rows = connection.execute("select job_id, event, attempt from audit_log where event like 'job.%' order by id")
    for job_id, event, attempt in rows:
        log[job_id].append((event, attempt))
    jobs = connection.execute("select id, state, attempt, error ->> 'code' from jobs").fetchall()
    for job_id, state, attempt, code in jobs:
        events = log[job_id]
        dead_on_arrival = code == "unknown_type"
        # A claim gets its entry when the job begins, or goes back.
        audited = State.QUEUED if state == State.CLAIMED else State(state)
        problem = walk(events, audited, attempt, dead_on_arrival=dead_on_arrival)
        if problem:
            yield f"job {job_id} ({state}): {problem} in {events}"


def walk(events: list[tuple[str, int]], ends_in: State, last_attempt: int, *, dead_on_arrival: bool) -> str | None:
    """The first thing that is wrong with the events: an illegal move, an attempt that does not follow, another end."""
    if not events or events[0] != ("job.enqueued", 0):
        return "the events do not begin with job.enqueued"
    state, attempt = State.QUEUED, 0
    for event, counted in events[1:]:
        if (event == "job.cancel_requested" and not state.final) or (event == "job.hook_failed" and state.final):
            continue
        reached = LEADS_TO.get(event)
        # A job that dies has failed first; only one that nobody could run has not.
        dies = event == "job.deadlettered" and state is (State.QUEUED if dead_on_arrival else State.FAILED)
        if not dies and (reached in {None, State.DEAD} or (state, reached) not in MOVES):
            return f"{event} cannot follow {state.value}"
        if counted not in _attempts_after(event, attempt):
            return f"{event} counts attempt {counted} after {attempt}"
        state, attempt = reached or state, counted
    return None if (state, attempt) == (ends_in, last_attempt) else f"it ends in {state.value}, attempt {attempt}"


def _attempts_after(event: str, attempt: int) -> set[int]:
    match event:
        case "job.started":
            return {attempt + 1}
        case "job.retried":
            return {attempt, attempt - 1}  # counted, or given back by a shutdown, snooze or gate
    return {attempt}


def _letters(connection: Connection[Any]) -> Iterator[str]:
    dead = {row[0] for row in connection.execute("select id from jobs where state = 'dead'")}
    letters = {row[0] for row in connection.execute("select job_id from dead_letters")}
    if dead != letters:
        yield f"dead jobs without a letter: {dead - letters}; letters without a dead job: {letters - dead}"


def _guards(connection: Connection[Any]) -> Iterator[str]:
    rows = connection.execute(
        "select j.id, j.state, k.status from jobs j join idempotency_keys k"
        " on k.org_id = j.org_id and k.key = j.idempotency_key and k.job_id = j.id where j.guarded"
    )
    for job_id, state, status in rows:
        if GUARD_SAYS[State(state)] != status:
            yield f"job {job_id} is {state}, but its guard says {status}"


def _keys_of_jobs(connection: Connection[Any]) -> Iterator[str]:
    rows = connection.execute(
        "select k.key, k.status, j.id, j.state from idempotency_keys k join jobs j on j.id = k.job_id"
        " where k.kind = 'job' and (k.owner_token is not null or j.idempotency_key <> k.key or not j.guarded)"
    )
    for key, status, job_id, state in rows:
        yield f"the guard {key}, which says {status}, names job {job_id} ({state}), whose key it is not"


def _slots(connection: Connection[Any]) -> Iterator[str]:
    rows = connection.execute(
        "select s.serial_key, s.slot, j.state, j.serial_key from serial_slots s left join jobs j on j.id = s.job_id"
    )
    for key, slot, state, wanted in rows:
        if state is None or State(state) not in HOLDING:
            yield f"the slot {slot} of {key} is held by a job that is {state}"
        if wanted != key:
            yield f"the slot {slot} of {key} is held by a job with the key {wanted}"
    rows = connection.execute(
        "select serial_key, count(*), postroom.serial_limit(serial_key) from serial_slots group by 1"
    )
    for key, held, limit in rows:
        if held > limit:
            yield f"{held} jobs hold {key}, which has {limit} slots"
    rows = connection.execute(
        "select j.id, j.serial_key from jobs j where j.state in ('claimed', 'running') and j.serial_key is not null"
        " and not exists (select from serial_slots s where s.job_id = j.id and s.serial_key = j.serial_key)"
    )
    for job_id, key in rows:
        yield f"job {job_id} is held without a slot of {key}"


def _parked(connection: Connection[Any]) -> Iterator[str]:
    """Beyond what the table's own constraints say: whoever is parked waits for something that is there."""
    rows = connection.execute("select id, parked_by, serial_key from jobs where parked_by like 'key:%'")
    for job_id, name, key in rows:
        if name != f"key:{key}":
            yield f"job {job_id} with the key {key} is parked by {name}"
    rows = connection.execute(
        "select distinct serial_key from jobs where parked_by like 'key:%' and postroom.serial_limit(serial_key)"
        " > (select count(*) from serial_slots s where s.serial_key = jobs.serial_key)"
    )
    for (key,) in rows:
        yield f"jobs are parked by {key}, which has room"
    rows = connection.execute(
        "select distinct parked_by from jobs where parked_by like 'gate:%' and not exists"
        " (select from gates g where (g.until is null or g.until > now())"
        " and parked_by = 'gate:' || g.scope || ':' || g.key)"
    )
    for (name,) in rows:
        yield f"jobs are parked by {name}, which is open"
