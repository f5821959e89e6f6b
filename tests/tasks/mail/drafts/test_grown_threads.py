"""Words of before a message are never drafted as the answer to it, whichever attempt makes the draft."""

from typing import Any

import pytest

from domain.jobs.job import Origin
from domain.mail.correspondence import EmailState
from domain.mail.replies.drafting import DRAFT_TOOL
from operations.jobs import replays
from sandbox.emulator.control import MessagePlace
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.meanwhile import Meanwhile
from tests.tasks.mail.drafts.reworks import prompts
from tests.tasks.mail.drafts.test_lost_answers import QUESTION, creates, unsettled

REFUSED: list[dict[str, Any]] = [{"status": 503}, {"status": 400, "reason": "failedPrecondition"}, {"drop": "before"}]
"""How Gmail refuses a draft that it takes a moment later."""


def asks_else(env: MailEnvironment, place: MessagePlace) -> None:
    """Whoever asked writes again, and the message is stored."""
    env.deliver("Re: Lunch", "Forget Friday. Could you do Monday? Please reply.", thread_id=place.thread_id)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")


@pytest.mark.parametrize("order", REFUSED)
def test_a_message_between_two_attempts_has_the_model_asked_anew(
    env: MailEnvironment, order: dict[str, Any], meanwhile: Meanwhile
) -> None:
    place, _ = unsettled(env, "Anna", order)
    asks_else(env, place)
    asked = meanwhile(DRAFT_TOOL, lambda: None)
    env.drain(only="drafts.%")
    env.drain()
    assert (env.state(place.thread_id), len(env.mailbox.state().drafts), creates(env)) == (EmailState.DRAFTED, 1, 1)
    assert prompts(env, "draft") == 2
    assert "Could you do Monday?" in asked[-1].mail


def test_a_thread_that_stayed_as_it_was_is_paid_for_once(env: MailEnvironment) -> None:
    place, _ = unsettled(env, "Anna", REFUSED[0])
    env.drain()
    assert (env.state(place.thread_id), prompts(env, "draft")) == (EmailState.DRAFTED, 1)


def test_a_retry_by_an_operator_has_the_model_asked_anew(env: MailEnvironment) -> None:
    env.sync()
    env.fail("drafts.create", status=403, reason="domainPolicy")
    place = env.deliver("Lunch?", QUESTION)
    env.sync()
    row = env.database.execute("select id from jobs where job_type = 'drafts.write' and state = 'failed'").fetchone()
    assert row is not None
    asks_else(env, place)
    with env.process.database.ledger() as tx:
        replays.retry(tx, row[0], by=Origin(actor_id="a test"), reason="it is mended")
    env.drain(only="drafts.%")
    env.drain()
    assert (env.state(place.thread_id), len(env.mailbox.state().drafts)) == (EmailState.DRAFTED, 1)
    assert prompts(env, "draft") == 2
