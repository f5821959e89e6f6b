"""An org that moved to another channel: its question is looked for where it was asked, and posted where it is now."""

from datetime import timedelta
from typing import Literal
from uuid import UUID

import pytest

from domain.approvals.decision import Choice
from providers.discord.bot import DiscordBot
from sandbox.emulator.client import EmulatorControl
from sandbox.emulator.fault_order import FaultOrder
from storage.approvals import approvals
from tests.doubles.approvals import ASKED_EARLIER, CHANNEL, ask_in_channel, decide, messages, waiting
from tests.doubles.factories import make_org, pass_time
from tests.doubles.mail_environment import MailEnvironment
from tests.tasks.approvals.test_approvals import ASKED, bot, env
from tests.tasks.approvals.test_doubts import reconcile, told
from tests.tasks.approvals.test_ended_questions import OTHER, ended_in_the_call, second, status

__all__ = ["bot", "env"]

Lost = Literal["before", "after"]


def take_over(env: MailEnvironment, channel_id: str = CHANNEL) -> UUID:
    """Another org is asked there from now on, and its people write there."""
    stranger = make_org(env.database)
    with env.process.database.ledger() as tx:
        approvals.choose_channel(tx, stranger, channel_id)
    return stranger


def give_up(env: MailEnvironment, org_id: UUID) -> None:
    with env.process.database.ledger() as tx:
        approvals.remove_channel(tx, org_id)


def asked(bot: EmulatorControl) -> tuple[int, int]:
    """How many questions the first channel shows, and the other."""
    first, other = ([one for one in messages(bot, each) if one["components"]] for each in (CHANNEL, OTHER))
    return len(first), len(other)


def calls_to(bot: EmulatorControl, channel_id: str) -> int:
    return sum(f"/channels/{channel_id}/" in call.path for call in bot.journal())


def lose(env: MailEnvironment, bot: EmulatorControl, lost: Lost) -> UUID:
    """A job whose call was lost and that goes on, half an hour later."""
    bot.post("/_control/write", {"channel": CHANNEL, "content": "an older question"})
    waiting(env)
    bot.order(FaultOrder(operation="channel.post", drop=lost))
    ((job_id,),) = env.database.execute("select id from jobs where job_type = %s", (ASKED,)).fetchall()
    assert env.run(job_id) == "queued"
    pass_time(env.database, timedelta(minutes=30))
    env.database.execute(ASKED_EARLIER, (timedelta(minutes=30),))
    bot.post("/_control/clock", {"advance_s": 1800})
    return UUID(str(job_id))


@pytest.mark.parametrize(("lost", "where"), [("before", (0, 1)), ("after", (1, 0))])
@pytest.mark.parametrize("again", [False, True], ids=["the same job", "another job"])
def test_an_org_that_moved_is_asked_once(
    env: MailEnvironment, bot: EmulatorControl, lost: Lost, where: tuple[int, int], *, again: bool
) -> None:
    if again:
        bot.post("/_control/write", {"channel": CHANNEL, "content": "an older question"})
        ended_in_the_call(env, bot, lost=lost)
    else:
        lose(env, bot, lost)
    ask_in_channel(env, OTHER)
    if again:
        second(env)
    assert env.drain(only=ASKED)[-1] == (ASKED, "succeeded")
    assert asked(bot) == where
    notice = env.database.execute("select channel_id from approval_notices").fetchone()
    assert notice == (OTHER if lost == "before" else CHANNEL,)


@pytest.mark.parametrize("lost", ["before", "after"])
def test_an_org_that_moved_and_came_back_is_asked_once(env: MailEnvironment, bot: EmulatorControl, lost: Lost) -> None:
    lose(env, bot, lost)
    ask_in_channel(env, OTHER)
    ask_in_channel(env)
    assert env.drain(only=ASKED)[-1] == (ASKED, "succeeded")
    assert asked(bot) == (1, 0)


@pytest.mark.parametrize("lost", ["before", "after"])
def test_nothing_is_looked_for_or_written_in_a_channel_that_is_another_orgs(
    env: MailEnvironment, bot: EmulatorControl, lost: Lost
) -> None:
    job_id = lose(env, bot, lost)
    ask_in_channel(env, OTHER)
    take_over(env)
    before = calls_to(bot, CHANNEL)
    env.drain(only=ASKED)
    assert (env.job(job_id)["state"], status(env)) == ("dead", "unknown"), "it may be in the first one: not twice"
    assert "another org" in env.job(job_id)["error"]["reason"]
    second(env)
    env.drain(only=ASKED)
    assert reconcile(env)["told"] + reconcile(env)["told"] == told(env) == 1
    assert (asked(bot)[1], calls_to(bot, CHANNEL)) == (0, before)


def test_a_channel_that_is_nobodys_again_is_looked_through(env: MailEnvironment, bot: EmulatorControl) -> None:
    lose(env, bot, "before")
    ask_in_channel(env, OTHER)
    stranger = take_over(env)
    env.drain(only=ASKED)
    give_up(env, stranger)
    reconcile(env)
    assert status(env) == "failed"
    second(env)
    assert env.drain(only=ASKED)[-1] == (ASKED, "succeeded")
    assert asked(bot) == (0, 1)


