"""What happens to a message between its fetching and its storing: nothing is done by labels that are no longer true."""

from collections.abc import Callable

import pytest

from providers.google.gmail import GmailMailbox
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.meanwhile import once_after

Fetched = Callable[[Callable[[], object]], None]
QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."


@pytest.fixture
def fetched(env: MailEnvironment, monkeypatch: pytest.MonkeyPatch) -> Fetched:
    """Takes a message in, and lets something happen, with a sync of it, after the message was fetched."""

    def take_in(act: Callable[[], object]) -> None:
        def act_and_sync() -> None:
            act()
            env.enqueue("gmail.sync")
            env.drain(only="gmail.sync")

        once_after(monkeypatch, GmailMailbox, "message", act_and_sync)
        env.enqueue("gmail.sync")
        env.drain(only="gmail.%")

    return take_in


def test_a_message_that_was_archived_meanwhile_gets_no_draft(env: MailEnvironment, fetched: Fetched) -> None:
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    fetched(lambda: env.mailbox.archive(place.thread_id))
    env.drain()
    state = env.mailbox.state()
    assert not state.drafts
    assert not [name for name in state.label_names(place.message_id) if name.startswith("Postroom/")]
    assert env.count("select count(*) from messages where 'INBOX' = any (labels)") == 0
    assert len(env.model.journal("messages.create")) == 1, "planning again does not pay again"


def test_a_message_that_was_deleted_meanwhile_is_deleted_here(env: MailEnvironment, fetched: Fetched) -> None:
    env.sync()
    first = env.deliver("Note", "For your information only.")
    env.sync()
    place = env.deliver("Re: Note", QUESTION, thread_id=first.thread_id)
    fetched(lambda: env.mailbox.delete_message(place.message_id))
    env.drain()
    assert env.count("select count(*) from messages where deleted_at is null") == 1
    assert not env.mailbox.state().drafts


def test_a_message_that_came_into_the_inbox_meanwhile_is_classified_by_the_next_full_sync(
    env: MailEnvironment, fetched: Fetched
) -> None:
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.sync")
    env.mailbox.archive(place.thread_id)
    fetched(lambda: env.mailbox.label_thread(place.thread_id, add=("INBOX",)))
    env.drain()
    env.sync(force_full=True)
    assert env.count("select count(*) from decisions") == 1
