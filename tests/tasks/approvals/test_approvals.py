"""The approvals family: asked once, found again after a lost answer, ended in time, and shown how it ended."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from threading import Event, Thread
from typing import Any

import pytest
from psycopg import Connection
from pydantic import SecretStr

from domain.approvals.decision import Choice
from domain.approvals.question import Question
from domain.jobs.job import SYSTEM_ORG, ClaimedJob
from domain.mail.actions.status import ActionStatus
from domain.orgs.access.users import UserRole
from providers.discord.bot import DiscordBot
from providers.ports.approvals import Outcome
from sandbox.anthropic.anthropic import anthropic_emulator
from sandbox.discord.discord import discord_emulator
from sandbox.emulator.client import EmulatorControl
from sandbox.emulator.fault_order import FaultOrder
from sandbox.google.gmail import gmail_emulator
from settings import Settings
from storage.orgs.access import users
from storage.orgs.access.users import UserChanges
from tasks import celery
from tests.doubles.approvals import ASKED_EARLIER, CHANNEL, ask_in_channel, buttons, decide, messages, waiting
from tests.doubles.factories import pass_time
from tests.doubles.inline_worker import claim_job, run_claimed
from tests.doubles.mail_actions import look
from tests.doubles.mail_environment import Addresses, MailEnvironment, environment_at
from tests.servers.backup import back_up
from tests.tasks.mail.outbound.test_outbound_failures import open_effects

ASKED = "approvals.notify"


@pytest.fixture
def bot() -> Iterator[EmulatorControl]:
    with discord_emulator() as emulator:
        yield EmulatorControl(emulator.url)


@pytest.fixture
def env(settings: Settings, database: Connection, bot: EmulatorControl) -> Iterator[MailEnvironment]:
    with gmail_emulator() as gmail, anthropic_emulator() as anthropic:
        addresses = replace(Addresses(gmail.url, anthropic.url), bot=bot.url)
        with environment_at(addresses, addresses.settings(settings), database) as made:
            ask_in_channel(made)
            yield made


def tick(env: MailEnvironment) -> dict[str, int]:
    """Let the housekeeping run, and what follows from it; returns what it moved."""
    with env.process.database.ledger() as tx:
        made = tx.raw("select postroom.enqueue('approvals.expire', %(org)s, '{}'::jsonb) as id", {"org": SYSTEM_ORG})
    env.drain(only="approvals.%")
    found: dict[str, int] = env.job(made[0].id)["output"]
    return found


def test_people_are_asked_with_two_buttons_and_until_when(env: MailEnvironment, bot: EmulatorControl) -> None:
    made = waiting(env, subject="Lunch?")
    assert env.drain(only=ASKED) == [(ASKED, "succeeded")]
    ((message),) = messages(bot)
    assert set(buttons(message)) == {"Approve", "Deny"}
    assert all(str(made) in one for one in buttons(message).values())
    for words in ("Forward waits", "`Lunch?`", "`bob@example.org`", "`owner@postroom.example`", "Until <t:"):
        assert words in message["content"]


def test_who_may_decide_is_notified_too_whether_discord_answers_or_not(
    env: MailEnvironment, bot: EmulatorControl
) -> None:
    with env.process.database.ledger() as tx:
        member = users.add(tx, env.account.org_id, "member@postroom.example", UserChanges(UserRole.MEMBER)).user_id
    made = waiting(env, subject="Lunch?")
    bot.order(FaultOrder(operation="channel.post", drop="before"))
    ((job_id,),) = env.database.execute("select id from jobs where job_type = %s", (ASKED,)).fetchall()
    assert env.run(job_id) == "queued"
    env.drain(only="notifications.%")
    told = env.database.execute(
        "select u.role, i.title, i.body, n.bucket from inbox_items i join notifications n on n.id = i.notification_id"
        " join users u on u.id = i.user_id order by u.role"
    ).fetchall()
    assert [(role, title, bucket) for role, title, _, bucket in told] == [
        (role, "Forward waits for approval", f"{made}:0") for role in ("approver", "owner")
    ]
    assert all("Subject: Lunch?\n" in body and "Decide until" in body for _, _, body, _ in told)
    env.drain()
    assert len(messages(bot)) == 1
    assert env.count("select count(*) from notifications") == 2, "each attempt asks for the same"
    assert env.count("select count(*) from notifications where user_id = %s", member) == 0


def test_without_a_bot_or_a_channel_nothing_is_posted(env: MailEnvironment, bot: EmulatorControl) -> None:
    env.database.execute("delete from approval_channels")
    waiting(env)
    assert env.drain(only=ASKED) == [(ASKED, "succeeded")]
    assert messages(bot) == []
    assert env.database.execute("select key from idempotency_keys where kind = 'effect'").fetchall() == []


def test_what_is_decided_already_is_not_asked(env: MailEnvironment, bot: EmulatorControl) -> None:
    made = waiting(env)
    decide(env, made, Choice.DENY)
    env.drain(only="approvals.%")
    assert messages(bot) == []


@pytest.mark.parametrize("later", [timedelta(0), timedelta(minutes=10)])
def test_a_lost_answer_makes_no_second_message(env: MailEnvironment, bot: EmulatorControl, later: timedelta) -> None:
    made = waiting(env)
    bot.order(FaultOrder(operation="channel.post", drop="after"))
    job_id = env.database.execute("select id from jobs where job_type = %s", (ASKED,)).fetchone()
    assert job_id is not None
    env.run(job_id[0])
    bot.post("/_control/clock", {"advance_s": later.total_seconds()})
    pass_time(env.database, later)
    assert env.drain(only=ASKED)[-1] == (ASKED, "succeeded")
    ((message),) = messages(bot)
    row = env.database.execute("select channel_id, message_id from approval_notices where approval_id = %s", (made,))
    assert row.fetchone() == (CHANNEL, message["id"])


def test_a_call_that_was_never_made_is_made_again(env: MailEnvironment, bot: EmulatorControl) -> None:
    waiting(env)
    bot.order(FaultOrder(operation="channel.post", drop="before"))
    bot.post("/_control/write", {"channel": CHANNEL, "content": "hello"})
    assert env.drain(only=ASKED)[-1] == (ASKED, "succeeded")
    assert len(messages(bot)) == 2


def test_where_nobody_can_tell_the_job_says_so_and_the_action_still_waits(
    env: MailEnvironment, bot: EmulatorControl
) -> None:
    made = waiting(env)
    bot.post("/_control/close", {"without_history": [CHANNEL]})
    bot.order(FaultOrder(operation="channel.post", drop="after"))
    row = env.database.execute("select id from jobs where job_type = %s", (ASKED,)).fetchone()
    assert row is not None
    env.run(row[0])
    pass_time(env.database, timedelta(minutes=10))
    env.database.execute(ASKED_EARLIER, (timedelta(minutes=10),))
    env.drain(only=ASKED)
    assert env.job(row[0])["state"] in {"failed", "dead"}
    assert len(messages(bot)) == 1
    assert look(env, made).state is ActionStatus.APPROVED_PENDING


def test_an_approval_executes_and_the_message_says_so(env: MailEnvironment, bot: EmulatorControl) -> None:
    made = waiting(env)
    env.drain(only=ASKED)
    decide(env, made, Choice.APPROVE, "of course")
    env.drain()
    ((message),) = messages(bot)
    assert message["components"] == []
    assert "Approved by operator:anna: of course" in message["content"]
    assert look(env, made).state is ActionStatus.DONE


def test_a_denial_executes_nothing(env: MailEnvironment, bot: EmulatorControl) -> None:
    made = waiting(env)
    env.drain(only=ASKED)
    decide(env, made, Choice.DENY)
    env.drain()
    assert look(env, made).state is ActionStatus.DENIED
    assert "Denied by operator:anna" in messages(bot)[0]["content"]
    assert env.count("select count(*) from jobs where job_type in ('actions.execute', 'outbound.send')") == 0


def test_a_message_that_was_deleted_needs_no_outcome(env: MailEnvironment, bot: EmulatorControl) -> None:
    made = waiting(env)
    env.drain(only=ASKED)
    bot.post("/_control/reset", {})
    decide(env, made, Choice.DENY)
    assert env.drain(only="approvals.%")[-1] == ("approvals.show_outcome", "succeeded")


def test_there_is_one_reminder_and_then_an_end(env: MailEnvironment, bot: EmulatorControl) -> None:
    made = waiting(env)
    env.drain(only=ASKED)
    assert tick(env) == {"expired": 0, "reminded": 0}
    back = "update actions set created_at = created_at - %s, approval_expires_at = approval_expires_at - %s"
    env.database.execute(back, (timedelta(days=2, hours=1),) * 2)
    assert tick(env)["reminded"] == 1
    assert tick(env)["reminded"] == 0
    assert [one["content"].startswith("**Reminder") for one in messages(bot)] == [False, True]
    env.database.execute(back, (timedelta(days=1),) * 2)
    assert tick(env)["expired"] == 1
    assert look(env, made).state is ActionStatus.EXPIRED
    assert all(one["components"] == [] and "Expired" in one["content"] for one in messages(bot))
    env.drain()
    assert env.count("select count(*) from jobs where job_type = 'actions.execute'") == 0


def test_the_token_is_in_no_payload_and_no_output(env: MailEnvironment) -> None:
    waiting(env)
    env.drain(only=ASKED)
    assert isinstance(env.process.settings.discord_bot_token, SecretStr)
    assert env.count("select count(*) from jobs where to_jsonb(jobs)::text like '%%bot-token%%'") == 0


BOUND_S = 20.0


def run_in_thread(job: ClaimedJob) -> None:
    celery.set_current()
    run_claimed(job)


def test_a_reminder_posted_while_the_first_is_edited_loses_its_buttons(
    env: MailEnvironment, bot: EmulatorControl, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = waiting(env)
    env.drain(only=ASKED)
    reminder = claim_job(env.process, env.enqueue(ASKED, {"approval_id": str(made), "reminder": True}))
    really_post, really_show = DiscordBot.post_question, DiscordBot.show_outcome
    has_posted, may_end = Event(), Event()

    def post(self: DiscordBot, channel_id: str, question: Question) -> str:
        found = really_post(self, channel_id, question)
        has_posted.set()
        assert may_end.wait(BOUND_S)
        return found

    def show(self: DiscordBot, channel_id: str, message_id: str, outcome: Outcome) -> None:
        really_show(self, channel_id, message_id, outcome)
        may_end.set()
        asking.join(BOUND_S)

    monkeypatch.setattr(DiscordBot, "post_question", post)
    monkeypatch.setattr(DiscordBot, "show_outcome", show)
    asking = Thread(target=run_in_thread, args=(reminder,))
    asking.start()
    assert has_posted.wait(BOUND_S)
    decide(env, made, Choice.DENY)
    env.drain(only="approvals.show_outcome")
    assert [one["components"] for one in messages(bot)] == [[], []]


LOST_POSTS: dict[str, dict[str, Any]] = {
    "its answer was lost": {"drop": "after"},
    "it was never made": {"drop": "before"},
}


@pytest.mark.parametrize("later", [timedelta(0), timedelta(minutes=10)])
@pytest.mark.parametrize("choice", [Choice.DENY, Choice.APPROVE])
@pytest.mark.parametrize("lost", LOST_POSTS)
def test_a_question_that_is_decided_before_its_post_is_found_shows_how_it_ended(
    env: MailEnvironment, bot: EmulatorControl, lost: str, choice: Choice, later: timedelta
) -> None:
    bot.post("/_control/write", {"channel": CHANNEL, "content": "hello"})
    made = waiting(env)
    bot.order(FaultOrder(operation="channel.post", **LOST_POSTS[lost]))
    ((job_id,),) = env.database.execute("select id from jobs where job_type = %s", (ASKED,)).fetchall()
    assert env.run(job_id) == "queued"
    decide(env, made, choice)
    bot.post("/_control/clock", {"advance_s": later.total_seconds()})
    pass_time(env.database, later)
    env.drain()
    _, *posted = messages(bot)
    assert [one["components"] for one in posted] == ([[]] if lost == "its answer was lost" else [])
    assert open_effects(env) == 0
    assert look(env, made).state is (ActionStatus.DENIED if choice is Choice.DENY else ActionStatus.DONE)


def test_a_question_whose_process_died_after_its_answer_shows_how_it_ended(
    env: MailEnvironment, bot: EmulatorControl
) -> None:
    """The effect's result stands in the ledger, and the job's end does not."""
    made = waiting(env)
    env.drain(only=ASKED)
    env.database.execute("delete from approval_notices")
    decide(env, made, Choice.DENY)
    env.enqueue(ASKED, {"approval_id": str(made)})
    env.drain(only="approvals.%")
    assert [one["components"] for one in messages(bot)] == [[]]


def test_a_question_in_a_channel_that_was_taken_away_shows_how_it_ended(
    env: MailEnvironment, bot: EmulatorControl
) -> None:
    made = waiting(env)
    bot.order(FaultOrder(operation="channel.post", drop="after"))
    ((job_id,),) = env.database.execute("select id from jobs where job_type = %s", (ASKED,)).fetchall()
    assert env.run(job_id) == "queued"
    env.database.execute("delete from approval_channels")
    env.drain(only=ASKED)
    decide(env, made, Choice.DENY)
    env.drain(only="approvals.%")
    assert [one["components"] for one in messages(bot)] == [[]]


def test_a_question_asked_after_the_restored_moment_is_not_asked_again(
    env: MailEnvironment, bot: EmulatorControl
) -> None:
    waiting(env)
    backup = back_up(env.database)
    assert env.drain(only=ASKED) == [(ASKED, "succeeded")]
    backup.restore(env.process)
    assert env.drain(only=ASKED) == [(ASKED, "dead")]
    assert len(messages(bot)) == 1
