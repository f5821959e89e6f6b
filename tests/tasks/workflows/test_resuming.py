"""A resumed run does again what made it fail, by its version or a newer one, and keeps what it has."""

import pytest

from domain.jobs.failures import Conflict
from tests.workflows.workflow_jobs import BROKEN
from tests.workflows.workflow_runs import Workflows

STEPS = """
name: steps
nodes:
  first: {job: workflow_jobs.write, with: {value: 1}}
  second:
    job: workflow_jobs.write
    needs: [first]
    when: "${nodes.first.output.value == `1`}"
    with: {word: second, value: "${nodes.first.output.value}"}
  third: {job: workflow_jobs.write, needs: [second], with: {value: "${nodes.second.output.value}"}}
  apart: {job: workflow_jobs.write, with: {value: apart}}
output: "${nodes.third.output.value}"
"""


@pytest.fixture(autouse=True)
def _nothing_is_broken() -> None:
    BROKEN.clear()


def jobs(flows: Workflows) -> int:
    row = flows.database.execute("select count(*) from jobs where job_type like 'workflow_jobs.%'").fetchone()
    assert row is not None
    return int(row[0])


def test_a_resume_keeps_what_has_succeeded_and_what_it_cost(flows: Workflows) -> None:
    flows.save(STEPS)
    BROKEN.add("second")
    run_id = flows.finish("steps")
    assert (flows.run(run_id).state, jobs(flows)) == ("failed", 3)
    BROKEN.clear()
    flows.resume(run_id)
    flows.drain()
    run = flows.run(run_id)
    assert (run.state, run.output, run.round, jobs(flows)) == ("succeeded", 1, 2, 5)
    # Each of five jobs has cost seven: the failed one before it failed.
    assert run.cost_microcents == 35


def test_when_is_asked_once(flows: Workflows) -> None:
    flows.save(STEPS)
    BROKEN.add("second")
    run_id = flows.finish("steps")
    # An answer that has changed since would have the node skipped, were it asked again.
    flows.database.execute("update workflow_nodes set output = '{\"value\": 2}' where node = 'first'")
    BROKEN.clear()
    flows.resume(run_id)
    flows.drain()
    assert (flows.states(run_id)["second"], flows.run(run_id).output) == ("succeeded", 1)


def test_a_newer_version_mends_what_failed(flows: Workflows) -> None:
    flows.save(STEPS)
    BROKEN.add("second")
    run_id = flows.finish("steps")
    newer = flows.save(STEPS.replace("word: second", "word: mended").replace("third", "last"))
    flows.resume(run_id, newer)
    flows.drain()
    run = flows.run(run_id)
    assert (run.state, run.version, run.output) == ("succeeded", newer, 1)
    assert flows.states(run_id).keys() == {"first", "second", "last", "apart"}


def test_a_newer_version_that_has_a_kept_node_otherwise_is_refused(flows: Workflows) -> None:
    flows.save(STEPS)
    BROKEN.add("second")
    run_id = flows.finish("steps")
    newer = flows.save(STEPS.replace("with: {value: apart}", "with: {value: other}"))
    with pytest.raises(AssertionError, match=r"Differing.*apart"):
        flows.resume(run_id, newer)


def test_only_an_ended_run_is_resumed(flows: Workflows) -> None:
    flows.save(STEPS)
    run_id = flows.start("steps")
    with pytest.raises(Conflict):
        flows.resume(run_id)


def test_a_canceled_run_goes_on_where_it_stood(flows: Workflows) -> None:
    flows.save(STEPS)
    run_id = flows.start("steps")
    flows.drain("workflows.%")
    flows.run_job(flows.queued("workflow_jobs.%")[0])
    flows.cancel(run_id)
    flows.drain()
    flows.resume(run_id)
    flows.drain()
    assert (flows.run(run_id).state, flows.run(run_id).output) == ("succeeded", 1)


def test_a_run_of_which_only_the_output_failed_ends_by_a_mended_one(flows: Workflows) -> None:
    text = STEPS.replace('output: "${nodes.third.output.value}"', 'output: "${abs(nodes.third.output.word)}"')
    flows.save(text)
    run_id = flows.finish("steps")
    assert (flows.run(run_id).failure or {})["code"] == "expression"
    flows.resume(run_id, flows.save(STEPS))
    flows.drain()
    assert (flows.run(run_id).state, flows.run(run_id).output) == ("succeeded", 1)


def test_resumed_runs_wait_their_turn_among_the_jobs_of_all_orgs(flows: Workflows) -> None:
    flows.save(STEPS)
    BROKEN.add("second")
    failed = [flows.finish("steps") for _ in range(3)]
    for run_id in failed:
        flows.resume(run_id)
    rows = flows.database.execute(
        "select priority, backlog_since is not null from jobs where state = 'queued' and job_type = 'workflows.advance'"
    ).fetchall()
    assert rows == [(0, True)] * 3
