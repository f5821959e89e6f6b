"""What a person does with a draft or a thread, and what the record makes of it (docs: gmail.md#drafts)."""

import base64

import pytest

from domain.mail.correspondence import EmailState
from domain.mail.outgoing.thread_ids import token_reference
from sandbox.emulator.control import MessagePlace
from tests.doubles.mail_environment import MailEnvironment, letter

QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."
AT_REST = {"INBOX", "UNREAD"}


@pytest.fixture
def asked(env: MailEnvironment) -> MessagePlace:
    """A question whose draft stands in the mailbox."""
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    env.sync()
    assert env.state(place.thread_id) is EmailState.DRAFTED
    return place


def draft_of(env: MailEnvironment, place: MessagePlace) -> str:
    draft_id = env.email(place.thread_id).draft_id
    assert draft_id is not None
    return draft_id


def labels_of(env: MailEnvironment, place: MessagePlace) -> set[str]:
    return env.mailbox.state().label_names(place.message_id)


def test_an_edit_moves_the_record_to_the_new_message_and_ends_nothing(
    env: MailEnvironment, asked: MessagePlace
) -> None:
    draft_id = draft_of(env, asked)
    for text in ("My words.", "My better words."):
        edited = env.mailbox.edit_draft(draft_id, text=text)
        env.sync()
        assert env.email(asked.thread_id).draft_message_id == edited.message_id
    assert env.state(asked.thread_id) is EmailState.DRAFTED
    assert "Postroom/Outbox" in labels_of(env, asked)
    assert len(env.mailbox.state().drafts) == 1


def test_an_edited_draft_that_is_sent_is_seen(env: MailEnvironment, asked: MessagePlace) -> None:
    draft_id = draft_of(env, asked)
    env.mailbox.edit_draft(draft_id, text="My words.")
    sent = env.mailbox.send_draft(draft_id)
    env.sync()
    assert env.state(asked.thread_id) is EmailState.SENT
    assert env.email(asked.thread_id).sent_message_id == sent.message_id
    assert labels_of(env, asked) == AT_REST


def test_a_discarded_draft_is_skipped_with_its_labels_off(env: MailEnvironment, asked: MessagePlace) -> None:
    env.mailbox.discard_draft(draft_of(env, asked))
    ends = env.sync()
    assert {end for _, end in ends} == {"succeeded", "queued"}
    assert env.state(asked.thread_id) is EmailState.SKIPPED
    assert labels_of(env, asked) == AT_REST
    assert env.sync()[-1][0] == "gmail.sync"


def test_a_wrapper_around_the_sent_message_is_no_draft(env: MailEnvironment, asked: MessagePlace) -> None:
    env.mailbox.turn(sent_wrapper_gets=5)
    env.mailbox.send_draft(draft_of(env, asked))
    env.sync()
    assert env.state(asked.thread_id) is EmailState.SENT


def test_a_draft_moved_by_its_subject_is_followed_until_it_is_sent(env: MailEnvironment, asked: MessagePlace) -> None:
    draft_id = draft_of(env, asked)
    moved = env.mailbox.edit_draft(draft_id, subject="Supper instead")
    assert moved.thread_id != asked.thread_id
    env.sync()
    assert env.state(asked.thread_id) is EmailState.DRAFTED
    assert env.email(asked.thread_id).draft_message_id == moved.message_id
    sent = env.mailbox.send_draft(draft_id)
    env.sync()
    assert env.state(asked.thread_id) is EmailState.SENT
    assert env.email(asked.thread_id).sent_message_id == sent.message_id
    assert labels_of(env, asked) == AT_REST


def test_a_draft_moved_by_its_subject_is_followed_until_it_is_discarded(
    env: MailEnvironment, asked: MessagePlace
) -> None:
    draft_id = draft_of(env, asked)
    env.mailbox.edit_draft(draft_id, subject="Supper instead")
    env.sync()
    env.mailbox.discard_draft(draft_id)
    env.sync()
    assert env.state(asked.thread_id) is EmailState.SKIPPED


