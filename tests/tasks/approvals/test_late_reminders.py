"""A reminder that is posted while the first question is shown as answered loses its buttons, too."""

from threading import Event, Thread

import pytest

from domain.approvals.decision import Choice
from domain.approvals.question import Question
from domain.jobs.job import ClaimedJob
from providers.discord.bot import DiscordBot
from providers.ports.approvals import Outcome
from sandbox.emulator.client import EmulatorControl
from tasks import celery
from tests.doubles.approvals import decide, messages, waiting
from tests.doubles.inline_worker import claim_job, run_claimed
from tests.doubles.mail_environment import MailEnvironment
from tests.tasks.approvals.test_approvals import ASKED, bot, env

__all__ = ["bot", "env"]

BOUND_S = 20.0


def run_in_thread(job: ClaimedJob) -> None:
    celery.set_current()
    run_claimed(job)


def test_a_reminder_posted_while_the_first_is_edited_loses_its_buttons(
    env: MailEnvironment, bot: EmulatorControl, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = waiting(env)
    env.drain(only=ASKED)
    reminder = claim_job(env.process, env.enqueue(ASKED, {"action_id": str(made), "reminder": True}))
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
