"""An agent takes over what a rule routes to it (docs: seeds.md#000-job-types)."""

import pytest

from domain.agents.loop import RunStatus
from domain.mail.correspondence import EmailState
from domain.mail.triage.rules import parse_rule
from storage.actions import actions as stored_actions
from storage.rules import rules
from tests.doubles.agents import QUESTION, give_agent, order_run, run_agent, run_of, store_letter, turns_of
from tests.doubles.mail_environment import MailEnvironment


def route_to_agent(env: MailEnvironment) -> None:
    """A rule that sends Anna's mail to the agent."""
    condition = {"kind": "sender", "addresses": ["anna@example.com"]}
    decision = {"route": "agent:assistant"}
    rule = parse_rule({"rule_id": "x", "name": "Anna", "condition": condition, "decision": decision})
    with env.process.database.ledger() as tx:
        rules.add(tx, env.account.org_id, rule, account_id=env.account.account_id)


def test_a_new_message_goes_to_the_agent_when_a_routing_rule_matches_and_else_to_classify(env: MailEnvironment) -> None:
    """000-6, 000-32, 000-36."""
    give_agent(env)
    route_to_agent(env)
    env.sync()
    routed = env.deliver("Lunch?", QUESTION)
    other = env.deliver("Dinner?", QUESTION, headers={"From": "Bob <bob@example.com>"})
    env.sync()
    looked_after = env.database.execute("select gmail_message_id from agent_runs").fetchall()
    assert looked_after == [(routed.message_id,)]
    assert env.state(routed.thread_id) is env.state(other.thread_id) is EmailState.DRAFTED


def test_the_seeds_name_is_accepted_with_message_thread_and_profile(env: MailEnvironment) -> None:
    """000-33; `user_id` in tests/seeds/test_000_job_types.py."""
    give_agent(env)
    place = store_letter(env)
    where = {"thread_id": place.thread_id, "message_id": place.message_id, "profile": "assistant"}
    job_id = env.enqueue("agent_process", where)
    env.drain(only="agents.%")
    assert env.job(job_id)["job_type"] == "agents.process"
    assert run_of(env, job_id).status is RunStatus.SUCCEEDED


def test_the_preprocessor_the_tool_loop_and_the_log_of_its_results(env: MailEnvironment) -> None:
    """000-34."""
    give_agent(env)
    run = run_agent(env, store_letter(env))
    told = turns_of(env, run)
    assert [[call["tool"] for call in turn.calls] for turn in told] == [["read_thread"], ["draft_reply"], []]
    assert (run.turns, run.output_preview) == (3, told[-1].said)
    assert run.cost_microcents == sum(turn.cost_microcents for turn in told) > 0
    row = env.database.execute("select result from job_steps where name = 'agent_opening'").fetchone()
    assert row is not None
    assert QUESTION in row[0]["text"]
    assert "first message from the sender: yes" in row[0]["text"]


@pytest.mark.parametrize(
    ("tool", "arguments", "status", "actions", "drafts"),
    [
        ("draft_reply", {"body": "Noon is fine."}, RunStatus.SUCCEEDED, [], 1),
        ("reply", {"body": "Noon is fine."}, RunStatus.SUCCEEDED, [("auto_reply", "approved_pending")], 0),
        ("escalate", {"reason": "Who is Anna?"}, RunStatus.ESCALATED, [], 0),
    ],
)
def test_the_agent_drafts_asks_to_reply_or_escalates(
    env: MailEnvironment,
    tool: str,
    arguments: dict[str, str],
    status: RunStatus,
    actions: list[tuple[str, str]],
    drafts: int,
) -> None:
    """000-35; a reply waits for a person."""
    give_agent(env, send_allowed=True, tools=["draft_reply", "reply"], labels=[], may_reply=True)
    place = store_letter(env)
    env.say(tool=tool, input=arguments)
    env.say(text="Done.")
    run = run_agent(env, place)
    assert run.status is status
    assert len(env.mailbox.state().drafts) == drafts
    with env.process.database.ledger() as tx:
        found = stored_actions.of_message(tx, env.account.account_id, place.message_id)
    assert [(str(one.kind), one.state) for one in found] == actions
    wants_person = "Postroom/Action Required" in env.mailbox.state().label_names(place.message_id)
    assert wants_person == (status is RunStatus.ESCALATED)


def test_it_validates_the_message_and_updates_the_run_when_it_fails(env: MailEnvironment) -> None:
    """000-76."""
    give_agent(env)
    place = store_letter(env)
    unknown = env.enqueue("agents.process", {"thread_id": "t", "message_id": "nowhere", "profile": "assistant"})
    assert env.run(unknown) == "succeeded"
    assert env.job(unknown)["output"] == {"gone": True}
    env.fail("drafts.create", status=400, reason="invalidArgument", times=None)
    job_id = order_run(env, place)
    env.drain(only="agents.%")
    run = run_of(env, job_id)
    assert (run.status, env.job(job_id)["state"]) == (RunStatus.FAILED, "failed")
    assert run.reason == env.job(job_id)["error"]["reason"]
