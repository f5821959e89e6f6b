"""What somebody has locked while an advance comes by is not forgotten: another advance comes soon."""

from datetime import timedelta
from uuid import UUID

import pytest

from domain.jobs.failures import Transient
from domain.jobs.job import Done
from storage.approvals import subjects
from storage.postgres.database import Transaction
from tasks.workflows import workflows
from tests.doubles.inline_worker import claim_job
from tests.workflows.workflow_runs import Workflows

LATER = timedelta(minutes=1)
ASKS = """
name: asks
nodes:
  ask: {wait: {approval: "Go on?"}, timeout: PT12H}
  then: {job: workflow_jobs.echo, needs: [ask]}
"""


@pytest.mark.parametrize("code", ["canceled", "timeout"])
def test_a_job_is_asked_to_stop_though_its_handler_was_writing(flows: Workflows, code: str) -> None:
    flows.save("name: one\nnodes:\n  one: {job: workflow_jobs.echo, timeout: PT5M}\n")
    run_id = flows.start("one")
    flows.drain("workflows.%")
    (job_id,) = flows.queued("workflow_jobs.%")
    held = claim_job(flows.process, job_id)
    if code == "timeout":
        flows.pass_time(timedelta(minutes=6))
    else:
        flows.cancel(run_id)
    asked = "select state, cancel_requested_at is not null from jobs where id = %s"
    with flows.process.database.ledger() as handler:
        handler.raw("select postroom.hold_claim(%(job)s, %(token)s)", {"job": held.job_id, "token": held.token})
        flows.drain("workflows.%")
        assert flows.database.execute(asked, (job_id,)).fetchone() == ("claimed", False)
        # Nobody has asked it: an end of its own would be its node's.
        stopped = flows.database.execute("select stopped_for from workflow_nodes where job_id = %s", (job_id,))
        assert stopped.fetchone() == (None,)
    flows.pass_time(LATER)
    flows.drain("workflows.%")
    assert flows.database.execute(asked, (job_id,)).fetchone() == ("claimed", True)


def _hold_question(flows: Workflows, tx: Transaction, run_id: UUID) -> None:
    """What the job that has asked does at its end."""
    row = flows.database.execute(
        "select approval_id from workflow_nodes where run_id = %s and node = 'ask'", (run_id,)
    ).fetchone()
    assert row is not None
    subjects.still_waits(tx, subjects.get(tx, row[0]))


@pytest.mark.parametrize("end", ["succeeded", "canceled"])
def test_a_node_that_was_locked_when_its_end_came_has_the_run_go_on(flows: Workflows, end: str) -> None:
    flows.save(ASKS)
    run_id = flows.start("asks")
    flows.drain("workflows.%")
    assert flows.cancel(run_id) if end == "canceled" else flows.decide(run_id, "ask", approve=True)
    with flows.process.database.ledger() as tx:
        _hold_question(flows, tx, run_id)
        flows.drain("workflows.%")
    flows.pass_time(LATER)
    flows.drain("workflow%")
    assert flows.run(run_id).state == end


def test_an_attempt_that_was_lost_after_its_commit_leaves_the_next_one_a_timer(
    flows: Workflows, monkeypatch: pytest.MonkeyPatch
) -> None:
    flows.save("""
name: times
nodes:
  long: {wait: {until: PT1H}}
  job: {job: workflow_jobs.echo}
  short: {wait: {until: PT1M}, needs: [job]}
""")
    run_id = flows.start("times")
    (job_id,) = flows.queued("workflows.advance")

    def lost() -> Done:
        raise Transient("the worker is gone")

    with monkeypatch.context() as patch:
        patch.setattr(workflows, "Done", lost)
        assert flows.run_job(job_id) == "queued"
    flows.drain("workflow_jobs.%")
    flows.pass_time(timedelta(seconds=30))
    flows.drain()
    assert flows.states(run_id)["short"] == "waiting"
    flows.pass_time(timedelta(minutes=2))
    flows.drain()
    assert (flows.states(run_id)["short"], flows.states(run_id)["long"]) == ("succeeded", "waiting")
