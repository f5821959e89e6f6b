"""A run goes from its first nodes to its end, whatever becomes of its nodes."""

from uuid import uuid4

import pytest

from tests.workflows.workflow_jobs import BROKEN
from tests.workflows.workflow_runs import Workflows

SUMS = """
name: sums
input: {type: object, required: [n], properties: {n: {type: integer}}}
nodes:
  first: {job: workflow_jobs.echo, with: {value: "${input.n}"}}
  twice:
    job: workflow_jobs.write
    needs: [first]
    for_each: "${[nodes.first.output.value, `2`]}"
    with: {value: "${item}"}
  last: {job: workflow_jobs.echo, needs: [twice], with: {value: "${nodes.twice.outputs[].value}"}}
output: "${nodes.last.output.value}"
"""


@pytest.fixture(autouse=True)
def _nothing_is_broken() -> None:
    BROKEN.clear()


def test_a_run_gives_what_its_nodes_gave_and_costs_what_they_cost(flows: Workflows) -> None:
    flows.save(SUMS)
    run = flows.run(flows.finish("sums", {"n": 4}))
    assert (run.state, run.output, run.failure, run.cost_microcents, run.items) == ("succeeded", [4, 2], None, 14, 2)


@pytest.mark.parametrize(
    ("name", "given", "version", "field"),
    [
        ("sums", {}, None, "payload.input"),
        ("sums", {"n": "x"}, None, "payload.input.n"),
        ("sums", {"n": 1}, 7, "payload.workflow"),
        ("tales", {"n": 1}, None, "payload.workflow"),
    ],
)
def test_a_run_that_cannot_begin_names_the_field(
    flows: Workflows, name: str, given: dict[str, object], version: int | None, field: str
) -> None:
    flows.save(SUMS)
    with pytest.raises(AssertionError, match=f"{field}: "):
        flows.start(name, given, version)


def test_a_run_of_one_org_finds_no_workflow_of_another(flows: Workflows) -> None:
    flows.save(SUMS)
    flows.database.execute("insert into orgs (id, name) values (%s, 'another')", (other := uuid4(),))
    flows.org = other
    with pytest.raises(AssertionError, match=r"payload\.workflow: "):
        flows.start("sums", {"n": 1})


BRANCHES = """
name: branches
input: {type: object, properties: {large: {type: boolean}}}
nodes:
  ask: {job: workflow_jobs.echo, with: {value: "${input.large}"}}
  large: {job: workflow_jobs.echo, needs: [ask], when: "${nodes.ask.output.value}"}
  small: {job: workflow_jobs.echo, needs: [ask], when: "${nodes.ask.output.value == `false`}"}
  larger: {job: workflow_jobs.echo, needs: [large]}
  join: {job: workflow_jobs.echo, needs: [larger, small], run_if: not_failed, with: {value: "${nodes.small.state}"}}
  all: {job: workflow_jobs.echo, needs: [large, small]}
output: "${nodes.join.output.value}"
"""


@pytest.mark.parametrize(("large", "taken", "left_out"), [(True, "large", "small"), (False, "small", "large")])
def test_the_join_after_a_branch_runs_once(flows: Workflows, large: bool, taken: str, left_out: str) -> None:
    flows.save(BRANCHES)
    run_id = flows.finish("branches", {"large": large})
    states = flows.states(run_id)
    assert (states[taken], states[left_out], states["join"], states["all"]) == (
        "succeeded",
        "skipped",
        "succeeded",
        "skipped",
    )
    assert states["larger"] == states["large"]
    assert flows.run(run_id).output == states["small"]


FAILING = """
name: failing
nodes:
  good: {job: workflow_jobs.echo}
  bad: {job: workflow_jobs.echo, with: {word: bad}}
  after: {job: workflow_jobs.echo, needs: [bad]}
  apart: {job: workflow_jobs.echo, needs: [good]}
  sorry: {job: workflow_jobs.echo, needs: [after], run_if: failed, with: {word: sorry}}
  always: {job: workflow_jobs.echo, needs: [after, good], run_if: done}
"""


@pytest.mark.parametrize(
    ("broken", "state", "sorry"), [({"bad"}, "succeeded", "succeeded"), ({"bad", "sorry"}, "failed", "failed")]
)
def test_a_failure_leads_to_its_own_branch_and_stops_no_other(
    flows: Workflows, broken: set[str], state: str, sorry: str
) -> None:
    flows.save(FAILING)
    BROKEN.update(broken)
    run_id = flows.finish("failing")
    assert flows.states(run_id) == {
        "good": "succeeded",
        "bad": "failed",
        "after": "skipped",
        "apart": "succeeded",
        "sorry": sorry,
        "always": "succeeded",
    }
    assert flows.run(run_id).state == state
    assert flows.error(run_id, "bad") == ("permanent", "bad is broken")


