"""Two snoozes of one message with labels of their own: neither label stays when its snooze is over."""

from uuid import UUID

from domain.mail.actions.snooze import Snooze
from sandbox.emulator.control import MessagePlace
from storage.mail.actions.actions import StoredAction
from tests.doubles.mail_actions import do, labels, stored_labels, stored_letter, undo
from tests.doubles.mail_environment import MailEnvironment
from tests.tasks.mail.actions.test_snoozing import due, hint_of, names, settle, wake


def two_snoozes_with_labels_of_their_own(env: MailEnvironment, place: MessagePlace) -> tuple[StoredAction, ...]:
    settle(env, snooze_label="Elsewhere")
    first = do(env, place, Snooze(amount=1, units="hours"))
    settle(env, snooze_label="Later")
    return first, do(env, place, Snooze(amount=5, units="hours"))


def test_undoing_the_earlier_snooze_takes_its_own_label_off(env: MailEnvironment) -> None:
    place = stored_letter(env)
    first, later = two_snoozes_with_labels_of_their_own(env, place)
    assert names(env, place) == {"Elsewhere", "Later", "UNREAD"}
    output = env.job(undo(env, first.action_id))["output"]
    assert output["changed"] is True
    assert names(env, place) == {"Later", "UNREAD"}
    assert labels(env, place) == stored_labels(env, place)
    undo(env, later.action_id)
    assert names(env, place) == {"INBOX", "UNREAD"}


def test_a_message_wakes_without_the_label_of_an_earlier_snooze(env: MailEnvironment) -> None:
    place = stored_letter(env)
    first, _ = two_snoozes_with_labels_of_their_own(env, place)
    assert due(env, UUID(hint_of(first)["unsnooze_job_id"])) == "succeeded"
    assert names(env, place) == {"Elsewhere", "Later", "UNREAD"}, "the later one has the message"
    wake(env)
    assert names(env, place) == {"INBOX", "UNREAD"}
