"""A node's work is done once for each item of a list: none too early, none too many, none lost."""

from datetime import timedelta
from itertools import count

import pytest

from tests.workflows.workflow_jobs import BROKEN
from tests.workflows.workflow_runs import Workflows

EACH = """
name: each
input: {type: object, required: [list], properties: {list: {}}}
nodes:
  each:
    job: workflow_jobs.echo
    for_each: "${input.list}"
    limit: 3
    with: {value: "${[index, item]}", word: "${join('', ['item ', to_string(item)])}"}
  join: {job: workflow_jobs.echo, needs: [each], with: {value: "${nodes.each.outputs}"}}
output: "${nodes.join.output.value}"
"""


@pytest.fixture(autouse=True)
def _nothing_is_broken() -> None:
    BROKEN.clear()


def test_a_list_without_items_is_done_and_its_join_runs_once(flows: Workflows) -> None:
    flows.save(EACH)
    run_id = flows.finish("each", {"list": []})
    assert (flows.states(run_id), flows.run(run_id).output) == ({"each": "succeeded", "join": "succeeded"}, [])
    assert flows.database.execute("select count(*) from jobs where job_type = 'workflow_jobs.echo'").fetchone() == (1,)


@pytest.mark.parametrize("given", [None, "text", {"a": 1}, 3])
def test_what_is_no_list_fails_the_node(flows: Workflows, given: object) -> None:
    flows.save(EACH)
    run_id = flows.finish("each", {"list": given})
    assert (flows.states(run_id)["each"], flows.error(run_id, "each")[0]) == ("failed", "expression")


def test_more_items_than_a_run_may_have_are_refused_and_not_cut(flows: Workflows) -> None:
    flows.save(
        EACH.replace("${input.list}", "${nodes.make.output.value}")
        .replace("nodes:\n", 'nodes:\n  make: {job: workflow_jobs.echo, with: {value: "${input.list}"}}\n')
        .replace("    limit: 3\n", "    needs: [make]\n")
    )
    run_id = flows.finish("each", {"list": [1] * 10_001})
    assert flows.error(run_id, "each")[0] == "too_many_items"
    assert "10001" in flows.error(run_id, "each")[1]
    assert flows.items(run_id, "each") == []


def at_work(flows: Workflows) -> int:
    return len(flows.queued("workflow_jobs.%"))


def work_off(flows: Workflows, limit: int) -> list[int]:
    """Run one job after the other, and note how many were at work before each."""
    seen: list[int] = []
    while due := flows.queued():
        others = [job for job in due if job not in flows.queued("workflow_jobs.%")]
        if others:
            flows.run_job(others[0])
            continue
        seen.append(at_work(flows))
        flows.run_job(due[-1])
    assert max(seen) <= limit
    return seen


def test_a_limit_is_a_window_that_slides_also_after_a_resume(flows: Workflows) -> None:
    flows.save(EACH)
    BROKEN.update(f"item {n}" for n in (2, 5, 6, 9))
    run_id = flows.start("each", {"list": list(range(12))})
    seen = work_off(flows, 3)
    assert seen[:10] == [3] * 10, "the next one begins as soon as one has ended"
    assert flows.states(run_id) == {"each": "failed", "join": "skipped"}
    BROKEN.clear()
    flows.resume(run_id)
    again = work_off(flows, 3)
    assert len(again) == 5, "four items and the join"
    assert flows.run(run_id).output == [{"value": [n, n], "word": f"item {n}"} for n in range(12)]


def test_a_resumed_item_has_the_input_that_it_had(flows: Workflows) -> None:
    flows.save(EACH)
    BROKEN.add("item b")
    run_id = flows.finish("each", {"list": ["a", "b"]})
    flows.database.execute('update workflow_runs set input = \'{"list": ["other"]}\'')
    BROKEN.clear()
    flows.resume(run_id)
    flows.drain()
    assert flows.run(run_id).output == [{"value": [0, "a"], "word": "item a"}, {"value": [1, "b"], "word": "item b"}]


def test_a_join_waits_for_the_last_item(flows: Workflows) -> None:
    flows.save(EACH.replace("    limit: 3\n", ""))
    flows.start("each", {"list": list(range(30))})
    flows.drain("workflows.%")
    items = flows.queued("workflow_jobs.%")
    assert len(items) == 30
    for job_id in items[:-1]:
        flows.run_job(job_id)
        assert len(flows.queued("workflow_jobs.%")) <= 30
    flows.drain("workflows.%")
    assert flows.queued("workflow_jobs.%") == [items[-1]]
    flows.drain()
    assert flows.database.execute("select state from workflow_runs").fetchall() == [("succeeded",)]


def test_an_item_that_cannot_begin_fails_alone(flows: Workflows) -> None:
    flows.save(EACH.replace("\"${join('', ['item ', to_string(item)])}\"", '"${item}"'))
    run_id = flows.finish("each", {"list": ["a", 2, "c"]})
    assert flows.items(run_id, "each") == [(0, "succeeded"), (1, "failed"), (2, "succeeded")]
    assert flows.error(run_id, "each") == ("items_failed", "1 of 3 items failed")


def test_outputs_that_are_too_large_together_are_refused_by_who_reads_them(flows: Workflows) -> None:
    flows.save(
        """
name: large
nodes:
  each: {job: workflow_jobs.echo, for_each: "${range}", with: {value: "${item}"}}
  reads: {job: workflow_jobs.echo, needs: [each], with: {value: "${length(nodes.each.outputs)}"}}
""".replace('"${range}"', str(list(range(5))))
    )
    run_id = flows.start("large")
    flows.drain("workflows.%")
    for job_id in flows.queued("workflow_jobs.%"):
        flows.run_job(job_id)
    flows.database.execute(
        "update workflow_nodes set output = jsonb_build_object('text', repeat('x', 60000)) where item >= 0"
    )
    flows.database.execute(
        "insert into workflow_nodes (run_id, node, item, org_id, state, output, finished_at, counted)"
        " select run_id, node, 100 + n, org_id, 'succeeded', output, now(), true from workflow_nodes,"
        " generate_series(1, 80) as n where item = 0"
    )
    flows.drain()
    assert flows.error(run_id, "reads")[0] == "expression"


def test_what_takes_long_to_evaluate_begins_in_parts(flows: Workflows) -> None:
    nodes = {name: {"job": "workflow_jobs.echo", "for_each": [1, 2, 3], "with": {"value": "${item}"}} for name in "ab"}
    flows.save({"name": "slow", "nodes": nodes})
    run_id = flows.start("slow")
    real, looks = flows.process.clock, count()
    # Each look at the clock is as late as if the evaluation before it had taken a minute.
    flows.process.clock = lambda: real() + next(looks) * timedelta(minutes=1)
    flows.drain("workflows.advance")
    flows.process.clock = real
    begun = (
        "select node, count(distinct started_at)::int from workflow_nodes where item >= 0 group by node order by node"
    )
    assert flows.database.execute(begun).fetchall() == [("a", 3), ("b", 3)]
    flows.drain()
    assert flows.run(run_id).state == "succeeded"
