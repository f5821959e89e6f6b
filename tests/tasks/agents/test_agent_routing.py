"""Which messages an agent gets, and which go to the classifier instead."""

import pytest

from domain.mail.correspondence import EmailState
from domain.mail.triage.rules import parse_rule
from storage.accounts import accounts
from storage.agents import profiles
from storage.rules import rules
from tests.doubles.agents import BY, QUESTION, give_agent, order_run, run_agent, store_letter
from tests.doubles.mail_environment import MailEnvironment


def route(env: MailEnvironment, profile: str = "assistant") -> None:
    condition = {"kind": "sender", "addresses": ["anna@example.com"]}
    made = parse_rule(
        {"rule_id": "x", "name": "Anna", "condition": condition, "decision": {"route": f"agent:{profile}"}}
    )
    with env.process.database.ledger() as tx:
        rules.add(tx, env.account.org_id, made, account_id=env.account.account_id)


def test_a_rule_sends_new_mail_to_the_agent(env: MailEnvironment) -> None:
    give_agent(env)
    route(env)
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    ends = env.sync()
    assert [job for job, _ in ends if not job.startswith("gmail.")] == ["triage.classify", "agents.process"]
    assert env.state(place.thread_id) is EmailState.DRAFTED
    assert env.sync(force_full=True)[0] == ("gmail.sync", "succeeded")
    assert env.count("select count(*) from agent_runs") == 1


@pytest.mark.parametrize("obstacle", ["missing", "disabled", "off"])
def test_an_agent_that_cannot_run_leaves_the_message_to_the_classifier(env: MailEnvironment, obstacle: str) -> None:
    give_agent(env)
    route(env, "nobody" if obstacle == "missing" else "assistant")
    with env.process.database.ledger() as tx:
        if obstacle == "disabled":
            profiles.switch(tx, env.account.org_id, "assistant", enabled=False, reason="too eager", by=BY)
        if obstacle == "off":
            accounts.save_settings(tx, env.account.account_id, {"agent_enabled": False})
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    env.sync()
    assert env.count("select count(*) from agent_runs") == 0
    assert env.state(place.thread_id) is EmailState.DRAFTED
    row = env.database.execute(
        "select output ->> 'agent_not_used' from jobs where job_type = 'triage.classify'"
    ).fetchone()
    assert row is not None
    assert {"missing": "no profile", "disabled": "is disabled", "off": "agents are off"}[obstacle] in row[0]


def test_a_profile_that_is_disabled_while_its_job_waits_gives_the_message_back(env: MailEnvironment) -> None:
    give_agent(env)
    place = store_letter(env)
    job_id = order_run(env, place)
    with env.process.database.ledger() as tx:
        profiles.switch(tx, env.account.org_id, "assistant", enabled=False, reason="too eager", by=BY)
    env.drain()
    assert env.job(job_id)["output"] == {"classified_instead": "the profile assistant is disabled"}
    assert env.state(place.thread_id) is EmailState.DRAFTED


def test_mail_that_is_gone_or_decided_or_elsewhere_is_no_work(env: MailEnvironment) -> None:
    give_agent(env)
    place = store_letter(env)
    gone = env.enqueue("agents.process", {"thread_id": "t", "message_id": "m-unknown", "profile": "assistant"})
    wrong = env.enqueue("agent_process", {"thread_id": "t", "message_id": place.message_id, "profile": "assistant"})
    assert env.run(gone) == "succeeded"
    assert env.job(gone)["output"] == {"gone": True}
    assert env.run(wrong) == "dead"
    assert "thread_id: is not the thread of the message" in env.job(wrong)["error"]["reason"]
    run_agent(env, place)
    again = order_run(env, place)
    assert env.run(again) == "succeeded"
    assert "decided_before" in env.job(again)["output"]
