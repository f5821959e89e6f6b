"""A question that its person threw away before its draft was written gets none, and the model is not paid."""

import pytest

from domain.mail.correspondence import EmailState
from sandbox.emulator.control import MessagePlace
from tests.doubles.mail_environment import MailEnvironment

QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."


def classified(env: MailEnvironment) -> MessagePlace:
    """A question whose draft is ordered and not written yet."""
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    env.enqueue("gmail.sync")
    for family in ("gmail.%", "triage.%"):
        env.drain(only=family)
    return place


@pytest.mark.parametrize("where", ["TRASH", "SPAM"])
def test_what_was_thrown_away_gets_no_draft(env: MailEnvironment, where: str) -> None:
    place = classified(env)
    env.mailbox.label_message(place.message_id, add=(where,), remove=("INBOX",))
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    env.drain()
    assert env.mailbox.state().drafts == []
    assert len(env.model.journal("messages.create")) == 1
    assert env.state(place.thread_id) is EmailState.SKIPPED
    assert not [name for name in env.mailbox.state().label_names(place.message_id) if name.startswith("Postroom/")]


@pytest.mark.parametrize("where", ["TRASH", "SPAM", "gone"])
def test_what_was_thrown_away_before_history_says_so_gets_no_draft(env: MailEnvironment, where: str) -> None:
    place = classified(env)
    if where == "gone":
        env.mailbox.delete_message(place.message_id)
    else:
        env.mailbox.label_message(place.message_id, add=(where,), remove=("INBOX",))
    env.drain(only="drafts.%")
    assert env.mailbox.state().drafts == []
    assert env.state(place.thread_id) is EmailState.SKIPPED


def test_a_draft_that_is_ordered_by_hand_is_written_all_the_same(env: MailEnvironment) -> None:
    place = classified(env)
    env.drain()
    env.mailbox.discard_draft(env.email(place.thread_id).draft_id or "")
    env.sync()
    env.mailbox.label_message(place.message_id, add=("TRASH",), remove=("INBOX",))
    env.sync()
    env.mailbox.label_message(place.message_id, add=(env.label("Needs Response"),))
    env.sync()
    assert len(env.mailbox.state().drafts) == 1
