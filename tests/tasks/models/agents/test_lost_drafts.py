"""An agent's draft whose making nobody saw the end of: its person is as free as with any other draft."""

from uuid import UUID

import pytest

from domain.mail.correspondence import EmailState
from sandbox.emulator.control import MessagePlace
from tests.doubles.agents import give_agent, order_run, refusals, run_of, store_letter
from tests.doubles.mail_environment import MailEnvironment
from tests.tasks.mail.drafts.test_lost_answers import Deed, creates, deletes, sends

AGAIN = "Could you also tell me who comes? Please reply."


def unsettled(env: MailEnvironment) -> tuple[MessagePlace, UUID]:
    """A run whose draft was made and whose answer was lost."""
    give_agent(env)
    place = store_letter(env)
    job_id = order_run(env, place)
    env.fail("drafts.create", drop="after")
    assert env.run(job_id) == "queued"
    return place, job_id


@pytest.mark.parametrize("deed", [sends, deletes])
def test_a_question_after_an_agents_draft_was_dealt_with_gets_its_own(env: MailEnvironment, deed: Deed) -> None:
    place, job_id = unsettled(env)
    deed(env, place)
    env.deliver("Re: Lunch?", AGAIN, thread_id=place.thread_id)
    env.enqueue("gmail.sync")
    for family in ("gmail.%", "triage.%"):
        env.drain(only=family)
    env.drain(only="agents.%")
    assert env.job(job_id)["state"] == "succeeded"
    env.drain()
    assert creates(env) == 2
    assert len(env.mailbox.state().drafts) == 1
    assert env.state(place.thread_id) is EmailState.DRAFTED


@pytest.mark.parametrize(("deed", "state"), [(sends, EmailState.SENT), (deletes, EmailState.SKIPPED)])
def test_an_agents_draft_that_was_dealt_with_leaves_no_label(
    env: MailEnvironment, deed: Deed, state: EmailState
) -> None:
    place, _ = unsettled(env)
    env.mailbox.label_thread(place.thread_id, add=(env.label("Needs Response"),))
    deed(env, place)
    env.drain(only="agents.%")
    assert env.state(place.thread_id) is state
    assert creates(env) == 1
    assert env.email(place.thread_id).in_doubt is False
    assert "Postroom/Needs Response" not in env.mailbox.state().label_names(place.message_id)


def test_words_of_before_a_message_are_not_drafted_by_a_later_attempt(env: MailEnvironment) -> None:
    give_agent(env)
    place = store_letter(env)
    job_id = order_run(env, place)
    env.fail("drafts.create", status=503)
    assert env.run(job_id) == "queued"
    env.deliver("Re: Lunch?", "Forget Friday. Could you do Monday?", thread_id=place.thread_id)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    env.drain(only="agents.%")
    assert refusals(env, run_of(env, job_id)) == ["Refused. thread: has changed since this run began"]
    assert env.mailbox.state().drafts == []
