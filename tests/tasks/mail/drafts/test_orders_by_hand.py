"""A draft that its person ordered and that could not be made is tried again, until it is made or they withdraw it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from domain.mail.correspondence import EmailState
from domain.mail.replies.drafting import DRAFT_TOOL
from sandbox.emulator.control import MessagePlace
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.meanwhile import Meanwhile
from tests.tasks.mail.drafts.reworks import QUESTION, draft_id, drafted, labels_of
from tests.tasks.mail.drafts.test_lost_answers import own_letter

REFUSED: dict[str, Any] = {"status": 403, "reason": "domainPolicy"}


def drafts(env: MailEnvironment) -> int:
    return len(env.mailbox.state().drafts)


def answers(env: MailEnvironment) -> int:
    return len(env.model.journal("messages.create"))


def put(env: MailEnvironment, place: MessagePlace, role: str = "Needs Response") -> None:
    env.mailbox.label_thread(place.thread_id, add=(env.label(role),))


def order_in_vain(env: MailEnvironment, place: MessagePlace, role: str = "Needs Response") -> None:
    """The person orders a draft, which Gmail refuses."""
    env.fail("drafts.create", times=None, **REFUSED)
    put(env, place, role)
    env.sync()
    assert (env.state(place.thread_id), drafts(env)) == (EmailState.PENDING, 0)


def hours_later(env: MailEnvironment, hours: int) -> list[int]:
    """After how many hours the model was asked for the draft again."""
    found: list[int] = []
    asked = answers(env)
    for hour in range(1, hours + 1):
        env.hour_later()
        if answers(env) > asked:
            asked, found = answers(env), [*found, hour]
    return found


def discarded(env: MailEnvironment) -> MessagePlace:
    """A question whose draft was thrown away."""
    place = drafted(env)
    env.mailbox.discard_draft(draft_id(env, place))
    env.sync()
    return place


def archived(env: MailEnvironment) -> MessagePlace:
    """A question whose draft was thrown away, and which was archived then."""
    place = discarded(env)
    env.mailbox.archive(place.thread_id)
    env.sync()
    return place


def answered(env: MailEnvironment) -> MessagePlace:
    """A question that its person has answered with the draft."""
    place = drafted(env)
    env.mailbox.send_draft(draft_id(env, place))
    env.sync()
    env.database.execute("update messages set received_at = received_at - interval '3 hours'")
    return place


def old(env: MailEnvironment) -> MessagePlace:
    """A conversation of twenty days ago, which was never taken in."""
    env.sync()
    env.label("Needs Response")
    received = int((datetime.now(UTC) - timedelta(days=20)).timestamp() * 1000)
    place = env.deliver(
        "Old", QUESTION, headers={"Message-ID": "<old@example.com>"}, label_ids=("UNREAD",), internal_date=received
    )
    env.sync()
    return place


CASES = [discarded, archived, answered, old]


@pytest.mark.parametrize("case", CASES)
def test_it_is_made_when_gmail_takes_it(env: MailEnvironment, case: Callable[[MailEnvironment], MessagePlace]) -> None:
    place = case(env)
    order_in_vain(env, place)
    env.gmail.clear_faults()
    env.hour_later()
    assert drafts(env) == 1
    assert env.state(place.thread_id) is EmailState.DRAFTED
    assert labels_of(env, place) == {"Postroom/Outbox"}


@pytest.mark.parametrize("case", CASES)
def test_it_is_paid_for_less_and_less_often(
    env: MailEnvironment, case: Callable[[MailEnvironment], MessagePlace]
) -> None:
    order_in_vain(env, case(env))
    assert hours_later(env, 9) == [1, 2, 4, 8]


def test_the_schedule_gives_up_after_thirty_days(env: MailEnvironment) -> None:
    place = discarded(env)
    order_in_vain(env, place)
    env.gmail.clear_faults()
    env.database.execute(
        "update emails set state_changed_at = now() - interval '30 days', by_hand_at = now() - interval '30 days'"
    )
    env.hour_later()
    assert drafts(env) == 0
    env.sync(force_full=True)
    assert drafts(env) == 1


def test_an_old_conversation_that_could_not_be_fetched_is_drafted_later(env: MailEnvironment) -> None:
    place = old(env)
    env.fail("messages.get", times=None, **REFUSED)
    put(env, place)
    env.sync()
    assert env.count("select count(*) from emails") == 0
    env.gmail.clear_faults()
    env.hour_later()
    assert env.state(place.thread_id) is EmailState.DRAFTED


def test_an_old_conversation_is_archived_although_history_was_lost(env: MailEnvironment) -> None:
    place = old(env)
    put(env, place, "Done")
    env.mailbox.expire_history()
    env.sync()
    assert labels_of(env, place) == set()


def test_one_that_was_withdrawn_is_not_made(env: MailEnvironment) -> None:
    """Also where the classification wanted a draft, too: its person has the last word."""
    place = discarded(env)
    order_in_vain(env, place)
    env.gmail.clear_faults()
    env.mailbox.label_thread(place.thread_id, remove=(env.label("Needs Response"),))
    env.sync()
    assert env.state(place.thread_id) is EmailState.SKIPPED
    for _ in range(2):
        env.hour_later()
    env.sync(force_full=True)
    assert drafts(env) == 0


def test_a_draft_that_may_have_been_made_is_looked_for_when_its_order_is_withdrawn(env: MailEnvironment) -> None:
    place = discarded(env)
    order_in_vain(env, place)
    env.gmail.clear_faults()
    assert env.email(place.thread_id).in_doubt
    env.mailbox.label_thread(place.thread_id, remove=(env.label("Needs Response"),))
    assert ("drafts.write", "succeeded") in env.sync()
    assert not env.email(place.thread_id).in_doubt
    assert env.state(place.thread_id) is EmailState.SKIPPED


def test_one_that_was_withdrawn_and_given_again_is_made(env: MailEnvironment) -> None:
    place = discarded(env)
    order_in_vain(env, place)
    env.mailbox.label_thread(place.thread_id, remove=(env.label("Needs Response"),))
    env.sync()
    env.gmail.clear_faults()
    put(env, place)
    env.sync()
    assert drafts(env) == 1


def test_a_label_on_one_message_of_several_is_no_order_that_was_withdrawn(env: MailEnvironment) -> None:
    place = discarded(env)
    env.deliver("Re: Lunch?", "For your information only.", thread_id=place.thread_id)
    env.sync()
    order_in_vain(env, place)
    env.gmail.clear_faults()
    env.mailbox.label_message(place.message_id, remove=(env.label("Needs Response"),))
    env.sync()
    assert env.state(place.thread_id) is EmailState.PENDING
    env.hour_later()
    assert drafts(env) == 1


def test_whoever_answers_after_asking_gets_no_draft_later(env: MailEnvironment) -> None:
    place = discarded(env)
    order_in_vain(env, place)
    env.gmail.clear_faults()
    env.mailbox.deliver(own_letter(env, place), thread_id=place.thread_id, label_ids=("SENT",))
    env.sync()
    env.hour_later()
    assert drafts(env) == 0
    assert env.state(place.thread_id) is EmailState.SKIPPED
    assert labels_of(env, place) == set()


def test_one_whose_message_was_thrown_away_is_not_made(env: MailEnvironment) -> None:
    place = discarded(env)
    order_in_vain(env, place)
    env.gmail.clear_faults()
    env.mailbox.label_message(place.message_id, add=("TRASH",), remove=("INBOX",))
    env.sync()
    env.hour_later()
    assert drafts(env) == 0


def test_one_whose_message_was_deleted_is_about_the_rest_of_the_thread(env: MailEnvironment) -> None:
    place = archived(env)
    second = env.deliver("Re: Lunch?", f"Once more: {QUESTION}", thread_id=place.thread_id)
    env.sync()
    env.mailbox.archive(place.thread_id)
    env.mailbox.discard_draft(draft_id(env, place))
    env.sync()
    order_in_vain(env, place)
    env.gmail.clear_faults()
    assert env.email(place.thread_id).message_id == second.message_id
    env.mailbox.delete_message(second.message_id)
    env.sync()
    env.hour_later()
    assert (drafts(env), env.state(place.thread_id)) == (1, EmailState.DRAFTED)


def test_one_whose_thread_was_deleted_ends(env: MailEnvironment) -> None:
    place = archived(env)
    order_in_vain(env, place)
    env.gmail.clear_faults()
    paid = answers(env)
    env.mailbox.delete_message(place.message_id)
    env.sync()
    env.hour_later()
    assert (answers(env), env.state(place.thread_id)) == (paid, EmailState.SKIPPED)


def test_a_thread_that_is_done_between_two_attempts_is_not_opened_again(env: MailEnvironment) -> None:
    place = discarded(env)
    put(env, place)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    row = env.database.execute("select id from jobs where job_type = 'drafts.write_manual'").fetchone()
    assert row is not None
    env.fail("drafts.create", status=503)
    assert env.run(row[0]) == "queued"
    put(env, place, "Done")
    env.enqueue("gmail.sync")
    for family in ("gmail.%", "threads.%"):
        env.drain(only=family)
    env.drain()
    assert env.state(place.thread_id) is EmailState.ARCHIVED
    assert drafts(env) == 0


def test_a_first_draft_by_the_label_rework_is_paid_for_less_and_less_often(env: MailEnvironment) -> None:
    place = discarded(env)
    order_in_vain(env, place, "Rework")
    assert hours_later(env, 9) == [1, 2, 4, 8]
    env.gmail.clear_faults()
    env.sync(force_full=True)
    assert drafts(env) == 1


def test_whoever_answers_while_the_draft_is_written_gets_none(env: MailEnvironment, meanwhile: Meanwhile) -> None:
    """The job that plans again is no later order."""
    place = discarded(env)

    def answer() -> None:
        env.mailbox.deliver(own_letter(env, place), thread_id=place.thread_id, label_ids=("SENT",))
        env.enqueue("gmail.sync")
        env.drain(only="gmail.%")

    put(env, place)
    meanwhile(DRAFT_TOOL, answer)
    env.sync()
    assert drafts(env) == 0
    assert env.state(place.thread_id) is EmailState.SKIPPED