def test_an_answer_of_ones_own_beside_the_draft_leaves_the_draft(env: MailEnvironment, asked: MessagePlace) -> None:
    env.deliver("Re: Lunch?", "Noon.", thread_id=asked.thread_id, label_ids=("SENT",))
    env.sync()
    assert env.state(asked.thread_id) is EmailState.DRAFTED
    assert len(env.mailbox.state().drafts) == 1


def test_the_sent_message_is_told_from_another_answer_by_its_token(env: MailEnvironment, asked: MessagePlace) -> None:
    sent = env.mailbox.send_draft(draft_of(env, asked))
    env.deliver("Re: Lunch?", "One more thing.", thread_id=asked.thread_id, label_ids=("SENT",))
    env.sync()
    assert env.email(asked.thread_id).sent_message_id == sent.message_id


def test_done_archives_the_thread_and_takes_our_labels_off(env: MailEnvironment, asked: MessagePlace) -> None:
    env.mailbox.label_thread(asked.thread_id, add=(env.label("Done"),))
    env.sync()
    assert env.state(asked.thread_id) is EmailState.ARCHIVED
    assert labels_of(env, asked) == {"UNREAD"}
    assert [job for job, _ in env.sync()] == ["gmail.sync"]


@pytest.mark.parametrize("edit", [None, {"text": "My words."}, {"subject": "Supper instead"}])
def test_done_discards_the_machines_draft_and_no_other(
    env: MailEnvironment, asked: MessagePlace, edit: dict[str, str] | None
) -> None:
    draft_id = draft_of(env, asked)
    if edit is not None:
        env.mailbox.edit_draft(draft_id, **edit)
    env.mailbox.label_thread(asked.thread_id, add=(env.label("Done"),))
    env.sync()
    assert env.state(asked.thread_id) is EmailState.ARCHIVED
    assert [one["draft_id"] for one in env.mailbox.state().drafts] == ([] if edit is None else [draft_id])
    assert env.email(asked.thread_id).draft_id == (None if edit is None else draft_id)
    assert [job for job, _ in env.sync()] == ["gmail.sync"], "our own discard changes nothing"


def test_a_discard_that_failed_when_the_person_was_done_is_made_good(env: MailEnvironment, asked: MessagePlace) -> None:
    env.fail("drafts.delete", status=503, after_execution=True)
    env.mailbox.label_thread(asked.thread_id, add=(env.label("Done"),))
    env.sync()
    assert (env.state(asked.thread_id), env.mailbox.state().drafts) == (EmailState.ARCHIVED, [])
    assert "INBOX" not in labels_of(env, asked)


@pytest.mark.parametrize("named_by", ["email_id", "message_id", "draft_message_id"])
def test_a_cleanup_finds_its_thread_in_the_database(env: MailEnvironment, asked: MessagePlace, named_by: str) -> None:
    """The payload may lack the thread, as that of a deletion record does (docs: seeds.md#000-72)."""
    email = env.email(asked.thread_id)
    env.mailbox.discard_draft(email.draft_id or "")
    named: dict[str, str] = {
        "email_id": {"email_id": str(email.email_id)},
        "message_id": {"message_id": asked.message_id},
        "draft_message_id": {"message_id": email.draft_message_id or ""},
    }[named_by]
    env.enqueue("cleanup", {"action": "check_sent", **named})
    env.drain()
    assert env.state(asked.thread_id) is EmailState.SKIPPED


def test_done_on_a_thread_without_a_record_archives_it(env: MailEnvironment) -> None:
    env.sync()
    done = env.label("Done")
    place = env.deliver("Note", "For your information only.", label_ids=("Label_of_a_filter", "INBOX"))
    env.database.execute("update accounts set history_id = %s", (place.history_id,))
    env.mailbox.label_thread(place.thread_id, add=(done,))
    env.sync()
    assert "INBOX" not in labels_of(env, place)
    assert "Postroom/Done" not in labels_of(env, place)
    assert env.count("select count(*) from emails") == 0


