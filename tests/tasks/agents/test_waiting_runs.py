"""What a run waits for money is not its own time: it goes on when there is some."""

from datetime import timedelta
from uuid import UUID

import pytest

from domain.agents.loop import RunStatus
from sandbox.emulator.control import MessagePlace
from storage.money import spending
from tests.doubles.agents import give_agent, order_run, run_of, store_letter
from tests.doubles.mail_environment import MailEnvironment

NIGHT = timedelta(hours=8)


def set_daily(env: MailEnvironment, daily: int | None) -> None:
    with env.process.database.ledger() as tx:
        spending.set_daily(tx, env.account.org_id, daily, "anthropic", by="ada")


def pass_night(env: MailEnvironment) -> None:
    env.database.execute(
        "update agent_runs set started_at = started_at - %(n)s, waits_since = waits_since - %(n)s", {"n": NIGHT}
    )


def parked(env: MailEnvironment, place: MessagePlace, *, turns: int) -> UUID:
    """A run whose org has no money left after so many answers."""
    job_id = order_run(env, place)
    if turns:
        env.fail("drafts.create", status=503)
        assert env.run(job_id) == "queued"
    set_daily(env, 1)
    env.drain(only="agents.%")
    assert env.count("select count(*) from gates where cause = 'budget'") == 1
    assert env.job(job_id)["state"] == "queued"
    return job_id


@pytest.mark.parametrize("turns", [0, 2])
def test_a_run_goes_on_when_its_org_has_money_again(env: MailEnvironment, turns: int) -> None:
    give_agent(env, limits={"seconds": 240})
    job_id = parked(env, store_letter(env), turns=turns)
    assert env.count("select count(*) from llm_calls where purpose = 'agent_turn'") == turns
    pass_night(env)
    set_daily(env, None)
    env.drain(only="agents.%")
    run = run_of(env, job_id)
    assert (run.status, run.turns) == (RunStatus.SUCCEEDED, 3)
    assert len(env.mailbox.state().drafts) == 1


def test_the_time_before_and_after_a_wait_is_the_runs(env: MailEnvironment) -> None:
    give_agent(env, limits={"seconds": 240})
    job_id = parked(env, store_letter(env), turns=0)
    env.database.execute("update agent_runs set started_at = started_at - interval '5 minutes'")
    pass_night(env)
    set_daily(env, None)
    env.drain(only="agents.%")
    assert run_of(env, job_id).stopped_by == "time"
