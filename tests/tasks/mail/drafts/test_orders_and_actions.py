"""An action that takes an order's label off withdraws the order, as a person does; an undo gives it again."""

import pytest

from domain.mail.actions.label_actions import ApplyLabel, RemoveLabel
from domain.mail.actions.status import ActionStatus
from domain.mail.correspondence import EmailState
from sandbox.emulator.control import MessagePlace
from tests.doubles.mail_actions import ask, do, look, undo
from tests.doubles.mail_environment import MailEnvironment
from tests.tasks.mail.drafts.reworks import QUESTION, labels_of
from tests.tasks.mail.drafts.test_orders_by_hand import answers, archived, drafts, old, order_in_vain, put
from tests.tasks.mail.drafts.test_withdrawn_orders import LABELS, order_as_a_service, see

NEEDS_RESPONSE = "Needs Response"


def waiting(env: MailEnvironment, role: str = NEEDS_RESPONSE) -> MessagePlace:
    """A thread whose record waits for a draft that a label ordered, and Gmail refused."""
    place = archived(env)
    env.database.execute("update expected_writes set created_at = created_at - interval '2 minutes'")
    order_in_vain(env, place, role)
    env.gmail.clear_faults()
    return place


@pytest.mark.parametrize("role", LABELS)
def test_an_order_ends_with_the_action_that_takes_its_label_off_before_any_sync(
    env: MailEnvironment, role: str
) -> None:
    place = waiting(env, role)
    assert do(env, place, RemoveLabel(label_id=env.label(role))).state is ActionStatus.DONE
    assert env.state(place.thread_id) is EmailState.SKIPPED
    paid = answers(env)
    env.hour_later()
    assert (drafts(env), answers(env) - paid) == (0, 0)


@pytest.mark.parametrize("is_seen", [True, False])
@pytest.mark.parametrize("is_done", [True, False])
def test_an_order_ends_although_the_action_took_its_label_off_and_did_not_hear_so(
    env: MailEnvironment, *, is_done: bool, is_seen: bool
) -> None:
    """The attempt after that finds the label gone; where that one fails, only a sync tells of it."""
    place = waiting(env)
    made = ask(env, place, RemoveLabel(label_id=env.label(NEEDS_RESPONSE)))
    job_id = look(env, made).job_id
    assert job_id is not None
    env.fail("messages.modify", drop="after")
    assert env.run(job_id) == "queued"
    if is_seen:
        see(env)
        assert env.state(place.thread_id) is EmailState.SKIPPED
    if not is_done:
        env.fail("messages.get", status=403, reason="domainPolicy")
    assert env.run(job_id) == ("succeeded" if is_done else "failed")
    if not is_done and not is_seen:
        see(env)
    assert (look(env, made).state, env.state(place.thread_id)) == (
        ActionStatus.DONE if is_done else ActionStatus.FAILED,
        EmailState.SKIPPED,
    )


def test_a_label_that_the_message_did_not_carry_was_nobodys_order(env: MailEnvironment) -> None:
    """Another message of the thread carries it."""
    place = waiting(env)
    other = env.deliver("Re: Lunch?", "For your information only.", thread_id=place.thread_id)
    see(env)
    do(env, other, RemoveLabel(label_id=env.label(NEEDS_RESPONSE)))
    env.sync()
    env.hour_later()
    assert (drafts(env), env.state(place.thread_id)) == (1, EmailState.DRAFTED)


def test_a_services_order_stands_although_an_action_takes_a_label_off(env: MailEnvironment) -> None:
    place = waiting(env)
    env.fail("drafts.create", times=None, status=403, reason="domainPolicy")
    order_as_a_service(env, place)
    env.drain()
    env.gmail.clear_faults()
    do(env, place, RemoveLabel(label_id=env.label(NEEDS_RESPONSE)))
    env.sync()
    env.hour_later()
    assert (drafts(env), env.state(place.thread_id)) == (1, EmailState.DRAFTED)


@pytest.mark.parametrize("role", LABELS)
def test_an_undo_gives_the_order_again(env: MailEnvironment, role: str) -> None:
    place = waiting(env, role)
    removed = do(env, place, RemoveLabel(label_id=env.label(role)))
    undo(env, removed.action_id)
    assert look(env, removed.action_id).state is ActionStatus.UNDONE
    env.drain()
    assert (drafts(env), env.state(place.thread_id)) == (1, EmailState.DRAFTED)
    env.sync()
    assert (drafts(env), labels_of(env, place)) == (1, {"Postroom/Outbox"})


def test_an_undo_of_what_a_decision_put_on_orders_nothing_by_hand(env: MailEnvironment) -> None:
    env.sync()
    label_id = env.label(NEEDS_RESPONSE)
    env.fail("drafts.create", times=None, status=403, reason="domainPolicy")
    place = env.deliver("Lunch?", QUESTION)
    env.sync()
    undo(env, do(env, place, RemoveLabel(label_id=label_id)).action_id)
    assert env.email(place.thread_id).by_hand_at is None
    assert env.count("select count(*) from jobs where job_type = 'drafts.write_manual'") == 0
    assert labels_of(env, place) == {"Postroom/Needs Response"}


def test_an_undo_that_takes_a_label_off_withdraws_what_it_ordered(env: MailEnvironment) -> None:
    """An action put the label on, which is no order; the person's own is one."""
    place = old(env)
    see(env)
    put(env, place)
    env.fail("drafts.create", times=None, status=403, reason="domainPolicy")
    env.sync()
    assert env.state(place.thread_id) is EmailState.PENDING
    label_id = env.label(NEEDS_RESPONSE)
    removed = do(env, place, RemoveLabel(label_id=label_id))
    applied = do(env, place, ApplyLabel(label_id=label_id))
    assert (removed.state, applied.state) == (ActionStatus.DONE, ActionStatus.DONE)
    env.sync(force_full=True)
    assert env.state(place.thread_id) is EmailState.PENDING
    undo(env, applied.action_id)
    assert env.state(place.thread_id) is EmailState.SKIPPED


@pytest.mark.parametrize("largest_page", [1, 500])
@pytest.mark.parametrize("role", LABELS)
def test_an_undo_s_order_stands_on_whichever_page_history_tells_of_the_action(
    env: MailEnvironment, role: str, largest_page: int
) -> None:
    """Between the pages, the stored message is without the label that the undo has put on again."""
    place = waiting(env, role)
    removed = do(env, place, RemoveLabel(label_id=env.label(role)))
    undo(env, removed.action_id)
    env.fail("drafts.create", times=None, status=403, reason="domainPolicy")
    env.drain(only="drafts.%")
    assert env.state(place.thread_id) is EmailState.PENDING
    env.mailbox.turn(largest_page=largest_page)
    see(env)
    assert env.state(place.thread_id) is EmailState.PENDING
    env.gmail.clear_faults()
    env.hour_later()
    assert (drafts(env), env.state(place.thread_id)) == (1, EmailState.DRAFTED)


def test_a_label_that_its_person_takes_off_after_an_undo_withdraws_the_order(env: MailEnvironment) -> None:
    place = waiting(env)
    removed = do(env, place, RemoveLabel(label_id=env.label(NEEDS_RESPONSE)))
    undo(env, removed.action_id)
    env.mailbox.label_thread(place.thread_id, remove=(env.label(NEEDS_RESPONSE),))
    env.mailbox.turn(largest_page=1)
    env.sync()
    assert (drafts(env), env.state(place.thread_id)) == (0, EmailState.SKIPPED)
