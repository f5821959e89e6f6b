"""A question that its person threw away gets no draft, and the model is not paid; an untouched draft goes with it."""

import pytest

from domain.mail.correspondence import EmailState
from sandbox.emulator.control import MessagePlace
from tests.doubles.agents import give_agent, order_run, refusals, run_of, store_letter
from tests.doubles.mail_environment import MailEnvironment
from tests.tasks.mail.drafts.test_lost_answers import MADE, check, creates, our_drafts, unsettled

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


BINS = ["TRASH", "SPAM"]


def throws_away(env: MailEnvironment, place: MessagePlace, where: str) -> None:
    if where == "gone":
        env.mailbox.delete_message(place.message_id)
    else:
        env.mailbox.label_message(place.message_id, add=(where,), remove=("INBOX",))


def drafted(env: MailEnvironment) -> MessagePlace:
    """A question whose draft is in the mailbox."""
    place = classified(env)
    env.drain()
    env.sync()
    assert env.state(place.thread_id) is EmailState.DRAFTED
    return place


@pytest.mark.parametrize("where", [*BINS, "gone"])
def test_an_untouched_draft_goes_with_its_message(env: MailEnvironment, where: str) -> None:
    place = drafted(env)
    throws_away(env, place, where)
    env.sync()
    assert env.mailbox.state().drafts == []
    assert env.state(place.thread_id) is EmailState.SKIPPED
    assert env.email(place.thread_id).draft_id is None
    if where != "gone":
        assert not [one for one in env.mailbox.state().label_names(place.message_id) if one.startswith("Postroom/")]


@pytest.mark.parametrize("where", [*BINS, "gone"])
def test_a_draft_that_its_person_has_worked_on_stays(env: MailEnvironment, where: str) -> None:
    place = drafted(env)
    env.mailbox.edit_draft(env.email(place.thread_id).draft_id or "", text="My own words.")
    throws_away(env, place, where)
    env.sync()
    assert len(env.mailbox.state().drafts) == 1
    assert env.state(place.thread_id) is EmailState.DRAFTED


def test_a_draft_whose_message_is_back_by_then_stays(env: MailEnvironment) -> None:
    place = drafted(env)
    throws_away(env, place, "TRASH")
    env.mailbox.label_message(place.message_id, add=("INBOX",), remove=("TRASH",))
    env.sync()
    assert len(env.mailbox.state().drafts) == 1
    assert env.state(place.thread_id) is EmailState.DRAFTED


def test_a_draft_beside_a_later_message_stays(env: MailEnvironment) -> None:
    place = drafted(env)
    env.deliver("Re: Lunch?", "Thank you for looking at it.", thread_id=place.thread_id)
    env.sync()
    throws_away(env, place, "TRASH")
    env.sync()
    assert len(env.mailbox.state().drafts) == 1


def test_the_full_sync_takes_the_draft_back_where_history_has_expired(env: MailEnvironment) -> None:
    place = drafted(env)
    throws_away(env, place, "TRASH")
    env.mailbox.expire_history()
    env.sync()
    env.hour_later()
    assert env.mailbox.state().drafts == []
    assert env.state(place.thread_id) is EmailState.SKIPPED


def test_labels_of_ours_take_no_draft_back(env: MailEnvironment) -> None:
    place = drafted(env)
    for _ in range(2):
        ran = env.sync()
        assert not [one for one in ran if one[0] == "threads.cleanup"]
    assert env.state(place.thread_id) is EmailState.DRAFTED


@pytest.mark.parametrize("where", BINS)
def test_a_draft_that_was_put_in_the_trash_was_discarded(env: MailEnvironment, where: str) -> None:
    place = drafted(env)
    env.mailbox.label_message(env.email(place.thread_id).draft_message_id or "", add=(where,))
    env.sync()
    assert env.state(place.thread_id) is EmailState.SKIPPED
    assert creates(env) == 1


@pytest.mark.parametrize("where", BINS)
def test_a_lost_draft_in_the_trash_is_not_made_again(env: MailEnvironment, where: str) -> None:
    place, _ = unsettled(env, "dropped", MADE["dropped"])
    (draft,) = our_drafts(env, place)
    env.mailbox.label_message(draft["message_id"], add=(where,))
    env.drain()
    env.sync()
    assert (creates(env), env.state(place.thread_id)) == (1, EmailState.SKIPPED)


@pytest.mark.parametrize("is_known", [False, True])
def test_a_lost_draft_is_found_and_goes_with_its_message(env: MailEnvironment, is_known: bool) -> None:
    place, _ = unsettled(env, "dropped", MADE["dropped"])
    throws_away(env, place, "TRASH")
    if is_known:
        env.enqueue("gmail.sync")
        env.drain(only="gmail.%")
    env.drain()
    env.sync()
    check(env, place, EmailState.SKIPPED, 0, 0, made=1)


def test_a_lost_draft_that_was_never_made_is_not_made_in_the_trash(env: MailEnvironment) -> None:
    place, _ = unsettled(env, "lost before", {"drop": "before"})
    throws_away(env, place, "TRASH")
    check(env, place, EmailState.SKIPPED, 0, 0, made=0)


@pytest.mark.parametrize("path", ["forgotten labels", "expired"])
def test_where_nobody_can_tell_a_person_decides_and_nothing_is_made_again(env: MailEnvironment, path: str) -> None:
    place, job_id = unsettled(env, "dropped", MADE["dropped"])
    (draft,) = our_drafts(env, place)
    env.mailbox.turn(history_forgets_labels=1)
    env.mailbox.discard_draft(draft["draft_id"])
    if path == "expired":
        env.mailbox.expire_history()
    env.drain(only="drafts.%")
    assert env.job(job_id)["state"] == "dead"
    env.hour_later()
    assert (creates(env), env.mailbox.state().drafts) == (1, [])
    assert env.count("select count(*) from idempotency_keys where status = 'unknown'") == 1


@pytest.mark.parametrize("where", [*BINS, "gone"])
def test_an_agent_drafts_no_answer_to_what_was_thrown_away(env: MailEnvironment, where: str) -> None:
    give_agent(env)
    place = store_letter(env)
    job_id = order_run(env, place)
    throws_away(env, place, where)
    env.run(job_id)
    assert env.mailbox.state().drafts == []
    assert len(refusals(env, run_of(env, job_id))) == 1
