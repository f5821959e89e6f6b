"""A message that its person has thrown away meanwhile does not come back to the inbox, whatever would bring it back."""

import pytest

from domain.mail.actions.label_actions import Archive
from domain.mail.actions.requested_action import RequestedAction
from domain.mail.actions.status import ActionStatus
from tests.doubles.mail_actions import do, labels, look, stored_labels, stored_letter, undo
from tests.doubles.mail_environment import MailEnvironment
from tests.tasks.mail.actions.test_snoozing import TWO_HOURS, wake


@pytest.mark.parametrize("label_id", ["TRASH", "SPAM"])
@pytest.mark.parametrize("keeps_inbox", [True, False])
def test_a_message_that_was_thrown_away_while_it_slept_does_not_come_back(
    env: MailEnvironment, label_id: str, *, keeps_inbox: bool
) -> None:
    place = stored_letter(env)
    do(env, place, TWO_HOURS)
    env.mailbox.label_thread(place.thread_id, add=(label_id,), remove=() if keeps_inbox else ("INBOX",))
    assert wake(env) == [("actions.unsnooze", "succeeded")]
    assert labels(env, place) == {label_id, "UNREAD"}
    env.sync()
    assert stored_labels(env, place) == labels(env, place)


@pytest.mark.parametrize("action", [Archive(), TWO_HOURS], ids=["archive", "snooze"])
@pytest.mark.parametrize("label_id", ["TRASH", "SPAM"])
def test_an_undo_brings_nothing_back_that_was_thrown_away_since(
    env: MailEnvironment, action: RequestedAction, label_id: str
) -> None:
    place = stored_letter(env)
    done = do(env, place, action)
    env.mailbox.label_thread(place.thread_id, add=(label_id,))
    undo(env, done.action_id)
    assert look(env, done.action_id).state is ActionStatus.UNDONE
    assert labels(env, place) == stored_labels(env, place) | {label_id} == {label_id, "UNREAD"}


def test_a_message_that_was_taken_out_of_the_trash_before_it_wakes_comes_back(env: MailEnvironment) -> None:
    place = stored_letter(env)
    do(env, place, TWO_HOURS)
    for change in ({"add": ("TRASH",)}, {"remove": ("TRASH",)}):
        env.mailbox.label_thread(place.thread_id, **change)
    wake(env)
    assert labels(env, place) == {"INBOX", "UNREAD"}