def test_done_again_after_the_person_moved_the_thread_back(env: MailEnvironment, asked: MessagePlace) -> None:
    done = env.label("Done")
    for _ in range(2):
        env.mailbox.label_thread(asked.thread_id, add=(done, "INBOX"))
        env.sync()
        assert labels_of(env, asked) == {"UNREAD"}


def test_a_thread_deleted_for_good_is_put_to_rest(env: MailEnvironment, asked: MessagePlace) -> None:
    env.mailbox.delete_thread(asked.thread_id)
    ends = env.sync()
    assert {end for _, end in ends} <= {"succeeded", "queued"}
    assert env.state(asked.thread_id) is EmailState.SKIPPED


def test_a_failure_in_the_middle_of_the_labels_is_made_good(env: MailEnvironment, asked: MessagePlace) -> None:
    other = env.deliver("Lunch?", "Thanks in advance.", thread_id=asked.thread_id)
    env.sync()
    env.mailbox.send_draft(draft_of(env, asked))
    env.fail("messages.modify", status=503, after_execution=True)
    env.sync()
    assert env.state(asked.thread_id) is EmailState.SENT
    assert labels_of(env, asked) == labels_of(env, other) == AT_REST


@pytest.mark.parametrize("behind_s", [1, 60, 3600])
def test_a_draft_that_was_sent_is_seen_however_far_google_s_clock_is_behind(
    env: MailEnvironment, asked: MessagePlace, behind_s: int
) -> None:
    env.gmail.post("/_control/clock", {"advance_s": -behind_s})
    sent = env.mailbox.send_draft(draft_of(env, asked))
    env.sync()
    assert (env.state(asked.thread_id), env.email(asked.thread_id).sent_message_id) == (
        EmailState.SENT, sent.message_id,
    )  # fmt: skip


def test_a_draft_whose_token_a_mailer_lost_is_seen_as_sent_in_google_s_whole_second(
    env: MailEnvironment, asked: MessagePlace
) -> None:
    env.gmail.post("/_control/clock", {"advance_s": -1})
    draft_id = draft_of(env, asked)
    question = (env.mailbox.state().message(asked.message_id) or {})["rfc822_message_id"]
    anew = letter("Re: Lunch?", "My words.", **{"In-Reply-To": question, "References": question})
    env.mailbox.edit_draft(draft_id, raw=base64.urlsafe_b64encode(anew).decode())
    sent = env.mailbox.send_draft(draft_id)
    env.sync()
    assert env.email(asked.thread_id).sent_message_id == sent.message_id


def test_a_later_answer_that_repeats_the_token_is_not_taken_for_the_sent_draft(
    env: MailEnvironment, asked: MessagePlace
) -> None:
    token = env.email(asked.thread_id).draft_token or ""
    sent = env.mailbox.send_draft(draft_of(env, asked))
    later = letter("Re: Lunch?", "One more thing.", References=token_reference(token))
    env.mailbox.deliver(later, thread_id=asked.thread_id, label_ids=("SENT",))
    env.sync()
    assert env.email(asked.thread_id).sent_message_id == sent.message_id


def test_a_moved_draft_is_seen_as_sent_while_its_wrapper_is_shown_though_history_has_expired(
    env: MailEnvironment, asked: MessagePlace
) -> None:
    env.mailbox.turn(sent_wrapper_gets=5)
    draft_id = draft_of(env, asked)
    env.mailbox.edit_draft(draft_id, subject="Supper instead")
    sent = env.mailbox.send_draft(draft_id)
    env.enqueue("cleanup", {"action": "check_sent", "thread_id": asked.thread_id})
    env.drain(only="threads.%")
    assert env.email(asked.thread_id).sent_message_id == sent.message_id
