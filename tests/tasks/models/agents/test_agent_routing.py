"""Which messages an agent gets, and which go to the classifier instead."""

from uuid import UUID

import pytest

from domain.jobs.job import Origin
from domain.mail.correspondence import EmailState
from domain.mail.rule_language.rules import parse_rule
from domain.models.agents.loop import RunStatus
from operations.jobs import replays
from storage.jobs import ledger
from storage.mail.accounts import accounts
from storage.mail.rules import rules
from storage.models.agents import profiles
from tests.doubles.agents import BY, QUESTION, give_agent, order_run, run_agent, run_of, store_letter
from tests.doubles.mail_environment import MailEnvironment


def route(env: MailEnvironment, profile: str = "assistant") -> None:
    condition = {"from": "anna@example.com"}
    made = parse_rule({"rule_id": "x", "name": "Anna", "when": condition, "then": {"route": f"agent:{profile}"}})
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
    env.deliver("Dinner?", QUESTION, headers={"From": "Bob <bob@example.com>"})
    assert "agents.process" not in dict(env.sync())
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
    assert "thread_id: " in env.job(wrong)["error"]["reason"]
    run_agent(env, place)
    again = order_run(env, place)
    assert env.run(again) == "succeeded"
    assert "decided_before" in env.job(again)["output"]


def again(env: MailEnvironment, job_id: UUID) -> UUID:
    """The job that an operator has made of one that has ended."""
    with env.process.database.ledger() as tx:
        return replays.retry(tx, job_id, by=Origin(actor_id="a test"), reason="it is mended")


def paid(env: MailEnvironment) -> int:
    return env.count("select count(*) from llm_calls")


@pytest.mark.parametrize("is_kept", [True, False], ids=["kept", "past retention"])
def test_a_run_that_an_operator_has_tried_again_goes_on_where_it_ended(env: MailEnvironment, *, is_kept: bool) -> None:
    give_agent(env)
    place = store_letter(env)
    env.fail("drafts.create", status=403, reason="domainPolicy", times=2)
    first = order_run(env, place)
    assert env.run(first) == "failed"
    assert run_of(env, first).status is RunStatus.FAILED
    give_agent(env, prompt="Do nothing.")
    second = again(env, first)
    assert env.run(second) == "failed"
    assert paid(env) == run_of(env, first).turns
    third = again(env, second)
    if not is_kept:
        env.database.execute("delete from jobs where id = any(%s)", ([first, second],))
    assert env.run(third) == "succeeded"
    run = run_of(env, third)
    assert (run.status, run.profile_version) == ("succeeded", 1)
    assert (paid(env), len(env.mailbox.state().drafts)) == (run.turns, 1)
    assert env.count("select count(*) from agent_runs where status = 'running'") == 0


def test_a_canceled_run_that_an_operator_has_tried_again_goes_on(env: MailEnvironment) -> None:
    give_agent(env)
    place = store_letter(env)
    env.fail("drafts.create", status=503)
    first = order_run(env, place)
    assert env.run(first) == "queued"
    with env.process.database.ledger() as tx:
        ledger.cancel(tx, [first], "for the test", by=BY)
    second = again(env, first)
    env.drain(only="agents.%")  # the first call to make the draft may still be under way
    assert env.job(second)["state"] == "succeeded"
    assert (paid(env), run_of(env, second).turns, len(env.mailbox.state().drafts)) == (3, 3, 1)


def test_a_run_that_is_tried_again_leaves_a_message_that_was_decided_meanwhile(env: MailEnvironment) -> None:
    give_agent(env)
    place = store_letter(env)
    env.fail("drafts.create", status=403, reason="domainPolicy")
    first = order_run(env, place)
    assert env.run(first) == "failed"
    env.sync(force_full=True)
    second = again(env, first)
    assert env.run(second) == "succeeded"
    assert "decided_before" in env.job(second)["output"]
