"""A node may be a run of another workflow: it ends as the run does, and is canceled and resumed with it."""

import pytest

from domain.jobs.failures import Conflict
from domain.workflows.definition import MOST_RUNS
from tests.workflows.workflow_jobs import BROKEN
from tests.workflows.workflow_runs import Workflows

INNER = """
name: inner
input: {type: object, required: [n], properties: {n: {type: integer}}}
nodes:
  cheap: {job: workflow_jobs.write, with: {value: "${input.n}"}}
  frail: {job: workflow_jobs.write, needs: [cheap], with: {word: frail, value: "${nodes.cheap.output.value}"}}
output: "${nodes.frail.output.value}"
"""
OUTER = """
name: outer
input: {type: object, properties: {list: {type: array}}}
nodes:
  one: {workflow: inner, with: {n: 5}}
  each: {workflow: inner, for_each: "${input.list}", limit: 2, with: {n: "${item}"}}
  end: {job: workflow_jobs.echo, needs: [one, each], with: {value: "${[nodes.one.output, nodes.each.outputs]}"}}
output: "${nodes.end.output.value}"
"""


@pytest.fixture(autouse=True)
def _nothing_is_broken() -> None:
    BROKEN.clear()


@pytest.fixture
def saved(flows: Workflows) -> Workflows:
    flows.save(INNER)
    flows.save(OUTER)
    return flows


def test_a_node_gives_what_its_run_gave_and_costs_what_it_cost(saved: Workflows) -> None:
    run = saved.run(saved.finish("outer", {"list": [1, 2, 3]}))
    assert (run.state, run.output, run.cost_microcents) == ("succeeded", [5, [1, 2, 3]], 4 * 14)


def test_a_run_keeps_to_the_versions_of_its_begin(saved: Workflows) -> None:
    run_id = saved.start("outer", {"list": [1, 2, 3]})
    saved.save(INNER.replace('value: "${input.n}"', "value: 9"))
    saved.drain()
    assert saved.run(run_id).output == [5, [1, 2, 3]]
    assert saved.run(saved.finish("outer", {"list": []})).output == [9, []]


def test_an_input_that_does_not_fit_fails_the_node(saved: Workflows) -> None:
    run_id = saved.finish("outer", {"list": ["x"]})
    assert saved.states(run_id) == {"one": "succeeded", "each": "failed", "end": "skipped"}
    row = saved.database.execute("select error from workflow_nodes where node = 'each' and item = 0").fetchone()
    assert row is not None
    assert (row[0]["code"], row[0]["reason"].partition(":")[0]) == ("invalid", "input.n")


def test_a_run_that_is_resumed_resumes_the_runs_inside_it(saved: Workflows) -> None:
    BROKEN.add("frail")
    run_id = saved.finish("outer", {"list": [1, 2]})
    assert saved.error(run_id, "one")[0] == "permanent"
    made = saved.database.execute("select id from workflow_runs where parent_run is not null order by id").fetchall()
    BROKEN.clear()
    saved.resume(run_id)
    saved.drain()
    assert saved.run(run_id).output == [5, [1, 2]]
    again = saved.database.execute("select id from workflow_runs where parent_run is not null order by id").fetchall()
    assert again == made, "none is begun anew"
    assert {saved.run(row[0]).round for row in made} == {2}
    cheap = "select count(*) from jobs where job_type = 'workflow_jobs.write' and payload ->> 'word' = ''"
    assert saved.database.execute(cheap).fetchone() == (3,)
    with pytest.raises(Conflict, match=str(run_id)):
        saved.resume(made[0][0])


def test_a_cancellation_reaches_the_runs_inside(saved: Workflows) -> None:
    run_id = saved.start("outer", {"list": [1, 2, 3]})
    saved.drain("workflows.%")
    saved.cancel(run_id, "enough")
    saved.drain()
    assert saved.database.execute("select distinct state from workflow_runs").fetchall() == [("canceled",)]
    assert set(saved.states(run_id).values()) == {"canceled"}
    assert saved.database.execute("select count(*) from jobs where finished_at is null").fetchone() == (0,)


LEVELS = (
    "name: low\nnodes:\n  n: {wait: {until: PT1H}}\n",
    "name: middle\nnodes:\n  n: {workflow: low, for_each: [1, 2]}\n",
    "name: top\nnodes:\n  n: {workflow: middle, for_each: [1, 2]}\n",
)


def test_nothing_begins_in_a_run_around_which_one_is_canceled(flows: Workflows) -> None:
    """Though the request has not come down to it: the advances between are behind many others."""
    for level in LEVELS:
        flows.save(level)
    run_id = flows.start("top")
    flows.run_job(flows.queued("workflows.advance")[0])
    inner = flows.queued("workflows.advance")
    flows.cancel(run_id, "too many")
    for advance in inner:
        flows.run_job(advance)
    ends = "select state, cancel_reason from workflow_runs where parent_run is not null"
    assert flows.database.execute(ends).fetchall() == [("canceled", "too many")] * 2
    flows.drain()
    assert flows.run(run_id).state == "canceled"
    nodes = "select state from workflow_nodes where run_id = %s"
    assert flows.database.execute(nodes, (run_id,)).fetchall() == [("canceled",)] * 3
    assert flows.database.execute("select count(*) from jobs where finished_at is null").fetchone() == (0,)


def test_runs_inside_a_run_are_counted_at_all_depths(saved: Workflows) -> None:
    run_id = saved.start("outer", {"list": [1, 2]})
    saved.database.execute(
        "insert into workflow_runs (org_id, workflow, version, input, state, finished_at, nodes_left, actor_type,"
        " actor_id, request_id, correlation_id, parent_run, parent_node, parent_item, root_run, depth)"
        " select org_id, workflow, version, '{}', 'succeeded', now(), 0, actor_type, actor_id, request_id,"
        " correlation_id, id, 'one', n, id, 2 from workflow_runs, generate_series(2, %s) n where id = %s",
        (MOST_RUNS - 1, run_id),
    )
    saved.drain()
    assert saved.states(run_id) == {"one": "succeeded", "each": "failed", "end": "skipped"}
    items = "select state, error ->> 'code' from workflow_nodes where node = 'each' and item >= 0 order by item"
    assert saved.database.execute(items).fetchall() == [("succeeded", None), ("failed", "invalid")]


def test_a_run_that_is_canceled_by_itself_fails_its_node(saved: Workflows) -> None:
    run_id = saved.start("outer", {"list": []})
    saved.drain("workflows.%")
    row = saved.database.execute("select child_run from workflow_nodes where node = 'one'").fetchone()
    assert row is not None
    saved.cancel(row[0], "this one")
    saved.drain()
    assert (saved.run(run_id).state, saved.error(run_id, "one")[0]) == ("failed", "canceled")


def test_runs_go_five_deep_and_no_deeper(flows: Workflows) -> None:
    flows.save("name: d0\nnodes:\n  n: {job: workflow_jobs.echo}\n")
    for depth in range(1, 6):
        flows.save(f"name: d{depth}\nnodes:\n  n: {{workflow: d{depth - 1}}}\n")
    assert flows.run(flows.finish("d5")).state == "succeeded"
    # Who saves this does not see what is above it.
    flows.save("name: e\nnodes:\n  n: {job: workflow_jobs.echo}\n")
    flows.save("name: d0\nnodes:\n  n: {workflow: e}\n")
    failed = flows.run(flows.finish("d5"))
    assert (failed.state, failed.failure and failed.failure["code"]) == ("failed", "invalid")
