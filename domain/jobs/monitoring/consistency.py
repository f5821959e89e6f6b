"""What a job's row, its audit log and its guard must say of one another (docs: promises.md#p2)."""

from collections.abc import Sequence

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

AFTER_THE_END = frozenset({"job.hook_failed", "job.replayed"})
"""Events of a job that has ended; they move nothing."""

GUARD_SAYS = {
    State.QUEUED: "pending",
    State.CLAIMED: "running",
    State.RUNNING: "running",
    State.SUCCEEDED: "succeeded",
    State.DEAD: "dead",
    State.FAILED: "failed",
    State.CANCELED: "failed",
}
"""What the guard of a job says, by the job's state."""


def find_gap(
    events: Sequence[tuple[str, int]], ends_in: State, last_attempt: int, *, dead_on_arrival: bool
) -> str | None:
    """The first thing that is wrong with a job's events: an illegal move, an attempt out of order, another end.

    A claimed job's events end in `QUEUED`: a claim gets its entry when the job begins, or goes back.
    """
    if not events or events[0] != ("job.enqueued", 0):
        return "the events do not begin with job.enqueued"
    state, attempt = State.QUEUED, 0
    for event, counted in events[1:]:
        if (event == "job.cancel_requested" and not state.final) or (event in AFTER_THE_END and state.final):
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