def test_what_a_new_call_was_to_ask_is_looked_for_where_it_was_made(env: MailEnvironment, bot: EmulatorControl) -> None:
    job_id = lose(env, bot, "before")
    bot.post("/_control/write", {"channel": OTHER, "content": "hello"})
    ask_in_channel(env, OTHER)
    bot.order(FaultOrder(operation="channel.post", drop="after"))
    assert env.run(job_id) == "queued"
    ask_in_channel(env, "333")
    assert env.drain(only=ASKED)[-1] == (ASKED, "succeeded")
    assert asked(bot) == (0, 1)
    assert messages(bot, "333") == []


def test_an_org_that_moves_while_it_is_looked_for_is_not_asked_where_it_was(
    env: MailEnvironment, bot: EmulatorControl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another org may take the channel in the same moment."""
    job_id, really_find = lose(env, bot, "before"), DiscordBot.find_question

    def find(self: DiscordBot, *given: object, **named: object) -> object:
        found = really_find(self, *given, **named)  # type: ignore[arg-type]  # as it is called
        ask_in_channel(env, OTHER)
        return found

    monkeypatch.setattr(DiscordBot, "find_question", find)
    assert env.run(job_id) == "queued"
    assert (status(env), asked(bot)) == ("failed", (0, 0))
    assert env.drain(only=ASKED)[-1] == (ASKED, "succeeded")
    assert asked(bot) == (0, 1)


def test_a_bot_without_history_is_not_excused_by_the_nonce_in_another_channel(
    env: MailEnvironment, bot: EmulatorControl
) -> None:
    bot.post("/_control/close", {"without_history": [CHANNEL]})
    waiting(env)
    bot.order(FaultOrder(operation="channel.post", drop="after"))
    ((job_id,),) = env.database.execute("select id from jobs where job_type = %s", (ASKED,)).fetchall()
    env.run(job_id)
    ask_in_channel(env, OTHER)
    pass_time(env.database, timedelta(minutes=1))
    env.drain(only=ASKED)
    assert (asked(bot), status(env)) == ((1, 0), "unknown")


@pytest.mark.parametrize("lost", ["before", "after"])
@pytest.mark.parametrize("again", [False, True], ids=["the same job", "another job"])
def test_a_channel_that_was_deleted_has_no_question(
    env: MailEnvironment, bot: EmulatorControl, lost: Lost, *, again: bool
) -> None:
    if again:
        ended_in_the_call(env, bot, lost=lost)
    else:
        lose(env, bot, lost)
    bot.post("/_control/close", {"deleted": [CHANNEL]})
    ask_in_channel(env, OTHER)
    if again:
        second(env)
    assert env.drain(only=ASKED)[-1] == (ASKED, "succeeded")
    assert (asked(bot)[1], status(env)) == (1, "succeeded")


def test_a_doubt_about_a_channel_that_was_deleted_is_settled(env: MailEnvironment, bot: EmulatorControl) -> None:
    ended_in_the_call(env, bot)
    bot.post("/_control/close", {"deleted": [CHANNEL]})
    assert reconcile(env) == {"asked": 1, "told": 0}
    assert (status(env), told(env)) == ("failed", 0)


def test_a_reminder_and_an_outcome_need_no_channel_that_was_deleted(env: MailEnvironment, bot: EmulatorControl) -> None:
    made = waiting(env)
    env.drain(only=ASKED)
    bot.post("/_control/close", {"deleted": [CHANNEL]})
    ask_in_channel(env, OTHER)
    env.enqueue(ASKED, {"approval_id": str(made), "reminder": True})
    assert env.drain(only=ASKED) == [(ASKED, "succeeded")]
    assert asked(bot)[1] == 1
    decide(env, made, Choice.DENY)
    assert env.drain(only="approvals.%") == [("approvals.show_outcome", "succeeded")]
    assert asked(bot)[1] == 0


def test_an_outcome_is_not_shown_in_a_channel_that_is_another_orgs(env: MailEnvironment, bot: EmulatorControl) -> None:
    made = waiting(env)
    env.drain(only=ASKED)
    ask_in_channel(env, OTHER)
    take_over(env)
    before = calls_to(bot, CHANNEL)
    decide(env, made, Choice.DENY, "not to them")
    assert env.drain(only="approvals.%") == [("approvals.show_outcome", "succeeded")]
    assert calls_to(bot, CHANNEL) == before


@pytest.mark.parametrize("lost", ["before", "after"])
def test_what_was_asked_a_moment_ago_is_excused_by_the_nonce(
    env: MailEnvironment, bot: EmulatorControl, lost: Lost
) -> None:
    """The bot may not read the channel's history, and the same nonce makes no second message."""
    bot.post("/_control/close", {"without_history": [CHANNEL]})
    waiting(env)
    bot.order(FaultOrder(operation="channel.post", drop=lost))
    ((job_id,),) = env.database.execute("select id from jobs where job_type = %s", (ASKED,)).fetchall()
    assert env.run(job_id) == "queued"
    pass_time(env.database, timedelta(minutes=1))
    assert env.drain(only=ASKED)[-1] == (ASKED, "succeeded")
    assert asked(bot) == (1, 0)
