"""A run that is canceled, or whose time is over, ends with all that is in it; a job that is canceled fails its node."""

from datetime import timedelta
from uuid import UUID

import pytest

from domain.jobs.job import Cancel, Done, Origin
from domain.jobs.lifecycle import settlement_of
from domain.jobs.retry import STANDARD
from storage.jobs import ledger
from tests.doubles.inline_worker import claim_job
from tests.workflows.workflow_jobs import BROKEN
from tests.workflows.workflow_runs import Workflows

MIXED = """
name: mixed
deadline: PT1H
nodes:
  done: {job: workflow_jobs.echo}
  works: {job: workflow_jobs.echo, with: {word: works}}
  waits: {wait: {approval: "Go on?"}}
  list: {job: workflow_jobs.echo, for_each: [1, 2, 3, 4], limit: 2, with: {value: "${item}"}}
  later: {job: workflow_jobs.echo, needs: [works, waits, list]}
  always: {job: workflow_jobs.echo, needs: [works], run_if: done}
"""


@pytest.fixture(autouse=True)
def _nothing_is_broken() -> None:
    BROKEN.clear()


def begun(flows: Workflows) -> UUID:
    """A run of which a node has ended and the others are under way or to come."""
    flows.save(MIXED)
    run_id = flows.start("mixed")
    flows.drain("workflows.%")
    flows.run_job(flows.queued("workflow_jobs.%")[0])
    flows.drain("workflows.%")
    return run_id


def test_what_has_not_ended_is_canceled_with_the_run(flows: Workflows) -> None:
    run_id = begun(flows)
    assert flows.states(run_id)["done"] == "succeeded"
    assert flows.cancel(run_id, "no need")
    assert flows.cancel(run_id, "again"), "whoever asks again changes nothing"
    flows.drain("workflows.%")
    states = flows.states(run_id)
    assert states.pop("done") == "succeeded"
    assert set(states.values()) == {"canceled"}
    run = flows.run(run_id)
    assert (run.state, run.failure, run.cancel_reason) == ("canceled", None, "no need")
    assert not flows.cancel(run_id)
    assert flows.database.execute("select count(*) from jobs where state = 'canceled'").fetchone() == (3,)
    assert flows.database.execute("select count(*) from job_waiters").fetchone() == (0,)


@pytest.mark.parametrize("outcome", [Done({"late": True}), Cancel("stopped")], ids=["succeeds", "stops"])
def test_the_run_ends_when_its_running_jobs_have(flows: Workflows, outcome: Done | Cancel) -> None:
    run_id = begun(flows)
    jobs = flows.queued("workflow_jobs.%")
    held = claim_job(flows.process, jobs[0])
    flows.cancel(run_id)
    flows.drain("workflows.%")
    assert flows.run(run_id).state == "running"
    with flows.process.database.ledger() as tx:
        assert ledger.cancel_requested(tx, held.job_id, held.token) == "enough"
    with flows.process.database.statements() as tx:
        end = settlement_of(held, outcome, STANDARD, flows.process.clock(), 0.0)
        assert not ledger.settle(tx, [end]).refused
    flows.drain()
    assert flows.run(run_id).state == "canceled"
    ended = flows.database.execute("select state from workflow_nodes where job_id = %s", (held.job_id,)).fetchone()
    assert ended == ("succeeded" if isinstance(outcome, Done) else "canceled",)


def test_a_run_whose_time_is_over_fails_though_a_person_still_thinks(flows: Workflows) -> None:
    run_id = begun(flows)
    flows.drain()
    assert flows.states(run_id)["waits"] == "waiting"
    flows.pass_time(timedelta(hours=1))
    flows.drain()
    run = flows.run(run_id)
    assert (run.state, run.failure and run.failure["code"], flows.states(run_id)["waits"]) == (
        "failed",
        "deadline",
        "canceled",
    )
    assert not flows.decide(run_id, "waits", approve=True)


def test_a_job_that_an_operator_cancels_fails_its_node(flows: Workflows) -> None:
    flows.save("name: one\nnodes:\n  one: {job: workflow_jobs.echo}\n")
    run_id = flows.start("one")
    flows.drain("workflows.%")
    with flows.process.database.ledger() as tx:
        ledger.cancel(tx, flows.queued("workflow_jobs.%"), "not this one", by=Origin())
    flows.drain()
    assert (flows.run(run_id).state, flows.error(run_id, "one")) == ("failed", ("canceled", "not this one"))


def test_who_cancels_an_advance_cancels_the_run(flows: Workflows) -> None:
    flows.save("name: one\nnodes:\n  one: {job: workflow_jobs.echo}\n")
    run_id = flows.start("one")
    with flows.process.database.ledger() as tx:
        ledger.cancel(tx, flows.queued("workflows.advance"), "stop it", by=Origin())
    flows.drain()
    assert (flows.run(run_id).state, flows.run(run_id).cancel_reason) == ("canceled", "stop it")


def test_the_replay_of_a_dead_job_mends_no_node_and_a_resume_does(flows: Workflows) -> None:
    flows.save("name: dies\nnodes:\n  dies: {job: workflow_jobs.odd, with: {word: dies}}\n")
    run_id = flows.finish("dies")
    row = flows.database.execute("select payload from dead_letters where job_type = 'workflow_jobs.odd'").fetchone()
    assert row is not None
    assert flows.error(run_id, "dies")[0] == "transient"
    flows.enqueue(flows.payload("workflow_jobs.odd", word=""))
    flows.drain()
    assert (flows.run(run_id).state, flows.states(run_id)) == ("failed", {"dies": "failed"})
    flows.database.execute("update workflow_nodes set input = '{}'")
    flows.resume(run_id)
    flows.drain()
    assert (flows.run(run_id).state, flows.run(run_id).round) == ("succeeded", 2)
