"""Two messages of one thread are classified at the same moment: whoever comes second goes on from the first."""

import pytest

from domain.mail.correspondence import EmailState
from domain.mail.thread_plan import ThreadBefore, plan_thread
from domain.mail.triage.classification import Classification, Decision, DecisionSource
from storage.mail import emails, messages
from storage.mail.messages import Message
from tasks import triage
from tests.doubles.worlds import World

QUESTION = Decision(DecisionSource.LLM, Classification.NEEDS_RESPONSE, 0.9, "a question", needs_reply=True)
NEWS = Decision(DecisionSource.LLM, Classification.FYI, 0.9, "news")


def taken_in(world: World) -> Message:
    """A stored message whose thread has no record yet."""
    place = world.deliver("Deployment", "How far are you?")
    world.enqueue("gmail.sync")
    world.drain(only="gmail.%")
    with world.process.database.ledger() as tx:
        return messages.get(tx, world.account.account_id, place.message_id)


def keep(world: World, message: Message, decision: Decision) -> None:
    """What a classification writes that read no record before it decided."""
    plan = plan_thread(ThreadBefore(), decision, triage.HUMAN)
    with world.process.database.tenant(world.account.org_id) as tx:
        triage._put_record(tx, world.account.account_id, message, None, decision, plan)  # noqa: SLF001 - the race is inside it


@pytest.mark.parametrize("news_first", [True, False])
def test_a_question_is_not_buried_by_news_of_its_own_thread(world: World, news_first: bool) -> None:
    message = taken_in(world)
    decisions = [NEWS, QUESTION]
    for decision in decisions if news_first else reversed(decisions):
        keep(world, message, decision)
    with world.process.database.ledger() as tx:
        email = emails.get(tx, world.account.account_id, message.thread_id)
    assert email is not None
    assert (email.state, email.classification) == (EmailState.PENDING, Classification.NEEDS_RESPONSE)
