"""The order of the steps in which a transaction takes a run further."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from domain.payloads.workflows import AdvancePayload
from domain.workflows.advance import end_run, nodes_read_at_end
from engine.context import JobContext
from storage.jobs import audit
from storage.postgres.database import Transaction
from storage.postgres.transaction import Asked
from storage.workflows import advancing, nodes, run_waits, runs
from storage.workflows.advancing import NextNode, TakenEnds
from tasks.workflows.steps.advance import Advance
from tasks.workflows.steps.counting import count_ends
from tasks.workflows.steps.known import workflow_of
from tasks.workflows.steps.stopping import failure_of, if_running, stop, why_stopped
from tasks.workflows.steps.turns import begin_items, facts_in, take_turns
from tasks.workflows.steps.waits import set_timer, take_events, time_out

MOST_ROWS = 1_000
"""Of a transaction of an advance: a part of a second's work, so that no lock is held for long."""
LONGEST = timedelta(seconds=1)
"""Of what a transaction evaluates, and one evaluation more: the database ends one that is idle for too long, and an
advance that nothing of is committed would begin at the same node for ever."""
ROWS_OF_A_ROUND = 10
"""What the statements of one look cost that find little to do, in rows: a chain of skipped nodes takes one for each."""

ENDED = "workflow.ended"
"""The event in the audit log."""


def take_further(ctx: JobContext, tx: Transaction, run_id: UUID) -> bool:
    """Take a run further by some rows; whether there is more to do at once."""
    locked, ends = runs.lock(tx, run_id), ask(tx, run_id, MOST_ROWS)
    run = if_running(tx, locked.answer)
    if run is None:
        return False
    late_at = ctx.now() + LONGEST
    at = Advance(ctx, tx, run, workflow_of(ctx, tx, run), MOST_ROWS, late_at, *ends, why_stopped(tx, run))
    nodes_left = run.nodes_left
    while True:
        at.again = False
        counted = count_ends(at)
        nodes_left = nodes_left if counted is None else counted
        if nodes_left == 0:
            _end(at)
            return False
        if at.left <= 0:
            return True
        at.left -= ROWS_OF_A_ROUND
        if at.stop is None:
            _go_on(at)
        else:
            stop(at, at.stop)
        if not at.again:
            break
        at.ended, at.following = ask(tx, run_id, at.left)
    if at.left <= 0:
        return True
    set_timer(at)
    return False


def ask(tx: Transaction, run_id: UUID, rows: int) -> tuple[Asked[TakenEnds], Asked[Sequence[NextNode]]]:
    """Have ends counted, and ask whose turn comes with these: in one round trip, with the lock of the run before."""
    most = max(rows, 1)
    return advancing.count_ended(tx, run_id, most), advancing.next_nodes(tx, run_id, most)


def _go_on(at: Advance) -> None:
    """Begin what may begin, and end the waits that are over."""
    take_turns(at)
    if at.workflow.has_items and at.left > 0:
        begin_items(at)
    if at.workflow.has_events:
        take_events(at)
    if at.workflow.has_times:
        time_out(at)


def _end(at: Advance) -> None:
    """End a run whose nodes have all ended, and have the run around it go on."""
    definition = at.workflow.definition
    read = nodes_read_at_end(definition)
    facts = facts_in(at, advancing.read_nodes(at.tx, at.run_id, read, read))
    end = end_run(definition, nodes.ends(at.tx, at.run_id), facts, at.stop, failure_of(at.run))
    if end is None:
        raise AssertionError("a run has no nodes left, and one of them has not ended")
    is_of_node = run_waits.end_run(at.tx, at.run, end)
    failure = None if end.failure is None else {"code": end.failure.code, "nodes": list(end.failure.nodes[:20])}
    ended = {"run_id": str(at.run_id), "workflow": at.run.workflow, "state": end.state.value, "failure": failure}
    audit.append(at.tx, at.ctx.job, ENDED, ended)
    if is_of_node and at.run.parent_run is not None:
        at.ctx.enqueue(at.tx, AdvancePayload(run_id=at.run.parent_run))
