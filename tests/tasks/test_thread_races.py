"""Two messages of one thread are classified at the same moment: whoever comes second goes on from the first."""

import pytest

from domain.mail.correspondence import EmailState
from domain.mail.thread_plan import ThreadBefore, plan_thread
from domain.mail.triage.classification import Classification, Decision, DecisionSource
from storage.mail import emails, messages
from storage.mail.messages import Message
from tasks import triage
from tests.doubles.mail_environment import MailEnvironment

QUESTION = Decision(DecisionSource.LLM, Classification.NEEDS_RESPONSE, 0.9, "a question", needs_reply=True)
NEWS = Decision(DecisionSource.LLM, Classification.FYI, 0.9, "news")


def taken_in(env: MailEnvironment) -> Message:
    """A stored message whose thread has no record yet."""
    place = env.deliver("Deployment", "How far are you?")
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    with env.process.database.ledger() as tx:
        return messages.get(tx, env.account.account_id, place.message_id)


def keep(env: MailEnvironment, message: Message, decision: Decision) -> None:
    """What a classification writes that read no record before it decided."""
    plan = plan_thread(ThreadBefore(), decision, triage.HUMAN)
    with env.process.database.tenant(env.account.org_id) as tx:
        triage._put_record(tx, env.account.account_id, message, None, decision, plan)  # noqa: SLF001 - the race is inside it


@pytest.mark.parametrize("news_first", [True, False])
def test_a_question_is_not_buried_by_news_of_its_own_thread(env: MailEnvironment, news_first: bool) -> None:
    message = taken_in(env)
    decisions = [NEWS, QUESTION]
    for decision in decisions if news_first else reversed(decisions):
        keep(env, message, decision)
    with env.process.database.ledger() as tx:
        email = emails.get(tx, env.account.account_id, message.thread_id)
    assert email is not None
    assert (email.state, email.classification) == (EmailState.PENDING, Classification.NEEDS_RESPONSE)
