"""A run waits for people, events and times without a job and without a slot; each wait ends once."""

from datetime import timedelta

import pytest

from domain.jobs.failures import Conflict, Forbidden, Gone, Invalid
from storage.jobs import relay
from tests.workflows.workflow_runs import Workflows

ASKING = """
name: asking
input: {type: object, properties: {who: {type: string}}}
nodes:
  write: {job: workflow_jobs.echo, with: {value: "${input.who}"}}
  ask:
    wait: {approval: "Send it?", show: "${nodes.write.output.value}", roles: [owner]}
    needs: [write]
    timeout: PT12H
  send: {job: workflow_jobs.echo, needs: [ask], with: {value: "${nodes.ask.output.by}"}}
  sorry: {job: workflow_jobs.echo, needs: [ask], run_if: failed, with: {value: "${nodes.ask.error.code}"}}
output: "${[nodes.send.output.value, nodes.sorry.output.value]}"
"""


def live_jobs(flows: Workflows) -> int:
    """Jobs of the run that are due or at work: timers are neither."""
    query = "select count(*) from jobs where finished_at is null and run_at <= now() and job_type like 'workflow%'"
    row = flows.database.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def test_a_person_is_asked_while_nothing_runs_and_decides_once(flows: Workflows) -> None:
    flows.save(ASKING)
    run_id = flows.finish("asking", {"who": "Bo"})
    assert (flows.states(run_id)["ask"], live_jobs(flows)) == ("waiting", 0)
    assert flows.decide(run_id, "ask", approve=True, reason="fine")
    assert not flows.decide(run_id, "ask", approve=False)
    flows.drain()
    assert flows.run(run_id).output == ["ada", None]


@pytest.mark.parametrize("denied", [True, False], ids=["denied", "timed out"])
def test_a_question_that_is_denied_or_not_answered_leads_to_the_branch_of_failures(
    flows: Workflows, denied: bool
) -> None:
    flows.save(ASKING)
    run_id = flows.finish("asking", {"who": "Bo"})
    if denied:
        assert flows.decide(run_id, "ask", approve=False, reason="no")
    else:
        flows.pass_time(timedelta(hours=12))
        assert not flows.decide(run_id, "ask", approve=True), "its time is over, though no advance has come by yet"
    flows.drain()
    code = "approval.denied" if denied else "timeout"
    assert (flows.run(run_id).output, flows.error(run_id, "ask")[0]) == ([None, code], code)


EVENTS = """
name: events
nodes:
  slow: {job: workflow_jobs.echo}
  paid: {wait: {event: paid}, needs: [slow], timeout: PT1H}
  again: {wait: {event: paid}, needs: [paid], run_if: done}
  end:
    job: workflow_jobs.echo
    needs: [paid, again]
    run_if: done
    with: {value: "${[nodes.paid.output, nodes.again.output]}"}
output: "${nodes.end.output.value}"
"""


def test_events_that_come_first_are_kept_and_each_is_taken_once_the_oldest_first(flows: Workflows) -> None:
    flows.save(EVENTS)
    run_id = flows.start("events")
    for number in (1, 2):
        flows.send(run_id, "paid", {"n": number})
    flows.drain()
    assert flows.run(run_id).output == [{"n": 1}, {"n": 2}]


def test_an_event_has_its_wait_go_on(flows: Workflows) -> None:
    flows.save(EVENTS)
    run_id = flows.finish("events")
    for number in (1, 2):
        assert live_jobs(flows) == 0
        flows.send(run_id, "paid", {"n": number})
        flows.drain()
    assert flows.run(run_id).output == [{"n": 1}, {"n": 2}]


