"""What a person does with a draft or a thread, and what the record makes of it (docs: gmail.md#drafts)."""

import pytest

from domain.mail.correspondence import EmailState
from sandbox.emulator.control import MessagePlace
from tests.doubles.worlds import World

QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."
AT_REST = {"INBOX", "UNREAD"}


@pytest.fixture
def asked(world: World) -> MessagePlace:
    """A question whose draft stands in the mailbox."""
    world.sync()
    place = world.deliver("Lunch?", QUESTION)
    world.sync()
    assert world.state(place.thread_id) is EmailState.DRAFTED
    return place


def draft_of(world: World, place: MessagePlace) -> str:
    draft_id = world.email(place.thread_id).draft_id
    assert draft_id is not None
    return draft_id


def labels_of(world: World, place: MessagePlace) -> set[str]:
    return world.mailbox.state().label_names(place.message_id)


def test_an_edit_moves_the_record_to_the_new_message_and_ends_nothing(world: World, asked: MessagePlace) -> None:
    draft_id = draft_of(world, asked)
    for text in ("My words.", "My better words."):
        edited = world.mailbox.edit_draft(draft_id, text=text)
        world.sync()
        assert world.email(asked.thread_id).draft_message_id == edited.message_id
    assert world.state(asked.thread_id) is EmailState.DRAFTED
    assert "Postroom/Outbox" in labels_of(world, asked)
    assert len(world.mailbox.state().drafts) == 1


def test_an_edited_draft_that_is_sent_is_seen(world: World, asked: MessagePlace) -> None:
    draft_id = draft_of(world, asked)
    world.mailbox.edit_draft(draft_id, text="My words.")
    sent = world.mailbox.send_draft(draft_id)
    world.sync()
    assert world.state(asked.thread_id) is EmailState.SENT
    assert world.email(asked.thread_id).sent_message_id == sent.message_id
    assert labels_of(world, asked) == AT_REST


def test_a_discarded_draft_is_skipped_with_its_labels_off(world: World, asked: MessagePlace) -> None:
    world.mailbox.discard_draft(draft_of(world, asked))
    ends = world.sync()
    assert {end for _, end in ends} == {"succeeded", "queued"}
    assert world.state(asked.thread_id) is EmailState.SKIPPED
    assert labels_of(world, asked) == AT_REST
    assert world.sync()[-1][0] == "gmail.sync"


def test_a_wrapper_around_the_sent_message_is_no_draft(world: World, asked: MessagePlace) -> None:
    world.mailbox.turn(sent_wrapper_gets=5)
    world.mailbox.send_draft(draft_of(world, asked))
    world.sync()
    assert world.state(asked.thread_id) is EmailState.SENT


def test_a_draft_moved_by_its_subject_is_followed_until_it_is_sent(world: World, asked: MessagePlace) -> None:
    draft_id = draft_of(world, asked)
    moved = world.mailbox.edit_draft(draft_id, subject="Supper instead")
    assert moved.thread_id != asked.thread_id
    world.sync()
    assert world.state(asked.thread_id) is EmailState.DRAFTED
    assert world.email(asked.thread_id).draft_message_id == moved.message_id
    sent = world.mailbox.send_draft(draft_id)
    world.sync()
    assert world.state(asked.thread_id) is EmailState.SENT
    assert world.email(asked.thread_id).sent_message_id == sent.message_id
    assert labels_of(world, asked) == AT_REST


def test_a_draft_moved_by_its_subject_is_followed_until_it_is_discarded(world: World, asked: MessagePlace) -> None:
    draft_id = draft_of(world, asked)
    world.mailbox.edit_draft(draft_id, subject="Supper instead")
    world.sync()
    world.mailbox.discard_draft(draft_id)
    world.sync()
    assert world.state(asked.thread_id) is EmailState.SKIPPED


def test_an_answer_of_ones_own_beside_the_draft_leaves_the_draft(world: World, asked: MessagePlace) -> None:
    world.deliver("Re: Lunch?", "Noon.", thread_id=asked.thread_id, label_ids=("SENT",))
    world.sync()
    assert world.state(asked.thread_id) is EmailState.DRAFTED
    assert len(world.mailbox.state().drafts) == 1


def test_the_sent_message_is_told_from_another_answer_by_its_token(world: World, asked: MessagePlace) -> None:
    sent = world.mailbox.send_draft(draft_of(world, asked))
    world.deliver("Re: Lunch?", "One more thing.", thread_id=asked.thread_id, label_ids=("SENT",))
    world.sync()
    assert world.email(asked.thread_id).sent_message_id == sent.message_id


def test_done_archives_the_thread_and_takes_our_labels_off(world: World, asked: MessagePlace) -> None:
    world.mailbox.label_thread(asked.thread_id, add=(world.label("Done"),))
    world.sync()
    assert world.state(asked.thread_id) is EmailState.ARCHIVED
    assert labels_of(world, asked) == {"UNREAD"}
    assert [job for job, _ in world.sync()] == ["gmail.sync"]


def test_done_on_a_thread_without_a_record_archives_it(world: World) -> None:
    world.sync()
    done = world.label("Done")
    place = world.deliver("Note", "For your information only.", label_ids=("Label_of_a_filter", "INBOX"))
    world.database.execute("update accounts set history_id = %s", (place.history_id,))
    world.mailbox.label_thread(place.thread_id, add=(done,))
    world.sync()
    assert "INBOX" not in labels_of(world, place)
    assert "Postroom/Done" not in labels_of(world, place)
    assert world.count("select count(*) from emails") == 0


def test_done_again_after_the_person_moved_the_thread_back(world: World, asked: MessagePlace) -> None:
    done = world.label("Done")
    for _ in range(2):
        world.mailbox.label_thread(asked.thread_id, add=(done, "INBOX"))
        world.sync()
        assert labels_of(world, asked) == {"UNREAD"}


def test_a_thread_deleted_for_good_is_put_to_rest(world: World, asked: MessagePlace) -> None:
    world.mailbox.delete_thread(asked.thread_id)
    ends = world.sync()
    assert {end for _, end in ends} <= {"succeeded", "queued"}
    assert world.state(asked.thread_id) is EmailState.SKIPPED


def test_a_failure_in_the_middle_of_the_labels_is_made_good(world: World, asked: MessagePlace) -> None:
    other = world.deliver("Lunch?", "Thanks in advance.", thread_id=asked.thread_id)
    world.sync()
    world.mailbox.send_draft(draft_of(world, asked))
    world.fail("messages.modify", status=503, after_execution=True)
    world.sync()
    assert world.state(asked.thread_id) is EmailState.SENT
    assert labels_of(world, asked) == labels_of(world, other) == AT_REST
