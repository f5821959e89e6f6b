"""Each run that goes on has something to wait for, at any moment; what is over leaves after a month."""

from datetime import timedelta

import psycopg
import pytest

from storage.jobs import invariants
from storage.workflows import runs
from tests.workflows.workflow_runs import Workflows

SEVERAL = """
name: several
deadline: P1D
nodes:
  list: {job: workflow_jobs.echo, for_each: [1, 2, 3], limit: 2}
  inner: {workflow: inner}
  ask: {wait: {approval: "Well?"}, needs: [list], timeout: PT1H}
  end: {job: workflow_jobs.echo, needs: [ask, inner], run_if: done}
"""


def standing(flows: Workflows) -> list[str]:
    with flows.process.database.ledger() as tx:
        return list(invariants.standing_runs(tx))


def test_a_run_waits_for_something_at_each_moment_of_its_life(flows: Workflows) -> None:
    flows.save("name: inner\nnodes:\n  only: {job: workflow_jobs.echo}\n")
    flows.save(SEVERAL)
    run_id = flows.start("several")
    for _ in range(2):
        while due := flows.queued():
            assert standing(flows) == []
            flows.run_job(due[0])
        assert standing(flows) == []
        flows.pass_time(timedelta(hours=1))
    assert (flows.run(run_id).state, flows.error(run_id, "ask")[0]) == ("failed", "timeout")


@pytest.mark.parametrize(
    "loss",
    [
        "delete from jobs where job_type = 'workflows.advance'",
        (
            "update jobs set state = 'canceled', finished_at = now(), cancel_reason = 'x', backlog_since = null,"
            " next_check_at = null, parked_by = null where job_type = 'workflows.advance' and finished_at is null"
        ),
    ],
)
def test_a_run_that_waits_for_nothing_is_found(flows: Workflows, loss: str) -> None:
    flows.save(SEVERAL.replace("  inner: {workflow: inner}\n", "").replace(", inner]", "]"))
    run_id = flows.start("several")
    flows.database.execute(loss.encode())
    assert [str(run_id) in found for found in standing(flows)] == [True, True], "nor would anybody see its deadline"


def test_a_wait_whose_end_nobody_would_see_is_found(flows: Workflows) -> None:
    flows.save("name: one\nnodes:\n  ask: {wait: {approval: 'Well?'}}\n")
    run_id = flows.finish("one")
    assert standing(flows) == []
    flows.database.execute("delete from jobs where job_type = 'workflows.advance'")
    (found,) = standing(flows)
    assert str(run_id) in found


TIMED = """
name: timed
deadline: P1D
nodes:
  work: {job: workflow_jobs.echo, timeout: PT1H}
"""


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param("delete from jobs where id in (select timer_job from workflow_runs)", id="of work"),
        pytest.param("update workflow_runs set timer_at = timer_at + interval '1 hour'", id="too late"),
        pytest.param(
            "with gone as (update workflow_nodes set wait_until = null)"
            " delete from jobs where id in (select timer_job from workflow_runs)",
            id="of the run",
        ),
    ],
)
def test_a_time_that_nobody_would_see_is_found(flows: Workflows, loss: str) -> None:
    flows.save(TIMED)
    run_id = flows.start("timed")
    flows.drain("workflows.advance")
    assert standing(flows) == []
    flows.database.execute(loss.encode())
    (found,) = standing(flows)
    assert str(run_id) in found


def test_an_end_of_which_no_hook_will_hear_is_found(flows: Workflows, database_url: str) -> None:
    flows.save("name: one\nnodes:\n  work: {job: workflow_jobs.echo}\n")
    run_id = flows.start("one")
    flows.drain("workflows.advance")
    with psycopg.connect(database_url) as rival:
        rival.execute("select from workflow_nodes for update")
        flows.drain("workflow_jobs.echo")
    assert standing(flows) == []
    flows.database.execute("delete from jobs where job_type = 'maintenance.run_end_hook'")
    (found,) = standing(flows)
    assert str(run_id) in found


def test_runs_that_ended_long_ago_are_forgotten_with_all_that_is_in_them(flows: Workflows) -> None:
    flows.save("name: inner\nnodes:\n  only: {job: workflow_jobs.echo}\n")
    flows.save("name: outer\nnodes:\n  inner: {workflow: inner, for_each: [1, 2]}\n  one: {job: workflow_jobs.echo}\n")
    old, young = flows.finish("outer"), flows.finish("outer")
    flows.database.execute("update workflow_runs set finished_at = now() - interval '31 days' where id = %s", (old,))
    with flows.process.database.ledger() as tx:
        while runs.forget(tx, batch=2) == 2:
            pass
    left = flows.database.execute("select id from workflow_runs where parent_run is null").fetchall()
    assert left == [(young,)]
    assert flows.database.execute("select count(*) from workflow_runs").fetchone() == (3,)
    assert flows.database.execute("select count(*) from workflow_nodes").fetchone() == (6,)