def test_an_event_has_the_relay_take_up_an_advance_whose_hint_was_lost(flows: Workflows) -> None:
    flows.save("name: two\nnodes:\n  one: {wait: {event: one}}\n  two: {wait: {event: two}}\n")
    run_id = flows.finish("two")
    flows.send(run_id, "one")
    hinted = "update jobs set published_at = now(), next_check_at = now() + interval '30 s', backlog_since = null"
    flows.database.execute(f"{hinted} where state = 'queued'".encode())
    flows.send(run_id, "two")
    with flows.process.database.ledger() as tx:
        assert list(relay.backlog(tx, ["default"])) == ["default"]
    assert flows.drain() == 1
    assert flows.run(run_id).state == "succeeded"


def test_of_an_event_and_the_end_of_its_time_the_first_counts(flows: Workflows) -> None:
    flows.save(EVENTS)
    before, after = flows.finish("events"), flows.finish("events")
    flows.send(before, "paid", {"n": 1})
    flows.pass_time(timedelta(hours=1))
    # The first wait of `after` is over, though no advance has come by yet: this is for the next one of that name.
    flows.send(after, "paid", {"n": 2})
    flows.drain()
    assert (flows.states(before)["paid"], flows.states(before)["again"]) == ("succeeded", "waiting")
    assert (flows.states(after)["paid"], flows.outputs(after)["again"]) == ("failed", {"n": 2})


def test_an_event_that_nobody_can_take_is_refused_with_the_reason(flows: Workflows) -> None:
    flows.save(EVENTS)
    run_id = flows.start("events")
    with pytest.raises(Gone):
        flows.send(flows.org, "paid")
    with pytest.raises(Invalid, match="name: "):
        flows.send(run_id, "lost")
    flows.database.execute(
        "insert into workflow_events (org_id, run_id, name, payload, sent_by)"
        " select org_id, id, 'paid', to_jsonb(n), 'ada' from workflow_runs, generate_series(1, 499) as n"
    )
    flows.send(run_id, "paid", 500)
    with pytest.raises(Forbidden, match="500"):
        flows.send(run_id, "paid")
    flows.drain()
    with pytest.raises(Conflict, match="succeeded"):
        flows.send(run_id, "paid")


def test_an_event_for_a_wait_that_is_over_is_refused(flows: Workflows) -> None:
    flows.save("""
name: over
nodes:
  paid: {wait: {event: paid}, timeout: PT1H}
  ask: {wait: {approval: "And now?"}}
""")
    run_id = flows.finish("over")
    flows.pass_time(timedelta(hours=1))
    with pytest.raises(Conflict, match="name: "):
        flows.send(run_id, "paid")


UNTIL = """
name: until
nodes:
  pause: {wait: {until: PT2H}}
  past: {wait: {until: "2020-01-01T00:00:00Z"}}
  never: {wait: {until: P3D}, timeout: PT3H}
  end: {job: workflow_jobs.echo, needs: [pause, past]}
"""


def test_a_wait_for_a_time_ends_when_the_time_has_come(flows: Workflows) -> None:
    flows.save(UNTIL)
    run_id = flows.finish("until")
    assert flows.states(run_id) == {"pause": "waiting", "past": "succeeded", "never": "waiting", "end": "pending"}
    flows.pass_time(timedelta(hours=2))
    flows.drain()
    assert (flows.states(run_id)["end"], flows.states(run_id)["never"]) == ("succeeded", "waiting")
    flows.pass_time(timedelta(hours=1))
    flows.drain()
    assert flows.error(run_id, "never")[0] == "timeout"
    assert flows.run(run_id).state == "failed"


def test_a_job_that_takes_longer_than_its_node_may_is_stopped(flows: Workflows) -> None:
    flows.save("name: slow\nnodes:\n  slow: {job: workflow_jobs.echo, timeout: PT1M}\n")
    run_id = flows.start("slow")
    flows.drain("workflows.%")
    (job_id,) = flows.queued("workflow_jobs.%")
    flows.pass_time(timedelta(minutes=2))
    flows.drain("workflows.%")
    assert flows.error(run_id, "slow")[0] == "timeout"
    assert flows.database.execute("select state from jobs where id = %s", (job_id,)).fetchone() == ("canceled",)