def test_a_definition_that_is_saved_anew_changes_no_run_that_is_under_way(flows: Workflows) -> None:
    flows.save(SUMS)
    run_id = flows.start("sums", {"n": 1})
    flows.save(SUMS.replace("`2`", "`3`"))
    flows.drain()
    assert (flows.run(run_id).version, flows.run(run_id).output) == (1, [1, 2])
    assert flows.run(flows.finish("sums", {"n": 1})).output == [1, 3]


def test_an_expression_that_fails_fails_its_node_alone(flows: Workflows) -> None:
    flows.save("""
name: odd
nodes:
  first: {job: workflow_jobs.echo, with: {value: 1}}
  wrong: {job: workflow_jobs.echo, needs: [first], when: "${nodes.first.output.value}"}
  right: {job: workflow_jobs.echo, needs: [first]}
""")
    run_id = flows.finish("odd")
    assert flows.states(run_id) == {"first": "succeeded", "wrong": "failed", "right": "succeeded"}
    assert flows.error(run_id, "wrong")[0] == "expression"
    assert (flows.run(run_id).failure or {})["nodes"] == ["wrong"]


ODD_ENDS = """
name: ends
nodes:
  odd: {job: workflow_jobs.odd, with: {word: "%s"}}
  reads: {job: workflow_jobs.echo, needs: [odd], with: {value: "${nodes.odd.output}"}}
  ignores: {job: workflow_jobs.echo, needs: [odd], run_if: done}
"""


@pytest.mark.parametrize(
    ("word", "state", "code"),
    [
        ("large", "succeeded", None),
        ("nul", "failed", "invalid"),
        ("not a number", "failed", "bug"),
        ("dies", "failed", "transient"),
    ],
)
def test_an_output_that_cannot_be_kept_fails_who_reads_it(
    flows: Workflows, word: str, state: str, code: str | None
) -> None:
    flows.save(ODD_ENDS % word)
    run_id = flows.finish("ends")
    states = flows.states(run_id)
    assert (states["odd"], states["ignores"], flows.error(run_id, "odd")[0]) == (state, "succeeded", code)
    if state == "succeeded":
        code, reason = flows.error(run_id, "reads")
        assert (states["reads"], code, "300" in reason) == ("failed", "expression", True)


def test_a_payload_that_is_refused_fails_its_node_and_no_other_of_the_batch(flows: Workflows) -> None:
    flows.save("""
name: refused
input: {type: object, properties: {text: {type: string}}}
nodes:
  hidden: {job: workflow_jobs.echo, with: {value: "${join('', ['pass', 'word=hunter2hunter2'])}"}}
  wrong: {job: workflow_jobs.echo, with: {word: "${length(input.text)}"}}
  right: {job: workflow_jobs.echo}
  fine: {job: workflow_jobs.once, with: {word: a}}
""")
    run_id = flows.finish("refused", {"text": "abc"})
    assert flows.states(run_id) == {"hidden": "failed", "wrong": "failed", "right": "succeeded", "fine": "succeeded"}
    assert {flows.error(run_id, name)[0] for name in ("hidden", "wrong")} == {"invalid"}


def test_a_node_is_folded_into_nobody_elses_job(flows: Workflows) -> None:
    flows.save("""
name: once
nodes:
  a: {job: workflow_jobs.once, with: {word: same}}
  b: {job: workflow_jobs.once, with: {word: same}}
""")
    run_id = flows.finish("once")
    assert flows.run(run_id).state == "succeeded"
    assert flows.database.execute("select count(*) from jobs where job_type = 'workflow_jobs.once'").fetchone() == (2,)


def test_retention_between_two_nodes_loses_no_output(flows: Workflows) -> None:
    flows.save(SUMS)
    run_id = flows.start("sums", {"n": 5})
    while due := flows.queued():
        flows.run_job(due[0])
        flows.database.execute("delete from jobs where finished_at is not null")
    assert flows.run(run_id).output == [5, 2]


def test_a_chain_of_skipped_nodes_ends_at_once(flows: Workflows) -> None:
    chain = "\n".join(f"  n{i}: {{job: workflow_jobs.echo, needs: [n{i - 1}]}}" for i in range(1, 300))
    flows.save(f'name: chain\nnodes:\n  n0: {{job: workflow_jobs.echo, when: "${{run.version > `9`}}"}}\n{chain}\n')
    run_id = flows.finish("chain")
    assert set(flows.states(run_id).values()) == {"skipped"}
    assert flows.run(run_id).state == "succeeded"


def test_an_output_that_is_too_large_as_the_database_writes_it_fails_the_run(flows: Workflows) -> None:
    flows.save({"name": "large", "nodes": {"one": {"job": "workflow_jobs.echo"}}, "output": [1e300] * 1000})
    assert flows.run(flows.finish("large")).state == "failed"
