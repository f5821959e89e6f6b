"""Needs Response put on by hand: the same draft as the classification orders, for any thread."""

from collections.abc import Callable

import pytest

from domain.mail.correspondence import EmailState
from sandbox.emulator.control import MessagePlace
from tests.doubles.mail_environment import MailEnvironment
from tests.tasks.mail.drafts.reworks import draft_id, drafted, labels_of, words
from tests.tasks.mail.drafts.test_lost_answers import MADE, creates, deletes, own_letter, the_draft

NEWS = "For your information only."


def skipped(env: MailEnvironment) -> MessagePlace:
    """A letter that asked for nothing."""
    env.sync()
    env.label("Needs Response")
    place = env.deliver("Note", NEWS, headers={"Message-ID": "<note@example.com>"})
    env.sync()
    assert env.state(place.thread_id) is EmailState.SKIPPED
    return place


def ask_by_hand(env: MailEnvironment, place: MessagePlace) -> list[tuple[str, str]]:
    """The person puts Needs Response on the thread; returns what ran of it."""
    env.mailbox.label_thread(place.thread_id, add=(env.label("Needs Response"),))
    return [one for one in env.sync() if one[0].startswith("drafts.")]


def test_a_letter_that_asked_for_nothing_is_answered_when_its_person_asks(env: MailEnvironment) -> None:
    place = skipped(env)
    assert ask_by_hand(env, place) == [("drafts.write_manual", "succeeded")]
    (draft,) = env.mailbox.state().drafts
    assert (draft["thread_id"], draft["ghost"]) == (place.thread_id, False)
    assert (env.state(place.thread_id), draft_id(env, place)) == (EmailState.DRAFTED, draft["draft_id"])
    assert labels_of(env, place) == {"Postroom/Outbox"}
    assert [job for job, _ in env.sync()] == ["gmail.sync"], "our own labels and draft change nothing"


def test_a_thread_that_nobody_has_read_gets_its_record(env: MailEnvironment) -> None:
    """An old conversation, from before the account was connected: its mail is fetched first."""
    asked = env.deliver("Old", "Could you answer?", headers={"Message-ID": "<old@example.com>"}, label_ids=("UNREAD",))
    env.deliver("Re: Old", "Are you there?", thread_id=asked.thread_id, label_ids=("UNREAD",))
    env.sync()
    label = env.label("Needs Response")
    assert env.count("select count(*) from messages") == 0
    env.mailbox.label_thread(asked.thread_id, add=(label,))
    env.sync()
    assert env.count("select count(*) from messages") == 2
    assert env.state(asked.thread_id) is EmailState.DRAFTED
    assert len(env.mailbox.state().drafts) == 1
    assert labels_of(env, asked) == {"Postroom/Outbox"}


def test_a_drafted_thread_is_left_as_it_is(env: MailEnvironment) -> None:
    place = drafted(env)
    before = env.email(place.thread_id)
    env.enqueue("manual_draft", {"email_id": str(before.email_id)})
    env.drain()
    assert ask_by_hand(env, place) == [("drafts.write_manual", "succeeded")]
    assert env.email(place.thread_id) == before
    assert labels_of(env, place) == {"Postroom/Outbox"}
    assert creates(env) == 1


def answered(env: MailEnvironment, place: MessagePlace) -> None:
    env.mailbox.send_draft(draft_id(env, place))


def done(env: MailEnvironment, place: MessagePlace) -> None:
    env.mailbox.label_thread(place.thread_id, add=(env.label("Done"),))


def discarded(env: MailEnvironment, place: MessagePlace) -> None:
    env.mailbox.discard_draft(draft_id(env, place))


@pytest.mark.parametrize(
    ("end", "state"),
    [(answered, EmailState.SENT), (done, EmailState.ARCHIVED), (discarded, EmailState.SKIPPED)],
)
def test_a_finished_thread_is_opened_again(
    env: MailEnvironment, end: Callable[[MailEnvironment, MessagePlace], None], state: EmailState
) -> None:
    place = drafted(env)
    end(env, place)
    env.sync()
    assert env.state(place.thread_id) is state
    ask_by_hand(env, place)
    (draft,) = env.mailbox.state().drafts
    assert creates(env) == 2
    assert (env.state(place.thread_id), draft_id(env, place)) == (EmailState.DRAFTED, draft["draft_id"])
    assert labels_of(env, place) == {"Postroom/Outbox"}


