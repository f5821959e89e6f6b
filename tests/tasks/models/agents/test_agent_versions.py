"""A run keeps the profile that it began with, also when its profile is edited between two attempts."""

from domain.models.agents.profile import parse_profile
from storage.models.agents import profiles
from tests.doubles.agents import BY, PROFILE, end, give_agent, order_run, run_of, store_letter
from tests.doubles.mail_environment import MailEnvironment
from tests.tasks.models.agents.test_agents import overload


def test_an_attempt_after_an_edit_goes_on_with_the_profile_of_the_first(env: MailEnvironment) -> None:
    first = give_agent(env)
    job_id = order_run(env, store_letter(env))
    overload(env)
    assert env.run(job_id) == "queued"
    other = {"prompt": "Do something else.", "model": "claude-sonnet-5", "tools": ["escalate"], "labels": []}
    edited = parse_profile(PROFILE | other)
    with env.process.database.ledger() as tx:
        profiles.add(tx, env.account.org_id, edited, by=BY)
        profiles.add(tx, env.account.org_id, edited, account_id=env.account.account_id, by=BY)
    end(env)
    env.drain(only="agents.%")
    run = run_of(env, job_id)
    assert env.job(job_id)["state"] == "succeeded", env.job(job_id)["error"]
    assert (run.profile_version, run.model) == (first.version, PROFILE["model"])
    asked = env.model.journal("messages.create")[-1]
    assert asked.summary["model"] == PROFILE["model"]


def test_a_profile_that_was_turned_off_meanwhile_stops_the_run(env: MailEnvironment) -> None:
    give_agent(env)
    job_id = order_run(env, store_letter(env))
    overload(env)
    assert env.run(job_id) == "queued"
    with env.process.database.ledger() as tx:
        profiles.switch(tx, env.account.org_id, "assistant", enabled=False, reason="it writes nonsense", by=BY)
    env.drain(only="agents.%")
    assert "classified_instead" in env.job(job_id)["output"]
