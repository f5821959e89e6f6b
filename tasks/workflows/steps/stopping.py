"""A run that is canceled, or whose time is over, begins nothing more and ends when its work has."""

from domain.workflows.advance import OVER_TIME, RunFailure, RunState, RunStop
from storage.postgres.database import Transaction
from storage.workflows import run_waits, runs
from storage.workflows.run_waits import Stopping
from storage.workflows.runs import Run
from tasks.workflows.steps.advance import Advance
from tasks.workflows.steps.counting import end_nodes, end_of_list
from tasks.workflows.steps.waits import show_outcomes, stop_work


def if_running(tx: Transaction, run: Run | None) -> Run | None:
    """A locked run that goes on, or None; that a run around it is being stopped is written here."""
    if run is not None and run_waits.stop_with_outer_run(tx, run):
        run = runs.lock(tx, run.run_id).answer
    return run if run is not None and run.state is RunState.RUNNING else None


def why_stopped(tx: Transaction, run: Run) -> RunStop | None:
    """Why a run begins nothing more; that its time is over is written here."""
    if run.failure is not None:
        return RunStop.DEADLINE
    if run.cancel_requested_at is not None:
        return RunStop.CANCELED
    if run.deadline_at is None or run.deadline_at > run.read_at:
        return None
    run_waits.note_deadline(tx, run.run_id, OVER_TIME)
    return RunStop.DEADLINE


def failure_of(run: Run) -> RunFailure:
    """Why a run fails that is stopped and that nobody has canceled."""
    return OVER_TIME if run.failure is None else RunFailure(run.failure["code"], run.failure["reason"])


def stop(at: Advance, why: RunStop) -> None:
    """Cancel what has not begun and what waits, and ask what runs to stop; `set_timer` looks for what was locked."""
    reason = at.run.cancel_reason or failure_of(at.run).reason
    canceled = run_waits.cancel_open(at.tx, at.run_id, max(at.left, 1))
    show_outcomes(at, (one.approval_id for one in canceled))
    at.left -= len(canceled)
    asked = 0
    if at.left > 0:
        children = run_waits.running_children(at.tx, at.run_id, at.left)
        asked = stop_work(at, Stopping(why.value, reason, children))
        at.left -= asked
    end_nodes(at, [end_of_list(one) for one in run_waits.stopped_lists(at.tx, at.run_id)])
    at.again = at.again or bool(canceled or asked)
