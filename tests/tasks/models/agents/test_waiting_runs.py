"""What a run waits for, between its attempts, is not its own time."""

from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

import pytest

from domain.models.agents.loop import RunStatus
from sandbox.emulator.control import MessagePlace
from storage.jobs import gates
from storage.mail.accounts import accounts, tokens
from storage.models.money import spending
from tests.doubles.agents import give_agent, order_run, run_of, store_letter
from tests.doubles.mail_environment import MailEnvironment, connect
from tests.doubles.triggers import refuse

NIGHT = timedelta(hours=8)


def set_daily(env: MailEnvironment, daily: int | None) -> None:
    with env.process.database.ledger() as tx:
        spending.set_daily(tx, env.account.org_id, daily, "anthropic", by="ada")


def pass_night(env: MailEnvironment) -> None:
    env.database.execute("update agent_runs set started_at = started_at - %(n)s", {"n": NIGHT})


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


def in_back_off(env: MailEnvironment, place: MessagePlace) -> UUID:
    """A run whose first attempt has failed after two answers."""
    job_id = order_run(env, place)
    env.fail("drafts.create", status=503)
    assert env.run(job_id) == "queued"
    return job_id


def goes_on_after_a_night(env: MailEnvironment, job_id: UUID, opened: Callable[[], object]) -> None:
    env.drain(only="agents.%")
    assert env.job(job_id)["state"] == "queued"
    pass_night(env)
    opened()
    env.drain(only="agents.%")
    assert (run_of(env, job_id).status, run_of(env, job_id).stopped_by) == (RunStatus.SUCCEEDED, None)


def test_a_run_in_back_off_goes_on_when_another_has_found_the_money_gone(env: MailEnvironment) -> None:
    give_agent(env, limits={"seconds": 240})
    first, second = store_letter(env), store_letter(env, "Dinner?")
    job_id = in_back_off(env, first)
    other = order_run(env, second)
    set_daily(env, 1)
    assert env.run(other) == "queued"
    goes_on_after_a_night(env, job_id, lambda: set_daily(env, None))


def test_a_run_in_back_off_goes_on_when_consent_is_back(env: MailEnvironment) -> None:
    give_agent(env, limits={"seconds": 240})
    job_id = in_back_off(env, store_letter(env))
    account_id = env.account.account_id
    with env.process.database.ledger() as tx:
        version = tokens.current(tx, env.process.sealer, account_id).version
        assert accounts.mark_needs_reconsent(tx, account_id, version=version, reason="withdrawn")

    def consent() -> None:
        connect(env.process, env.account.email, "access-1", "refresh-1")
        with env.process.database.ledger() as tx:
            gates.open_gate(tx, "account", str(account_id))

    goes_on_after_a_night(env, job_id, consent)


def test_what_an_attempt_worked_before_it_failed_is_the_runs(env: MailEnvironment) -> None:
    """Each answer takes three minutes here, and an attempt has two."""
    give_agent(env, limits={"seconds": 340})
    place, began = store_letter(env), env.process.clock()

    def clock() -> datetime:
        return began + timedelta(minutes=3 * len(env.model.journal("messages.create")))

    env.process.clock = clock
    job_id = in_back_off(env, place)
    assert env.count("select count(*) from agent_runs where worked >= '6 minutes'") == 1
    env.drain(only="agents.%")
    assert run_of(env, job_id).stopped_by == "time"


def test_the_time_before_and_after_a_wait_is_the_runs(env: MailEnvironment) -> None:
    give_agent(env, limits={"seconds": 240})
    job_id = parked(env, store_letter(env), turns=0)
    env.database.execute("update agent_runs set worked = worked + interval '5 minutes', worked_until = now()")
    pass_night(env)
    set_daily(env, None)
    env.drain(only="agents.%")
    assert run_of(env, job_id).stopped_by == "time"


def test_what_ended_an_attempt_counts_although_its_time_cannot_be_written(env: MailEnvironment) -> None:
    """Gmail says how long nobody of the account may call; that closes a gate, and spends no attempt."""
    give_agent(env)
    job_id = order_run(env, store_letter(env))
    env.fail("drafts.create", times=None, status=429, reason="userRateLimitExceeded")
    refuse(env.database, "update", "agent_runs", when="old.worked is distinct from new.worked")
    assert env.run(job_id) == "queued"
    assert env.count("select count(*) from gates") == 1
