"""A draft that its person sends under another subject, which moves it to another thread, counts as sent."""

import pytest

from domain.mail.correspondence import EmailState
from tests.doubles.mail_environment import MailEnvironment
from tests.tasks.mail.drafts.test_drafts import ask

SAVES = [["Other words"], ["", "Other words"], ["Other words", ""], ["Other words", "Yet others"]]


@pytest.mark.parametrize("saves", SAVES)
def test_a_draft_that_was_saved_and_sent_between_two_syncs_was_sent(env: MailEnvironment, saves: list[str]) -> None:
    """Each save gives the draft another message, and history names only the first of them to us."""
    place = ask(env)
    env.drain()
    draft_id = env.email(place.thread_id).draft_id or ""
    for number, subject in enumerate(saves):
        changes = {"text": f"My words {number}."} | ({"subject": subject} if subject else {})
        env.mailbox.edit_draft(draft_id, **changes)
    sent = env.mailbox.send_draft(draft_id)
    assert sent.thread_id != place.thread_id
    env.sync()
    email = env.email(place.thread_id)
    assert (email.state, email.sent_message_id) == (EmailState.SENT, sent.message_id)