def test_a_draft_thrown_away_a_moment_ago_makes_room(env: MailEnvironment) -> None:
    """The person discards the draft and orders another in the same breath: the record learns of both."""
    place = drafted(env)
    label = env.label("Needs Response")
    env.mailbox.discard_draft(draft_id(env, place))
    env.mailbox.label_thread(place.thread_id, add=(label,))
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    row = env.database.execute("select id from jobs where job_type = 'drafts.write_manual'").fetchone()
    assert row is not None
    assert env.run(row[0]) == "queued", "it waits until the record knows what became of the draft"
    env.drain()
    assert len(env.mailbox.state().drafts) == 1
    assert env.state(place.thread_id) is EmailState.DRAFTED


def test_a_draft_with_a_persons_words_is_not_joined_by_another(env: MailEnvironment) -> None:
    place = drafted(env)
    env.mailbox.edit_draft(draft_id(env, place), text="My own words.")
    env.sync()
    done(env, place)
    env.sync()
    ask_by_hand(env, place)
    assert words(env) == "My own words."
    assert creates(env) == 1
    assert env.state(place.thread_id) is EmailState.ARCHIVED
    assert labels_of(env, place) == {"Postroom/Action Required"}


def test_whoever_answers_after_asking_gets_no_draft(env: MailEnvironment) -> None:
    place = skipped(env)
    env.mailbox.label_thread(place.thread_id, add=(env.label("Needs Response"),))
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    env.mailbox.deliver(own_letter(env, place), thread_id=place.thread_id, label_ids=("SENT",))
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    env.drain()
    assert creates(env) == 0
    assert env.state(place.thread_id) is EmailState.SKIPPED
    assert labels_of(env, place) == set()


def test_a_follow_up_to_ones_own_letter_goes_to_its_readers(env: MailEnvironment) -> None:
    env.sync()
    label = env.label("Needs Response")
    place = env.deliver(
        "Offer", "Here it is.", headers={"From": "owner@postroom.example", "To": "bob@example.com"}, label_ids=("SENT",)
    )
    env.sync()
    env.mailbox.label_thread(place.thread_id, add=(label,))
    env.sync()
    (draft,) = env.mailbox.state().drafts
    assert "To: bob@example.com" in draft["raw"]


def test_a_pending_thread_gets_one_draft_from_both_jobs(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Lunch?", "Could you tell me whether noon suits you? Please reply.")
    env.enqueue("gmail.sync")
    for family in ("gmail.%", "triage.%"):
        env.drain(only=family)
    env.enqueue("drafts.write_manual", {"thread_id": place.thread_id})
    env.drain()
    assert creates(env) == len(env.mailbox.state().drafts) == 1


@pytest.mark.parametrize("thrown_away", [False, True])
def test_a_lost_answer_is_found_out_as_for_any_draft(env: MailEnvironment, thrown_away: bool) -> None:
    place = skipped(env)
    env.mailbox.label_thread(place.thread_id, add=(env.label("Needs Response"),))
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    env.fail("drafts.create", **MADE["dropped"])
    row = env.database.execute("select id from jobs where job_type = 'drafts.write_manual'").fetchone()
    assert row is not None
    assert env.run(row[0]) == "queued"
    if thrown_away:
        deletes(env, place)
    else:
        assert the_draft(env, place)
    env.drain()
    env.sync()
    assert creates(env) == 1
    assert len(env.mailbox.state().drafts) == (0 if thrown_away else 1)
    assert env.state(place.thread_id) is (EmailState.SKIPPED if thrown_away else EmailState.DRAFTED)
    assert "Postroom/Needs Response" not in labels_of(env, place)


@pytest.mark.parametrize("label", ["Needs Response", "Rework"])
def test_a_full_sync_finds_the_labels_that_history_lost(env: MailEnvironment, label: str) -> None:
    place = skipped(env)
    env.mailbox.label_thread(place.thread_id, add=(env.label(label),))
    env.mailbox.expire_history()
    env.sync()
    assert env.state(place.thread_id) is EmailState.DRAFTED
    assert len(env.mailbox.state().drafts) == 1


def test_a_thread_that_is_gone_ends_without_failure(env: MailEnvironment) -> None:
    place = skipped(env)
    env.mailbox.delete_thread(place.thread_id)
    job_id = env.enqueue("drafts.write_manual", {"thread_id": place.thread_id})
    assert env.run(job_id) == "succeeded"
