"""What a run waits for: people, events and times; and the timer that has it go on."""

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from datetime import timedelta
from uuid import UUID, uuid4

from domain.jobs.job import KeysOf
from domain.payloads.approvals import ShowOutcomePayload
from domain.payloads.workflows import AdvancePayload
from domain.workflows.advance import TIMEOUT, Ask, AwaitEvent, NodeError, Sleep
from domain.workflows.definition import ApprovalWait, Node, UntilWait
from domain.workflows.joins import NodeState
from storage.approvals.approvals import asking
from storage.workflows import run_waits
from storage.workflows.advancing import Begun
from storage.workflows.nodes import THE_NODE
from storage.workflows.run_waits import DueNode, EndedWait, KeptEvent, Stopping
from tasks.workflows.steps.advance import Advance

OVER = NodeError(TIMEOUT, "the time of the node was over")
SOON = timedelta(seconds=2)
"""When a run looks again at what somebody has locked, as the handler of a job does in a transaction of its own."""


def begun_wait(at: Advance, node: Node, wait: Ask | AwaitEvent | Sleep) -> Begun:
    """A node that begins to wait, until its time is over."""
    now = at.run.read_at
    until = None if node.timeout is None else now + node.timeout
    match wait:
        case Ask(question, show):
            until = until or now + timedelta(seconds=at.ctx.settings.approval_expires_after_s)
            asked = {"question": question, "show": show}
            roles = node.work.roles if isinstance(node.work, ApprovalWait) else ()
            return Begun(node.name, THE_NODE, asked, wait_until=until, approval_id=uuid4(), roles=roles)
        case AwaitEvent(event):
            return Begun(node.name, THE_NODE, {"event": event}, wait_until=until)
        case Sleep(awake_at):
            first = awake_at if until is None else min(awake_at, until)
            given = {"until": awake_at.isoformat(), "times_out": first < awake_at}
            return Begun(node.name, THE_NODE, given, wait_until=first)


def ask(at: Advance, begun: Sequence[Begun]) -> None:
    """Have people asked about the nodes among these that wait for a decision, and reminded."""
    for one in begun:
        if one.approval_id is not None and one.wait_until is not None:
            for payload, run_at in asking(one.approval_id, at.run.read_at, one.wait_until):
                at.ctx.enqueue(at.tx, payload, run_at=run_at)


def show_outcomes(at: Advance, approval_ids: Iterable[UUID | None]) -> None:
    """Have questions be shown as answered that nobody has answered."""
    at.ctx.enqueue(at.tx, *(ShowOutcomePayload(approval_id=one) for one in approval_ids if one is not None))


def take_events(at: Advance) -> None:
    """Give events to the waits for them: the oldest to the longest waiting, unless the wait was over before."""
    kept: dict[str, deque[KeptEvent]] = defaultdict(deque)
    for event in run_waits.kept_events(at.tx, at.run_id):
        kept[event.name].append(event)
    if not kept:
        return
    pairs: list[tuple[str, UUID]] = []
    for waiting in run_waits.event_waits(at.tx, at.run_id):
        events = kept[waiting.event]
        if events and (waiting.until is None or events[0].at < waiting.until):
            pairs.append((waiting.node, events.popleft().event_id))
    if pairs:
        run_waits.take_events(at.tx, at.run_id, pairs)
        at.left -= len(pairs)
        at.again = True


def time_out(at: Advance) -> None:
    """End what waits and whose time is over, and have work stop whose time is."""
    due = run_waits.due_nodes(at.tx, at.run_id, max(at.left, 1))
    if not due:
        return
    waiting = [one for one in due if one.state is NodeState.WAITING]
    if waiting:
        show_outcomes(at, run_waits.end_waits(at.tx, at.run_id, [_ended(at, one) for one in waiting]))
    running = [one for one in due if one.state is NodeState.RUNNING]
    asked = 0
    if running:
        child_runs = [one.child_run for one in running if one.child_run is not None]
        asked = stop_work(at, Stopping(TIMEOUT, OVER.reason, child_runs, running))
    at.left -= len(due)
    at.again = at.again or bool(waiting or asked)


def _ended(at: Advance, due: DueNode) -> EndedWait:
    node = at.workflow.definition.nodes[due.node]
    if isinstance(node.work, UntilWait) and due.input and not due.input["times_out"]:
        return EndedWait(due.node, NodeState.SUCCEEDED, output={"until": due.input["until"]})
    return EndedWait(due.node, NodeState.FAILED, error=OVER)


def stop_work(at: Advance, wanted: Stopping) -> int:
    """Ask work to stop; returns how many nodes and items were asked."""
    asked, to_end = run_waits.stop(at.tx, at.run_id, wanted, max(at.left, 1))
    for run_id in to_end:
        at.ctx.enqueue(at.tx, AdvancePayload(run_id=run_id))
    return asked


def set_timer(at: Advance) -> None:
    """Have an advance come when the next time of a node, an item or the run is over; soon, if something was locked."""
    run = at.run
    times = [run_waits.next_due(at.tx, at.run_id) if at.workflow.has_times else None]
    times.append(run.deadline_at if at.stop is None else None)
    if at.is_locked or (at.stop is not None and run_waits.has_work_to_stop(at.tx, at.run_id)):
        times.append(run.read_at + SOON)
    due = min((one for one in times if one is not None), default=None)
    if due is not None and due <= run.read_at:
        # Its time is over, and it has not ended: it was locked.
        due = run.read_at + SOON
    timer = None if run.timer_job == at.ctx.job.job_id else run.timer_at
    if due is None or (timer is not None and run.read_at < timer <= due):
        return
    (made,) = at.ctx.enqueue(
        at.tx,
        AdvancePayload(run_id=at.run_id),
        run_at=due,
        # Single by the transaction that also writes the time down. An attempt before this may have set another timer.
        idempotency_key=f"workflow:{at.run_id}:timer:{uuid4()}",
        keys_of=KeysOf.FLEET,
    )
    run_waits.set_timer(at.tx, at.run_id, due, made.job_id)
