"""Prepares runs of workflows of the environment's org, whose nodes are of the tests' own job types."""

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

from tests.doubles.factories import pass_time
from tests.doubles.mail_environment import MailEnvironment
from tests.sweep.prepared.places import Prepare, enqueue, put_off, queued
from tests.workflows.workflow_runs import Workflows

INNER = """
name: inner
nodes:
  only: {job: workflow_jobs.write, with: {value: inner}}
output: "${nodes.only.output.value}"
"""
WIDE = """
name: wide
input: {type: object, properties: {list: {type: array}}}
nodes:
  list: {job: workflow_jobs.once, for_each: "${input.list}", limit: 2, with: {word: "${to_string(item)}"}}
  fails: {job: workflow_jobs.odd, with: {word: nul}}
  inner: {workflow: inner}
  never: {job: workflow_jobs.echo, when: "${length(input.list) == `0`}"}
  sorry: {job: workflow_jobs.write, needs: [fails], run_if: failed}
  end:
    job: workflow_jobs.echo
    needs: [list, inner, never, sorry]
    run_if: not_failed
    with: {value: "${[nodes.list.outputs[].word, nodes.inner.output]}"}
output: "${nodes.end.output.value}"
"""
WAITING = """
name: waiting
deadline: PT5M
nodes:
  paid: {wait: {event: paid}}
  lost: {wait: {event: lost}, timeout: PT1M}
  slow: {job: workflow_jobs.echo, needs: [paid], with: {value: "${nodes.paid.output}"}}
  sorry: {job: workflow_jobs.echo, needs: [lost], run_if: failed}
"""


def _workflows(env: MailEnvironment) -> Workflows:
    found = Workflows(env.process, env.database, env.account.org_id)
    for text in (INNER, WIDE, WAITING):
        found.save(text)
    return found


def saved(env: MailEnvironment) -> UUID:
    """A workflow with lists, branches and a run inside, that nobody has begun."""
    _workflows(env)
    return enqueue(env, "workflows.run", {"workflow": "wide", "input": {"list": [1, 2, 3]}})


def begun(env: MailEnvironment) -> UUID:
    """A run whose first nodes are to begin."""
    _workflows(env).start("wide", {"list": [1, 2, 3]})
    return queued(env, "workflows.advance")


def ended_nodes(env: MailEnvironment) -> UUID:
    """A run of which items, a failed node and the run of a node have ended."""
    workflows = _workflows(env)
    workflows.start("wide", {"list": [1, 2, 3]})
    workflows.drain("workflows.%")
    for job_id in workflows.queued("workflow_jobs.%"):
        workflows.run_job(job_id)
    rows = env.database.execute(
        "select j.id from jobs j join workflow_runs r on r.id = (j.payload ->> 'run_id')::uuid"
        " where j.state = 'queued' and j.job_type = 'workflows.advance' order by r.parent_run nulls last"
    ).fetchall()
    workflows.run_job(rows[0][0])
    return UUID(str(rows[-1][0]))


def event_and_time(env: MailEnvironment) -> UUID:
    """A run with an event that was sent, and a wait that is over."""
    workflows = _workflows(env)
    run_id = workflows.finish("waiting")
    workflows.send(run_id, "paid", {"euros": 5})
    pass_time(env.database, timedelta(minutes=1))
    return UUID(str(workflows.queued("workflows.advance")[-1]))


def asked_to(change: Callable[[Workflows, UUID], object]) -> Prepare:
    """A run under way, with a list and a run inside it, that somebody has canceled; or an ended one that goes on."""

    def prepare(env: MailEnvironment) -> UUID:
        workflows = _workflows(env)
        run_id = workflows.start("wide", {"list": [1, 2, 3]})
        workflows.drain("workflows.%")
        change(workflows, run_id)
        return queued(env, "workflows.advance")

    return prepare


def canceled(workflows: Workflows, run_id: UUID) -> None:
    """Nothing of it was done before, and nothing is done while an advance that has died is tried again."""
    workflows.cancel(run_id, "enough")
    put_off(workflows.database, "workflow_jobs.%")


def resumed(workflows: Workflows, run_id: UUID) -> None:
    """It was canceled before."""
    workflows.cancel(run_id, "enough")
    workflows.drain()
    workflows.resume(run_id)
