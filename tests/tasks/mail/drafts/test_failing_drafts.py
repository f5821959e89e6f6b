"""A question whose draft could not be made gets one when Gmail takes it, without anybody's doing."""

from typing import Any

import pytest

from domain.mail.correspondence import EmailState
from sandbox.emulator.control import MessagePlace
from tests.doubles.mail_environment import MailEnvironment

QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."
FAULTS: list[dict[str, Any]] = [{"status": 403, "reason": "domainPolicy"}, {"status": 500}]


def answers(env: MailEnvironment) -> int:
    return len(env.model.journal("messages.create"))


def question(env: MailEnvironment, times: int | None, fault: dict[str, Any]) -> MessagePlace:
    """A question whose draft Gmail refuses so often."""
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    env.fail("drafts.create", times=times, **fault)
    env.sync()
    assert env.state(place.thread_id) is EmailState.PENDING
    return place


@pytest.mark.parametrize("fault", FAULTS)
def test_it_is_made_later(env: MailEnvironment, fault: dict[str, Any]) -> None:
    place = question(env, 3 if fault["status"] == 500 else 1, fault)
    env.hour_later()
    assert env.state(place.thread_id) is EmailState.DRAFTED
    assert len(env.mailbox.state().drafts) == 1


@pytest.mark.parametrize("fault", FAULTS)
def test_it_is_paid_for_less_and_less_often(env: MailEnvironment, fault: dict[str, Any]) -> None:
    question(env, None, fault)
    before = answers(env)
    for _ in range(8):
        env.hour_later()
    assert answers(env) - before <= len((1, 2, 4, 8))
    assert env.mailbox.state().drafts == []


def test_a_question_that_was_archived_meanwhile_gets_none(env: MailEnvironment) -> None:
    place = question(env, 1, FAULTS[0])
    env.mailbox.archive(place.thread_id)
    env.sync()
    env.hour_later()
    assert env.mailbox.state().drafts == []


def test_a_question_that_was_answered_meanwhile_gets_none(env: MailEnvironment) -> None:
    place = question(env, 1, FAULTS[0])
    env.deliver("Re: Lunch?", "Noon is fine.", thread_id=place.thread_id, label_ids=("SENT",))
    env.sync()
    env.hour_later()
    assert env.mailbox.state().drafts == []
    assert env.state(place.thread_id) is EmailState.SKIPPED


def by_hand(env: MailEnvironment, times: int | None, fault: dict[str, Any]) -> MessagePlace:
    """A letter that asked for nothing, whose person orders a draft, which Gmail refuses so often."""
    env.sync()
    place = env.deliver("Note", "For your information only.", headers={"Message-ID": "<note@example.com>"})
    label = env.label("Needs Response")
    env.sync()
    env.fail("drafts.create", times=times, **fault)
    env.mailbox.label_thread(place.thread_id, add=(label,))
    env.sync()
    assert env.state(place.thread_id) is EmailState.PENDING
    return place


@pytest.mark.parametrize("fault", FAULTS)
def test_one_that_was_ordered_by_hand_is_made_later(env: MailEnvironment, fault: dict[str, Any]) -> None:
    place = by_hand(env, 3 if fault["status"] == 500 else 1, fault)
    env.hour_later()
    assert env.state(place.thread_id) is EmailState.DRAFTED
    assert len(env.mailbox.state().drafts) == 1


@pytest.mark.parametrize("fault", FAULTS)
def test_one_that_was_ordered_by_hand_is_paid_for_less_and_less_often(
    env: MailEnvironment, fault: dict[str, Any]
) -> None:
    by_hand(env, None, fault)
    before = answers(env)
    for _ in range(8):
        env.hour_later()
    assert 0 < answers(env) - before <= len((1, 2, 4, 8))


def test_one_that_was_ordered_by_hand_and_taken_back_is_not_made(env: MailEnvironment) -> None:
    place = by_hand(env, 1, FAULTS[0])
    env.mailbox.label_thread(place.thread_id, remove=(env.label("Needs Response"),))
    env.sync()
    env.hour_later()
    assert env.mailbox.state().drafts == []
